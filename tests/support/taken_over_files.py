"""Data files that Paimon has taken over from Hive: without the columns of their partition."""

from __future__ import annotations

from dataclasses import replace

from table_format import Table
from table_format.formats.data_file_reader import DataFileReader
from table_format.formats.registry import format_of
from table_format.model.data_file import EMPTY_STATS
from table_format.model.manifest import ManifestEntry
from tests.support.forged_state import forge


def taken_over(table: Table) -> Table:
    """The table, as if Paimon's ``migrate_table`` had taken over the files of its latest snapshot."""
    return forge(table, lambda entries: [_taken_over(table, entry) for entry in entries])


def _taken_over(table: Table, entry: ManifestEntry) -> ManifestEntry:
    facts, file = table.facts, entry.file
    stored = [field for field in facts.schema.fields if field.name not in facts.schema.partition_keys]
    reader = DataFileReader(facts.store, facts.schemas, facts.schema, facts.options)
    batches = list(reader.read(entry.partition, entry.bucket, file, stored))
    extension = file.file_name.rpartition(".")[2]
    name = f"{entry.bucket:06}_{file.file_name[-12:]}"
    path = facts.store.paths.data_file(
        facts.partitions.text(entry.partition), entry.bucket, replace(file, file_name=name)
    )
    if facts.store.io.status(path) is not None:
        facts.store.io.delete(path)
    with facts.store.io.open_output(path) as sink:
        writer = format_of(extension).open_writer(sink, tuple(stored), facts.options.files)
        for batch in batches:
            writer.write(batch)
        size = writer.close().file_size
    taken = replace(
        file,
        file_name=name,
        file_size=size,
        min_sequence_number=0,
        max_sequence_number=0,
        value_stats=EMPTY_STATS,
        value_stats_cols=(),
        extra_files=(),
        embedded_file_index=None,
    )
    return replace(entry, file=taken)

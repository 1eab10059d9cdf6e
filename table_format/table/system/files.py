"""``$files``: the live files of the snapshot a scan would read (Java ``FilesTable``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from table_format.io.paths import POSTPONE_BUCKET, extension_of
from table_format.metastore.scan.file_plan import live_files
from table_format.model.manifest import ManifestEntry
from table_format.model.schema import TableSchema
from table_format.model.types import ArrayType, IntType
from table_format.table.facts import TableFacts
from table_format.table.read.time_travel import starting_point
from table_format.table.rows.texts import bracketed
from table_format.table.system.file_statistics import file_statistics
from table_format.table.system.metadata import LONG, NANOS_PER_MILLI, TEXT, TIME, Row, columns

COLUMNS: Final = columns(
    partition=TEXT,
    bucket=IntType(nullable=False),
    file_path=TEXT.not_null(),
    file_format=TEXT.not_null(),
    schema_id=LONG.not_null(),
    level=IntType(nullable=False),
    record_count=LONG.not_null(),
    file_size_in_bytes=LONG.not_null(),
    min_key=TEXT,
    max_key=TEXT,
    null_value_counts=TEXT.not_null(),
    min_value_stats=TEXT.not_null(),
    max_value_stats=TEXT.not_null(),
    min_sequence_number=LONG,
    max_sequence_number=LONG,
    creation_time=TIME,
    deleteRowCount=LONG,
    file_source=TEXT,
    first_row_id=LONG,
    write_cols=ArrayType(TEXT),
)


def rows(facts: TableFacts) -> Sequence[Row]:
    """The files by partition and bucket, without postponed ones; keys and statistics in the schema of the snapshot."""
    start = starting_point(facts)
    plan = live_files(facts.manifests, start.snapshot, schema=start.schema, schemas=facts.schemas)
    real = [entry for entry in plan.entries if entry.bucket != POSTPONE_BUCKET]
    entries = sorted(real, key=lambda entry: entry.bucket_id)
    return [_row(facts, start.schema, entry) for entry in entries]


def _row(facts: TableFacts, shown: TableSchema, entry: ManifestEntry) -> Row:
    file = entry.file
    keys = [f.type for f in facts.schemas[file.schema_id].key_fields]
    statistics = file_statistics(shown, facts.schemas, file)
    paths, partition = facts.store.paths, facts.partitions.text(entry.partition)
    return {
        "partition": bracketed(facts.partitions.types, entry.partition),
        "bucket": entry.bucket,
        "file_path": file.external_path or paths.file_in_bucket(partition, entry.bucket, file.file_name),
        "file_format": extension_of(file.file_name),
        "schema_id": file.schema_id,
        "level": file.level,
        "record_count": file.row_count,
        "file_size_in_bytes": file.file_size,
        "min_key": bracketed(keys, file.min_key) if keys else None,
        "max_key": bracketed(keys, file.max_key) if keys else None,
        "null_value_counts": statistics.null_counts,
        "min_value_stats": statistics.minima,
        "max_value_stats": statistics.maxima,
        "min_sequence_number": file.min_sequence_number,
        "max_sequence_number": file.max_sequence_number,
        "creation_time": None if file.creation_time is None else file.creation_time * NANOS_PER_MILLI,
        "deleteRowCount": file.delete_row_count,
        "file_source": None if file.file_source is None else file.file_source.name,
        "first_row_id": file.first_row_id,
        "write_cols": None if file.write_cols is None else list(file.write_cols),
    }

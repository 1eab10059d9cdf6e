"""Tables with deletion vectors in places that a test chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from table_format import Table
from table_format.codecs.deletion_vector import DeletionVector, encode_index_file
from table_format.io.paths import index_name
from table_format.metastore.scan.file_plan import by_bucket
from table_format.model.commit import CommitMessage, Committable
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import DELETION_VECTORS, IndexFileMeta, ManifestEntry

MERGE_ON_WRITE = {"deletion-vectors.enabled": "true"}


def with_options(table: Table, options: Mapping[str, str]) -> Table:
    """Return the table as if it had been created with further options, even if the library refuses to create it."""
    return replace(table, schema=replace(table.schema, options={**table.schema.options, **options}))


def live(table: Table) -> tuple[ManifestEntry, ...]:
    """The live files of the latest snapshot, whatever a scan makes of them."""
    facts = table.facts
    return facts.live_files(facts.snapshots.latest()).entries


def live_data_files(table: Table) -> list[DataFileMeta]:
    """Their metadata, by age."""
    return [entry.file for entry in sorted(live(table), key=lambda e: e.file.min_sequence_number)]


def mark_deleted(
    table: Table,
    positions: Mapping[str, Sequence[int]],
    *,
    is_wide: bool = False,
    external_scheme: str | None = None,
) -> list[str]:
    """Commit deletion vectors, positions by data file; the paths of the index files. Once for each bucket.

    ``external_scheme`` names their paths in full, with something such as ``file:`` before them.
    """
    facts = table.facts
    messages, written = [], []
    beside_data = facts.options.bucket.index_in_data_file_dir
    for number, ((partition, bucket), entries) in enumerate(sorted(by_bucket(live(table)).items())):
        files = [e.file.file_name for e in entries if e.file.file_name in positions]
        vectors = {name: DeletionVector.of(positions[name], is_wide=is_wide) for name in files}
        if not vectors:
            continue
        data, ranges = encode_index_file(vectors)
        name = index_name(facts.store.runtime.ids.uuid(), number)
        paths = facts.store.paths
        text = facts.partitions.text(partition)
        path = paths.file_in_bucket(text, bucket, name) if beside_data else paths.index(name)
        facts.store.io.create(path, data)
        written.append(path)
        meta = IndexFileMeta(
            index_type=DELETION_VECTORS,
            file_name=name,
            file_size=len(data),
            row_count=len(vectors),
            deletion_vector_ranges=ranges,
            external_path=None if external_scheme is None else external_scheme + path,
        )
        total = entries[0].total_buckets
        messages.append(CommitMessage(partition=partition, bucket=bucket, total_buckets=total, new_index_files=(meta,)))
    facts.committer("marker").commit(Committable(identifier=len(facts.snapshots.ids()), messages=tuple(messages)))
    return written


def lifted(table: Table, levels: Mapping[str, int]) -> None:
    """Commit live files at other levels, as a compaction that rewrites nothing does."""
    messages = []
    for entry in live(table):
        level = levels.get(entry.file.file_name)
        if level is not None:
            message = CommitMessage(
                partition=entry.partition,
                bucket=entry.bucket,
                total_buckets=entry.total_buckets,
                compact_before=(entry.file,),
                compact_after=(entry.file.upgrade(level),),
            )
            messages.append(message)
    identifier = len(table.facts.snapshots.ids())
    table.facts.committer("marker").commit(Committable(identifier=identifier, messages=tuple(messages)))

"""Splits whose rows are changes: of files that hold changes, or of the files in which two states differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from table_format.io.paths import POSTPONE_BUCKET
from table_format.metastore.scan.file_plan import by_bucket
from table_format.model.manifest import ManifestEntry
from table_format.model.schema import TableSchema
from table_format.model.snapshot import Snapshot
from table_format.model.split import DataSplit, SplitContent
from table_format.options.bucket_mode import is_bucketed
from table_format.table.facts import TableFacts
from table_format.table.read.splits import DeletionFiles, deletion_files_of, pack


def change_splits(
    facts: TableFacts, schema: TableSchema, entries: Sequence[ManifestEntry], last: Snapshot, *, whole_buckets: bool
) -> Iterator[DataSplit]:
    """Splits of files whose rows are changes, in the order of the files."""
    keyed = bool(schema.primary_keys)
    together = whole_buckets and is_bucketed(facts.bucket_mode)
    for bucket_id, group in sorted(by_bucket(entries).items()):
        files = [e.file for e in group]
        for piece in [files] if together else pack(files, lambda file: file.file_size, facts.options.scan):
            yield DataSplit(
                snapshot_id=last.id,
                delta_manifest_list=last.delta_manifest_list,
                partition=bucket_id.partition,
                bucket=bucket_id.bucket,
                total_buckets=group[0].total_buckets,
                files=tuple(piece),
                raw_convertible=not keyed,
                content=SplitContent.CHANGES,
            )


def two_sided_splits(
    schema: TableSchema,
    removed: Sequence[ManifestEntry],
    added: Sequence[ManifestEntry],
    last: Snapshot,
    content: SplitContent,
    marked: tuple[DeletionFiles, DeletionFiles],
    before_id: int,
) -> Iterator[DataSplit]:
    """Splits of the files that only one of two states has, bucket by bucket; ``marked`` are the deletion files of each.

    ``before_id`` is the snapshot that the removed files are read of.
    """
    before, after = by_bucket(removed), by_bucket(added)
    for bucket_id in sorted(before.keys() | after.keys()):
        old, new = before.get(bucket_id, []), after.get(bucket_id, [])
        files, before_files = tuple(e.file for e in new), tuple(e.file for e in old)
        was_marked, is_marked = (vectors.get(bucket_id, {}) for vectors in marked)
        yield DataSplit(
            snapshot_id=last.id,
            delta_manifest_list=last.delta_manifest_list,
            partition=bucket_id.partition,
            bucket=bucket_id.bucket,
            total_buckets=(new or old)[0].total_buckets,
            files=files,
            raw_convertible=not schema.primary_keys,
            deletion_files=deletion_files_of(files, is_marked),
            content=content,
            before_files=before_files,
            before_deletion_files=deletion_files_of(before_files, was_marked),
            oldest_snapshot_id=before_id,
        )


def without_common_files(
    old: Sequence[ManifestEntry],
    new: Sequence[ManifestEntry],
    was_marked: DeletionFiles,
    is_marked: DeletionFiles,
    *,
    whole_buckets: bool,
) -> tuple[list[ManifestEntry], list[ManifestEntry]]:
    """The files that only one of two states has, or that have other deleted rows in each.

    With ``whole_buckets``, all files of their buckets, because a row may depend on older versions.
    """

    def unchanged(entry: ManifestEntry) -> bool:
        name = entry.file.file_name
        return was_marked.get(entry.bucket_id, {}).get(name) == is_marked.get(entry.bucket_id, {}).get(name)

    known = {e.identifier for e in old} & {e.identifier for e in new}
    differing = [
        e for e in (*old, *new) if e.bucket != POSTPONE_BUCKET and not (e.identifier in known and unchanged(e))
    ]
    touched = {e.bucket_id for e in differing}
    wanted = {e.identifier for e in differing}
    removed, added = (
        [e for e in entries if e.identifier in wanted or (whole_buckets and e.bucket_id in touched)]
        for entries in (old, new)
    )
    return removed, added

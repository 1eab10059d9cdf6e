"""Creates the writer of a bucket from the state of the bucket."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, assert_never

from table_format.append.writer import AppendWriter
from table_format.counted import counted
from table_format.errors import BucketCountChanged, MissingFile
from table_format.formats.bucket_files import BucketFiles
from table_format.io.partition_path import check_new_partition
from table_format.io.paths import POSTPONE_BUCKET, postponed_prefix
from table_format.lsm.background import RunningCompaction
from table_format.lsm.bucket_deletion_vectors import BucketDeletions
from table_format.lsm.postpone import PostponeWriter, is_plain_user
from table_format.lsm.writer import MergeTreeWriter
from table_format.metastore.scan.file_filter import FileFilter
from table_format.metastore.scan.file_plan import by_bucket
from table_format.model.bucket_id import BucketId
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import ManifestEntry
from table_format.model.snapshot import Snapshot
from table_format.options.bucket import BUCKET
from table_format.options.bucket_mode import CrossPartition, Dynamic, Fixed, Postponed, Unaware, total_buckets
from table_format.table.facts import TableFacts
from table_format.table.write.bucket_writer import BucketWriter
from table_format.table.write.replaced_files import is_replaced

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BucketState:
    """The start of a writer: the live files of its bucket, and a running compaction of an earlier writer."""

    bucket_id: BucketId
    files: tuple[DataFileMeta, ...] = ()
    deletions: BucketDeletions | None = None
    running: RunningCompaction | None = None


OpenWriter: TypeAlias = Callable[[BucketState], BucketWriter]


def writer_opener(
    facts: TableFacts,
    *,
    replacing: bool,
    are_results: bool,
    commit_user: str | None,
    compactor: Executor | None,
    sequence_numbers: range | None = None,
) -> OpenWriter:
    """How the writers of a table are opened; the arguments are those of ``TableWrite`` and ``StoredRows``."""
    mode = facts.bucket_mode
    match mode:
        case Postponed():
            return partial(_postpone_writer, facts, _prefix(facts, commit_user))
        case Fixed() | Dynamic() | Unaware() | CrossPartition():
            if facts.schema.is_primary_key_table:
                return partial(
                    _merge_tree_writer,
                    facts,
                    replacing=replacing,
                    are_results=are_results,
                    compactor=compactor,
                    sequence_numbers=sequence_numbers,
                )
            return partial(_append_writer, facts)
    assert_never(mode)


def bucket_states(facts: TableFacts, base: Snapshot | None, bucket_ids: Sequence[BucketId]) -> Iterator[BucketState]:
    """Yield the state of buckets at a snapshot, ``None`` for an empty one; all is read before the first is yielded.

    Raises:
        BucketCountChanged: a partition was written with another number of buckets.
        CorruptionError: a manifest is missing or damaged.
        InvalidInputError: no directory can be created for a partition.
    """
    for bucket_id in bucket_ids:
        _check_directory(facts, bucket_id)
    existing = _live_files(facts, base, frozenset(bucket_id.partition for bucket_id in bucket_ids))
    deletions = facts.bucket_deletions(base) if facts.schema.is_primary_key_table else {}
    for bucket_id in bucket_ids:
        files = tuple(entry.file for entry in existing.get(bucket_id, ()))
        yield BucketState(bucket_id, files, deletions.get(bucket_id))


def _check_directory(facts: TableFacts, bucket_id: BucketId) -> None:
    """Refuse a partition for which no directory can be created, before a file of the batch is written."""
    text = facts.partitions.text(bucket_id.partition)
    check_new_partition(facts.partitions.fields, text)
    facts.store.paths.check_new_bucket(text, bucket_id.bucket)


def _live_files(
    facts: TableFacts, base: Snapshot | None, partitions: frozenset[bytes]
) -> dict[BucketId, list[ManifestEntry]]:
    if base is None:
        return {}
    wanted = FileFilter(partitions=partitions)
    plan = facts.live_files(base, wanted)
    entries = [entry for entry in plan.entries if entry.bucket != POSTPONE_BUCKET]
    _check_bucket_count(facts, entries)
    return by_bucket(entries)


def _check_bucket_count(facts: TableFacts, entries: Iterable[ManifestEntry]) -> None:
    count = total_buckets(facts.bucket_mode)
    for entry in entries:
        if entry.total_buckets != count:
            is_partitioned = bool(facts.schema.partition_keys)
            shown = f"{facts.partitions.shown(entry.partition)} of " if is_partitioned else ""
            message = (
                f"{shown}{facts.name} was written with {counted(entry.total_buckets, 'bucket')}, and the table "
                f"now has {count}; overwrite the {'partition' if is_partitioned else 'table'}, or rescale it by "
                "table.rescale() or the job rescale_table. After a rollback over a rescale, you can also set the "
                f"option '{BUCKET.key}' to {entry.total_buckets} again"
            )
            raise BucketCountChanged(message)


# --- kinds of writers -------------------------------------------------------------------------------------------------


def _merge_tree_writer(
    facts: TableFacts,
    state: BucketState,
    *,
    replacing: bool,
    are_results: bool,
    compactor: Executor | None,
    sequence_numbers: range | None,
) -> MergeTreeWriter:
    writer = MergeTreeWriter(
        _bucket_files(facts, state.bucket_id, with_changelog=not replacing),
        existing=state.files,
        deletions=state.deletions,
        are_results=are_results,
        executor=compactor,
        is_replaced=partial(_gives_up, facts, state.bucket_id),
        sequence_numbers=sequence_numbers,
    )
    if state.running is not None:
        writer.resume(state.running)
    return writer


def _append_writer(facts: TableFacts, state: BucketState) -> AppendWriter:
    return AppendWriter(
        _bucket_files(facts, state.bucket_id),
        existing_max_sequence=max((file.max_sequence_number for file in state.files), default=-1),
    )


def _postpone_writer(facts: TableFacts, prefix: str, state: BucketState) -> PostponeWriter:
    return PostponeWriter(_bucket_files(facts, state.bucket_id), prefix=prefix)


def _bucket_files(facts: TableFacts, bucket_id: BucketId, *, with_changelog: bool = True) -> BucketFiles:
    count = total_buckets(facts.bucket_mode)
    return facts.bucket_files(bucket_id.partition, bucket_id.bucket, count, with_changelog=with_changelog)


def _prefix(facts: TableFacts, commit_user: str | None) -> str:
    ids = facts.store.runtime.ids
    # Not from the random numbers of the process, whose state its forks share.
    writer_id = int(ids.uuid().replace("-", "")[:7], 16)
    user = commit_user if commit_user is not None and is_plain_user(commit_user) else ids.uuid()
    return postponed_prefix(facts.options.files.prefix, user, writer_id)


def _gives_up(facts: TableFacts, bucket_id: BucketId, error: MissingFile) -> bool:
    """Whether a compaction is useless, because others replaced a file that it did not find."""
    if not is_replaced(facts, bucket_id.partition, error.path):
        return False
    where = f"{facts.name}: {facts.partitions.shown(bucket_id.partition)}, bucket {bucket_id.bucket}"
    _log.warning("%s: a compaction was dropped because others replaced %s", where, error.path)
    return True

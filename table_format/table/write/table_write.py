"""Writing rows: they are checked, routed to the writer of their bucket, and become files that a commit makes visible.

One writer for each bucket lives as long as its files are not all committed; then the next batch begins anew from the
latest snapshot, so that sequence numbers and compaction follow what others have done in between.
"""

from __future__ import annotations

import logging
import os
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from table_format.append.writer import AppendWriter
from table_format.errors import BucketCountChanged, CorruptionError, InvalidInputError, MissingFile, SnapshotExpired
from table_format.io.partition_path import check_new_partition
from table_format.io.paths import POSTPONE_BUCKET, postponed_prefix
from table_format.limits import MIB
from table_format.lsm.background import RunningCompaction
from table_format.lsm.bucket_deletion_vectors import BucketDeletions
from table_format.lsm.postpone import PostponeWriter, is_plain_user
from table_format.lsm.writer import MergeTreeWriter
from table_format.metastore.commit.key_places import snapshot_identity
from table_format.metastore.references.expired_reads import telling_expired
from table_format.metastore.scan.file_filter import FileFilter
from table_format.metastore.scan.file_plan import by_bucket, live_files
from table_format.metastore.schema.table_identity import require_same_table
from table_format.model import arguments
from table_format.model.bucket_id import BucketId
from table_format.model.commit import CommitMessage
from table_format.model.manifest import FileKind, ManifestEntry
from table_format.model.snapshot import Snapshot
from table_format.options.bucket_mode import CrossPartition, Dynamic, Postponed, extends_buckets, total_buckets
from table_format.options.declare import Operation
from table_format.table.facts import TableFacts
from table_format.table.placement.dynamic import DynamicBuckets
from table_format.table.placement.given import PlacedRows
from table_format.table.placement.routing import RoutedRows, route
from table_format.table.rows.input import Rows, batches_of, reader_of
from table_format.table.rows.validate import RowRules, check_defaults
from table_format.table.write.full_compaction_period import FullCompactionPeriod
from table_format.table.write.message_folding import fold
from table_format.table.write.replaced_files import is_replaced

if TYPE_CHECKING:
    from table_format.table.placement.cross_partition import MovingKeys

_log = logging.getLogger(__name__)

MAX_OPEN_FILES: Final = 128
"""Buckets with a file that rows go straight to; the one that got no rows for longest is closed first."""

OPEN_FILES_FACTOR: Final = 4
"""Times the write buffer that may pass into such files before all are closed: most of it is on disk by then, and files
should not be smaller than need be."""

MIN_PARALLEL_BYTES: Final = 8 * MIB
"""Rows in memory from which buckets are flushed side by side ..."""

MAX_FLUSH_THREADS: Final = 4
"""... by so many threads at most: each sorts a copy of its rows."""

_GIVEN: Final = "__given_bucket__"
_BROKEN: Final = "an earlier write failed half way; commit or abort its messages and begin with a new write"

Writer: TypeAlias = MergeTreeWriter | AppendWriter | PostponeWriter
Compaction: TypeAlias = bool | Literal["full"]


@dataclass(frozen=True, slots=True)
class GivenBuckets:
    """Rows come with their dynamic buckets, or the places of their keys, in a column of their own; ``base`` is the
    snapshot they were chosen by.
    """

    column: str
    base: Snapshot | None


@dataclass(frozen=True, slots=True)
class OwnHashes:
    """Rows get their dynamic buckets from the writer, by the snapshot ``base``, and it gets all rows of some assigners.

    Only where no two of ``assigners`` meet in a bucket (``are_apart``).
    """

    assigners: int
    base: Snapshot | None


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Rows come from files of the table, as of the snapshot ``base``, and were checked when they were written.

    ``compact`` is what is done at the end to the buckets that got rows, and to ``buckets``. ``are_results`` says that
    each key was merged into one row.
    """

    base: Snapshot
    compact: Compaction
    are_results: bool
    buckets: tuple[BucketId, ...] = ()


class TableWrite:
    """WriterTurns rows into commit messages. One object is used by one thread at a time.

    ``replacing`` writes as if the table were empty, for an overwrite. ``commit_user`` is who commits, if that is known.
    With a ``compactor`` compactions of primary-key tables run there beside later writes, which hand over what came of
    them; a ``shared`` write is one of several that are committed together, and keeps to the buckets it is given rows
    for.
    """

    def __init__(
        self,
        facts: TableFacts,
        *,
        replacing: bool = False,
        given: GivenBuckets | OwnHashes | None = None,
        stored: StoredRows | None = None,
        commit_user: str | None = None,
        compactor: Executor | None = None,
        shared: bool = True,
    ) -> None:
        if commit_user is not None:
            commit_user = arguments.commit_user(commit_user)
        facts.require(Operation.WRITE)
        check_defaults(facts.schema)
        self._facts = facts
        self._replacing = replacing
        self._rules = RowRules(facts.schema, facts.options.merge)
        self._writers: OrderedDict[BucketId, Writer] = OrderedDict()
        self._open_files: OrderedDict[BucketId, None] = OrderedDict()
        self._uncommitted: dict[BucketId, set[str]] = {}
        self._numbers_bases: dict[BucketId, str] = {}
        self._results: dict[BucketId, set[str]] = {}
        self._flushed: list[CommitMessage] = []
        self._buffered_bytes = 0
        self._base: Snapshot | None = None
        self._deletions: Mapping[BucketId, BucketDeletions] = {}
        self._is_broken = False
        self._is_torn = False
        self._given_column = given.column if isinstance(given, GivenBuckets) else None
        self._chosen_by = given
        self._stored = stored
        self._writer_names = _writer_names(facts, commit_user) if isinstance(facts.bucket_mode, Postponed) else None
        self._compactor = compactor
        self._shared = shared
        self._dynamic: DynamicBuckets | None = None
        if isinstance(facts.bucket_mode, Dynamic):
            apart = given.assigners if isinstance(given, OwnHashes) else None
            self._dynamic = DynamicBuckets(facts, replacing=replacing, assigners=apart, is_apart=apart is not None)
        self._moving: MovingKeys | None = None
        self._placed: PlacedRows | None = None
        if isinstance(facts.bucket_mode, CrossPartition):
            if given is None:
                self._moving = _moving_keys(facts, replacing=replacing)
            else:
                self._placed = PlacedRows(facts, given.base, replacing=replacing)

    def write(self, data: Rows) -> tuple[CommitMessage, ...]:
        """Write all rows to files and return the messages that make them visible; nothing is visible yet.

        Messages of several calls may be committed together, in the order of the calls.

        Raises:
            InvalidData: a column or a value does not fit; no file of this call is left.
            BucketCountChanged: a partition was written with another number of buckets.
            SnapshotExpired: the snapshot that the rows were to follow was expired meanwhile; write them again.
        """
        try:
            with self._facts.blaming_old_columns():
                reader = reader_of(data)
                self._rules.check_columns([name for name in reader.schema.names if name != self._given_column])
                return self._written(self._checked(reader))
        except CorruptionError:
            with telling_expired(self._facts.store, *(() if self._base is None else (self._base.id,))):
                raise

    def write_stored(self, batches: Iterable[pa.RecordBatch]) -> tuple[CommitMessage, ...]:
        """Write rows that the table holds already: its columns and, if it has a primary key, ``_VALUE_KIND``.

        Raises:
            BucketCountChanged: a partition was written with another number of buckets.
        """
        return self._written((batch, None) for batch in batches)

    def _checked(self, reader: pa.RecordBatchReader) -> Iterator[tuple[pa.RecordBatch, pa.Array | None]]:
        for first_row, read in batches_of(reader):
            column = self._given_column
            batch = read if column is None else self._rules.without_ignored(read)
            given = None if column is None else batch.column(column)
            bare = batch if column is None else batch.drop_columns([column])
            yield self._rules.conform(bare, first_row=first_row), given

    def _written(self, batches: Iterable[tuple[pa.RecordBatch, pa.Array | None]]) -> tuple[CommitMessage, ...]:
        require_same_table(self._facts.store)
        self._mend()
        if self._is_broken:
            raise InvalidInputError(_BROKEN)
        if self._moving is not None:
            # Before the latest snapshot is looked up: the index never stands for a later one.
            self._moving.open()
        if self._follows_table:
            self._begin_anew()
        if self._moving is not None:
            self._moving.begin(self._base, has_work_waiting=any(self._uncommitted.values()))
        if self._dynamic is not None:
            waiting = frozenset(partition for (partition, _), names in self._uncommitted.items() if names)
            self._dynamic.begin(self._chosen_by.base if self._chosen_by else self._base, waiting)
        if self._stored is not None:
            self._open_writers(self._stored.buckets)
        try:
            for rows, given in batches:
                self._is_torn = True
                self._take_in(rows, given)
            self._is_torn = True
            messages = self._hand_over()
            self._is_torn = False
        except MissingFile as error:
            self._check_own(error)
            raise
        finally:
            self._mend()
        return messages

    def finish(self) -> tuple[CommitMessage, ...]:
        """Wait for compactions that run beside this write; the messages that make their results visible.

        To be called when no more rows come, or what the compactions have made is left to ``abort`` to delete.

        Raises:
            CorruptionError: a file to be compacted is missing or damaged.
        """
        self._mend()
        if self._follows_table:
            self._begin_anew()
        try:
            self._is_torn = True
            for writer in self._writers.values():
                if isinstance(writer, MergeTreeWriter):
                    self._flushed.append(writer.finish())
            messages = self._handed_over()
            self._is_torn = False
        except MissingFile as error:
            self._check_own(error)
            raise
        finally:
            self._mend()
        return messages

    def abort(self) -> None:
        """Delete the files of rows and compactions that were not handed over yet, and forget all writers."""
        # An interrupt may come before the end; the next call then begins with what was left to do.
        self._is_torn = True
        # Sequence numbers of rows that were handed over and not committed are known to the writers only.
        self._is_broken = self._is_broken or any(self._uncommitted.values())
        for writer in self._writers.values():
            writer.abort()
        if self._flushed:
            self._facts.committer("").abort(self._flushed)
        self._writers.clear()
        self._open_files.clear()
        self._flushed, self._buffered_bytes = [], 0
        if self._dynamic is not None:
            self._dynamic.forget()
        if self._moving is not None:
            self._moving.forget()
        self._is_torn = False

    def _mend(self) -> None:
        """Abort the call that has failed, or an earlier one whose abort was interrupted: no row of it may stay.

        No context manager does this: one that an interrupt cuts off may run when its generator is collected, in the
        middle of the next call.
        """
        if self._is_torn:
            self.abort()

    def _check_own(self, error: MissingFile) -> None:
        """Say what a missing file means that this write has made.

        Raises:
            InvalidInputError: it was deleted: its message was aborted, or has never arrived anywhere.
        """
        name = error.path.rpartition("/")[2]
        if any(name in names for names in (*self._results.values(), *self._uncommitted.values())):
            self._is_broken = True
            message = f"{error.path}, which this write handed over, was deleted without being committed: {_BROKEN}"
            raise InvalidInputError(message) from error

    @property
    def _follows_table(self) -> bool:
        """Whether a writer has to know what its bucket holds."""
        return not self._replacing and extends_buckets(self._facts.bucket_mode)

    @property
    def _bucket_count(self) -> int:
        return total_buckets(self._facts.bucket_mode)

    # --- rows -------------------------------------------------------------------------------------------------------

    def _take_in(self, batch: pa.RecordBatch, given: pa.Array | None) -> None:
        pieces = list(self._routed(batch, given))
        self._open_writers([piece.bucket_id for piece in pieces])
        for piece in pieces:
            writer = self._writers[piece.bucket_id]
            writer.write(piece.rows)
            if not isinstance(writer, MergeTreeWriter):
                self._note_open_file(piece.bucket_id)
            self._note_buffered(piece.rows)

    def _routed(self, batch: pa.RecordBatch, given: pa.Array | None) -> Iterator[RoutedRows]:
        schema, bucketing = self._facts.schema, self._facts.options.bucket
        if self._moving is not None:
            yield from self._moving.placed(batch)
        elif self._placed is not None:
            yield from self._placed.placed(batch, given)
        elif self._dynamic is None:
            yield from route(batch, schema, bucketing)
        elif given is None:
            for piece in route(batch, schema, bucketing):
                yield from self._dynamic.assigned(piece)
        else:
            for piece in route(batch.append_column(_GIVEN, given), schema, bucketing):
                buckets = piece.rows.column(_GIVEN).to_numpy(zero_copy_only=False).astype(np.int16)
                rows = piece.rows.drop_columns([_GIVEN])
                yield from self._dynamic.noted(RoutedRows(piece.partition, piece.bucket, rows), buckets)

    def _note_open_file(self, key: BucketId) -> None:
        self._open_files[key] = None
        self._open_files.move_to_end(key)
        if len(self._open_files) > MAX_OPEN_FILES:
            oldest, _ = self._open_files.popitem(last=False)
            self._flushed.append(_prepare(self._writers[oldest], compact=False))

    def _note_buffered(self, rows: pa.RecordBatch) -> None:
        # Each writer keeps to the buffer size, or to a row group; many writers together need a bound as well.
        self._buffered_bytes += rows.nbytes
        limit = self._facts.options.write.buffer_size
        if not self._facts.schema.is_primary_key_table or isinstance(self._facts.bucket_mode, Postponed):
            limit *= OPEN_FILES_FACTOR
        if self._buffered_bytes > limit and len(self._writers) > 1:
            self._prepare_all(compact=False)

    def _hand_over(self) -> tuple[CommitMessage, ...]:
        options = self._facts.options
        # An overwrite has nothing to merge with; but what readers skip on level 0 has to move up.
        wanted = not options.compaction.write_only and (not self._replacing or options.skips_level_0)
        if self._stored is not None:
            self._prepare_all(compact=self._stored.compact)
            return self._handed_over()
        due = frozenset[BucketId]()
        facts = self._facts
        if wanted and self._follows_table and facts.schema.is_primary_key_table:
            period = FullCompactionPeriod.of(facts, self._base)
            due = period.due(self._writers, with_others=not self._shared)
            self._open_writers(due)
        self._prepare_all(compact=wanted, full=due)
        return self._handed_over()

    def _handed_over(self) -> tuple[CommitMessage, ...]:
        folded = fold(self._flushed)
        for left in folded.left_over:
            self._facts.delete_file(left.partition, left.bucket, left.file)
        for index in folded.left_over_indexes:
            self._facts.delete_index_file(index)
        self._flushed = list(folded.messages)
        if self._dynamic is not None:
            bases = self._dynamic.bases()
            for number, message in enumerate(folded.messages):
                self._flushed[number] = self._dynamic.with_index(message, bases.get(message.partition))
        places = self._moving or self._placed
        if places is not None:
            self._flushed = [replace(message, key_places_base=places.base) for message in self._flushed]
        self._flushed = [self._numbered(message) for message in self._flushed]
        messages, self._flushed = tuple(self._flushed), []
        if self._follows_table:
            for message in messages:
                names = self._uncommitted.setdefault(message.bucket_id, set())
                names.update(file.file_name for file in message.new_files)
                results = self._results.setdefault(message.bucket_id, set())
                results.update(file.file_name for file in message.compact_after)
        else:
            self._writers.clear()
        return messages

    def _numbered(self, message: CommitMessage) -> CommitMessage:
        """The message with the snapshot from which the sequence numbers of its rows go on."""
        base = self._numbers_bases.get(message.bucket_id)
        return message if base is None or not message.new_files else replace(message, numbers_base=base)

    def _prepare_all(self, *, compact: Compaction, full: Collection[BucketId] = ()) -> None:
        """Flush all writers; what succeeded is noted even when one of them fails."""
        writers: list[tuple[Writer, Compaction]] = [
            (writer, "full" if key in full else compact) for key, writer in self._writers.items()
        ]
        if self._buffered_bytes < MIN_PARALLEL_BYTES or len(writers) == 1:
            for writer, wanted in writers:
                self._flushed.append(_prepare(writer, compact=wanted))
        else:
            # Sorting and encoding leave the interpreter alone.
            with ThreadPoolExecutor(min(len(writers), MAX_FLUSH_THREADS, os.cpu_count() or 1), "flush") as pool:
                work = [pool.submit(_prepare, writer, compact=wanted) for writer, wanted in writers]
            self._flushed.extend(done.result() for done in work if done.exception() is None)
            for done in work:
                done.result()
        self._buffered_bytes = 0
        self._open_files.clear()
        for writer, wanted in writers:
            if wanted is True and isinstance(writer, MergeTreeWriter):
                writer.begin_compaction()

    # --- writers ----------------------------------------------------------------------------------------------------

    def _begin_anew(self) -> None:
        """Move on to the latest snapshot, and forget the writers whose files are all committed."""
        latest = self._facts.snapshots.latest() if self._stored is None else self._stored.base
        if latest is None or (self._base is not None and latest.id == self._base.id):
            return
        running: dict[BucketId, RunningCompaction] = {}
        if self._writers:
            committed = self._committed_since(self._base, latest)
            for key in list(self._writers):
                handed_over = self._uncommitted.get(key, set())
                waiting = self._uncommitted[key] = handed_over - committed
                writer = self._writers[key]
                if waiting:
                    if isinstance(writer, MergeTreeWriter):
                        writer.were_committed(handed_over & committed)
                    continue
                del self._writers[key]
                self._results.pop(key, None)
                if isinstance(writer, MergeTreeWriter) and (compaction := writer.release()) is not None:
                    running[key] = compaction
        self._base = latest
        self._resume(running)

    def _resume(self, running: Mapping[BucketId, RunningCompaction]) -> None:
        """Let new writers go on with compactions that old ones have begun; none is lost when that fails."""
        try:
            self._open_writers(list(running))
            for key, compaction in running.items():
                writer = self._writers[key]
                if isinstance(writer, MergeTreeWriter):
                    writer.resume(compaction)
        except BaseException:  # an interrupt as well: no writer may go on with what is deleted here
            for key in running:
                self._writers.pop(key, None)
            for compaction in running.values():
                compaction.discard()
            raise

    def _committed_since(self, base: Snapshot | None, latest: Snapshot) -> set[str]:
        names: set[str] = set()
        for snapshot_id in range(base.id + 1 if base else 1, latest.id + 1):
            snapshot = self._facts.snapshots.find(snapshot_id)
            # Of an expired one nobody is asked: what it added is taken to be still on its way.
            with suppress(SnapshotExpired), telling_expired(self._facts.store, snapshot_id):
                entries = [] if snapshot is None else self._facts.manifests.delta_entries(snapshot)
                names.update(entry.file.file_name for entry in entries if entry.kind is FileKind.ADD)
        return names

    def _open_writers(self, keys: Iterable[BucketId]) -> None:
        missing = [key for key in keys if key not in self._writers]
        if not missing:
            return
        for partition, bucket in missing:
            self._check_place(partition, bucket)
        existing = self._live(frozenset(partition for partition, _ in missing))
        keyed = self._facts.schema.is_primary_key_table and self._follows_table
        if keyed:
            self._deletions = self._facts.bucket_deletions(self._base)
        for key in missing:
            self._writers[key] = self._writer(key, existing.get(key, ()))
            if keyed and self._stored is None:
                self._numbers_bases[key] = snapshot_identity(self._base)

    def _check_place(self, partition: bytes, bucket: int) -> None:
        """Refuse a partition that no directory can be made for, before any file of the batch is written."""
        facts = self._facts
        text = facts.partitions.text(partition)
        check_new_partition(facts.partitions.fields, text)
        facts.store.paths.check_new_bucket(text, bucket)

    def _live(self, partitions: frozenset[bytes]) -> dict[BucketId, list[ManifestEntry]]:
        if not self._follows_table or self._base is None:
            return {}
        facts = self._facts
        wanted = FileFilter(partitions=partitions)
        plan = live_files(facts.manifests, self._base, schema=facts.schema, schemas=facts.schemas, filter=wanted)
        entries = [entry for entry in plan.entries if entry.bucket != POSTPONE_BUCKET]
        self._check_bucket_count(entries)
        return by_bucket(entries)

    def _check_bucket_count(self, entries: Iterable[ManifestEntry]) -> None:
        facts = self._facts
        for entry in entries:
            if entry.total_buckets != self._bucket_count:
                shown = f"{facts.partitions.shown(entry.partition)} of " if facts.schema.partition_keys else ""
                message = (
                    f"{shown}{facts.name} was written with {entry.total_buckets} buckets and the table has "
                    f"{self._bucket_count} now; to give it the new number overwrite it, or rescale it by "
                    "table.rescale() or the job rescale_table"
                )
                raise BucketCountChanged(message)

    def _writer(self, key: BucketId, existing: Sequence[ManifestEntry]) -> Writer:
        facts = self._facts
        partition, bucket = key
        text = facts.partitions.text(partition)
        files = [entry.file for entry in existing]
        if self._writer_names is not None:
            return PostponeWriter(
                facts.store,
                facts.schema,
                facts.options,
                partition=partition,
                partition_text=text,
                prefix=self._writer_names,
            )
        if facts.schema.is_primary_key_table:
            return MergeTreeWriter(
                facts.store,
                facts.schema,
                facts.options,
                partition=partition,
                partition_text=text,
                bucket=bucket,
                total_buckets=self._bucket_count,
                existing=files,
                schemas=facts.schemas,
                with_changelog=not self._replacing,
                deletions=self._deletions.get(key),
                are_results=self._stored is not None and self._stored.are_results,
                executor=self._compactor,
                is_replaced=partial(_is_in_vain, self._facts, key),
            )
        return AppendWriter(
            facts.store,
            facts.schema,
            facts.options,
            partition=partition,
            partition_text=text,
            bucket=bucket,
            total_buckets=self._bucket_count,
            existing_max_sequence=max((file.max_sequence_number for file in files), default=-1),
        )


def _writer_names(facts: TableFacts, commit_user: str | None) -> str:
    ids = facts.store.runtime.ids
    # Not by the randomness of a process, whose state its forks share.
    writer_id = int(ids.uuid().replace("-", "")[:7], 16)
    user = commit_user if commit_user is not None and is_plain_user(commit_user) else ids.uuid()
    return postponed_prefix(user, writer_id)


def _moving_keys(facts: TableFacts, *, replacing: bool) -> MovingKeys:
    from table_format.table.placement.cross_partition import (
        MovingKeys,  # here, because only tables whose keys move need DuckDB
    )

    return MovingKeys(facts, replacing=replacing)


def _prepare(writer: Writer, *, compact: Compaction) -> CommitMessage:
    return writer.prepare(compact=compact) if isinstance(writer, MergeTreeWriter) else writer.prepare()


def _is_in_vain(facts: TableFacts, key: BucketId, error: MissingFile) -> bool:
    """Whether a compaction is in vain because others replaced a file that it found missing."""
    partition, bucket = key
    if not is_replaced(facts, partition, error.path):
        return False
    where = f"{facts.name}: {facts.partitions.shown(partition)}, bucket {bucket}"
    _log.warning("%s: a compaction was given up, others replaced %s", where, error.path)
    return True

"""The first phase of a write: checks and places rows, writes them to files, and returns commit messages.

Other modules hold the parts: the places of rows (``table/placement``), bucket writers (``bucket_writers``), when they
flush (``flush_schedule``), what is compacted (``compaction_policy``), and messages (``hand_over``). This module orders
these steps and handles failures and interrupts: a call either returns the messages of all its rows, or leaves no files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Final

import pyarrow as pa

from table_format.errors import CorruptionError, InvalidInputError, MissingFile, SnapshotExpired
from table_format.metastore.references.expired_reads import WRITE_AGAIN, explaining_expiry
from table_format.model import arguments
from table_format.model.commit import CommitMessage
from table_format.options.bucket_mode import extends_buckets
from table_format.options.declare import Operation
from table_format.table.facts import TableFacts
from table_format.table.placement.assigners import Assignment
from table_format.table.placement.choose import placement_of
from table_format.table.rows.input import Rows, batches_of, reader_of
from table_format.table.rows.validate import RowRules, check_defaults
from table_format.table.write.bucket_writers import BucketWriters, DetachedWriters
from table_format.table.write.compaction_policy import CompactionPolicy
from table_format.table.write.flush_schedule import FlushSchedule
from table_format.table.write.hand_over import HandOver
from table_format.table.write.replaced_files import is_replaced
from table_format.table.write.stored_rows import StoredRows
from table_format.table.write.writer_opening import writer_opener

_BROKEN: Final = "an earlier write failed halfway; commit or abort its messages and create a new write"


class TableWrite:
    """Turns rows into commit messages. Use an object from one thread at a time.

    ``replacing`` ignores existing rows, for an overwrite. ``assignment`` says who assigns buckets if several tasks
    share the work. ``stored`` says that the rows come from the table. ``commit_user`` is the committing user, if
    known. A ``compactor`` runs compactions of primary key tables in the background; later writes return their
    results. A ``shared`` write is one of several that are committed together, and only compacts buckets for which it
    has rows. If other writes number rows of the same buckets at the same time, this one uses ``sequence_numbers``,
    counted from the next number of a bucket. Without ``check_lengths``, values may be longer than their columns.
    """

    def __init__(
        self,
        facts: TableFacts,
        *,
        replacing: bool = False,
        assignment: Assignment | None = None,
        stored: StoredRows | None = None,
        commit_user: str | None = None,
        compactor: Executor | None = None,
        shared: bool = True,
        sequence_numbers: range | None = None,
        check_lengths: bool = True,
    ) -> None:
        if commit_user is not None:
            commit_user = arguments.commit_user(commit_user)
        facts.require(Operation.WRITE)
        if stored is None:  # rows of the table itself stay the same rows
            facts.require_changeable()
        check_defaults(facts.schema, facts.schema.bucket_keys)
        self._facts = facts
        self._rules = RowRules.of(facts.schema, facts.options, check_lengths=check_lengths)
        self._is_broken = False
        self._is_unfinished = False
        extends = not replacing and extends_buckets(facts.bucket_mode)
        self._writers = _writers(
            facts,
            replacing=replacing,
            extends=extends,
            stored=stored,
            commit_user=commit_user,
            compactor=compactor,
            sequence_numbers=sequence_numbers,
        )
        self._first_buckets = () if stored is None else stored.buckets
        self._placement = placement_of(facts, replacing=replacing, assignment=assignment)
        self._hand_over = HandOver(facts, self._placement)
        self._flushes = FlushSchedule(self._writers, facts.options.write.buffer_size, self._hand_over.keep)
        self._compaction = CompactionPolicy(
            facts,
            replacing=replacing,
            extends_buckets=extends,
            shared=shared,
            chosen=None if stored is None else stored.compact,
        )

    def write(self, data: Rows) -> tuple[CommitMessage, ...]:
        """Write all rows to files and return the messages that make them visible when committed.

        You can commit the messages of several calls together, in the order of the calls.

        Raises:
            InvalidData: a column or a value does not fit; no file of this call is left.
            BucketCountChanged: a partition was written with another number of buckets.
            SchemaChanged: a fast-forward has replaced the schema of this write; load the table again.
            SnapshotExpired: the snapshot on which the write is based has expired, or a rollback or a fast-forward has
                removed it, in the meantime; write the rows again.
        """
        try:
            with self._facts.blaming_old_columns():
                reader = reader_of(data, self._facts.schema.fields)
                given = self._placement.given_column
                self._rules.check_columns([name for name in reader.schema.names if name != given])
                messages = self._written(self._checked(reader))
        except CorruptionError:
            base = self._writers.base
            with self._refusing_removed(), explaining_expiry(self._facts.store, base, advice=WRITE_AGAIN):
                self._facts.require_same_schema()
                raise
        return self._finished(messages)

    def write_stored(self, batches: Iterable[pa.RecordBatch]) -> tuple[CommitMessage, ...]:
        """Write rows that the table already holds: its columns and, if it has a primary key, ``_VALUE_KIND``.

        Raises:
            BucketCountChanged: a partition was written with another number of buckets.
        """
        return self._finished(self._written((batch, None) for batch in batches))

    def finish(self) -> tuple[CommitMessage, ...]:
        """Wait for background compactions of this write. Return the messages with their results.

        Call it after the last rows. Otherwise only ``abort`` deletes the results of the compactions.

        Raises:
            CorruptionError: a file to be compacted is missing or damaged.
        """
        self._abort_unfinished()
        self._writers.follow_table()
        return self._finished(self._handed_over(self._finish_writers))

    def abort(self) -> None:
        """Delete the files of rows and compactions that were not yet returned in messages, and forget all writers."""
        # An interrupt may stop this call; the next call then begins with the rest of the work.
        self._is_unfinished = True
        # Only the writers know the sequence numbers of rows that were returned and not committed.
        self._is_broken = self._is_broken or bool(self._writers.uncommitted)
        self._writers.abort()
        self._hand_over.abort()
        self._writers.forget()
        self._flushes.forget()
        self._placement.forget()
        self._is_unfinished = False

    # --- one call -----------------------------------------------------------------------------------------------------

    def _written(self, batches: Iterable[tuple[pa.RecordBatch, pa.Array | None]]) -> tuple[CommitMessage, ...]:
        self._facts.require_same_schema()
        self._abort_unfinished()
        if self._is_broken:
            raise InvalidInputError(_BROKEN)
        # Before the latest snapshot is read: an index of keys must not be of a later snapshot.
        self._placement.open()
        self._writers.follow_table()
        self._placement.begin(self._writers.base, self._writers.uncommitted.partitions)
        self._writers.open(self._first_buckets)

        def write_rows() -> None:
            for rows, given in batches:
                self._is_unfinished = True
                self._write_batch(rows, given)
            self._is_unfinished = True
            self._flush_all()

        return self._handed_over(write_rows)

    def _handed_over(self, work: Callable[[], None]) -> tuple[CommitMessage, ...]:
        """Return the messages of a piece of work and forget it; after an error, delete its files."""
        try:
            work()
            self._is_unfinished = True
            messages = self._hand_over.complete(self._writers.numbers_bases)
            self._writers.handed_over(messages)
        except MissingFile as error:
            try:
                self._check_own(error)
            finally:
                self._abort_unfinished()
            raise
        except BaseException:
            self._abort_unfinished()
            raise
        return messages

    def _finished(self, messages: tuple[CommitMessage, ...]) -> tuple[CommitMessage, ...]:
        """Return the messages of a call as its very last step.

        An interrupt that comes earlier takes them from the caller. Then the next call finds this one unfinished.
        """
        self._is_unfinished = False
        return messages

    def _checked(self, reader: pa.RecordBatchReader) -> Iterator[tuple[pa.RecordBatch, pa.Array | None]]:
        for first_row, read in batches_of(reader):
            column = self._placement.given_column
            batch = read if column is None else self._rules.without_ignored(read)
            given = None if column is None else batch.column(column)
            bare = batch if column is None else batch.drop_columns([column])
            yield self._rules.conform(bare, first_row=first_row), given

    def _write_batch(self, batch: pa.RecordBatch, given: pa.Array | None) -> None:
        pieces = list(self._placement.place(batch, given))
        self._writers.open([piece.bucket_id for piece in pieces])
        for piece in pieces:
            self._writers[piece.bucket_id].write(piece.rows)
            self._flushes.wrote(piece.bucket_id, piece.rows)

    def _flush_all(self) -> None:
        compaction = self._compaction.due(self._writers.base, self._writers)
        self._writers.open(compaction.full)
        self._flushes.flush(compaction)

    def _finish_writers(self) -> None:
        self._is_unfinished = True
        for writer in self._writers.values():
            self._hand_over.keep(writer.finish())

    # --- after a failure or an interrupt ------------------------------------------------------------------------------

    def _abort_unfinished(self) -> None:
        """Abort the failed call, or an earlier one whose abort was interrupted: no row of it may stay.

        This is not a context manager: an interrupted one may run when its generator is garbage-collected, during the
        next call.
        """
        if self._is_unfinished:
            self.abort()

    @contextmanager
    def _refusing_removed(self) -> Iterator[None]:
        """Raise the error for a missing file that the table no longer names, although the base of this write is there.

        It is of a later commit, or the base is not known yet. A rollback has removed it, or it was compacted and has
        expired.
        """
        try:
            yield
        except MissingFile as error:
            if not is_replaced(self._facts, None, error.path):
                raise
            message = f"{error.path} was removed by a rollback, or compacted and expired, {WRITE_AGAIN}"
            raise SnapshotExpired(message) from error

    def _check_own(self, error: MissingFile) -> None:
        """Raise the error for a missing file that this write has returned, and that is not known to be committed.

        Raises:
            SnapshotExpired: a rollback has removed its commit and deletes its files only now, or its message was
                aborted.
        """
        if self._writers.uncommitted.holds(error.path.rpartition("/")[2]):
            self._is_broken = True
            message = (
                f"{error.path}, a file of this write, no longer exists: its commit was rolled back, or its message was "
                "aborted. Nothing was committed; create a new write, and write the rows again"
            )
            raise SnapshotExpired(message) from error


def _writers(
    facts: TableFacts,
    *,
    replacing: bool,
    extends: bool,
    stored: StoredRows | None,
    commit_user: str | None,
    compactor: Executor | None,
    sequence_numbers: range | None,
) -> BucketWriters:
    opener = writer_opener(
        facts,
        replacing=replacing,
        are_results=stored is not None and stored.are_results,
        commit_user=commit_user,
        compactor=compactor,
        sequence_numbers=sequence_numbers,
    )
    if not extends:
        return DetachedWriters(facts, opener)
    if stored is not None:
        return BucketWriters(facts, opener, lambda: stored.base, numbers_follow_base=False)
    return BucketWriters(facts, opener, facts.snapshots.latest, numbers_follow_base=facts.schema.is_primary_key_table)

"""Two-phase writes and reads by split, for engines that run tasks in several processes.

The tasks of an engine write files and return *commit messages*; one process commits the messages of all tasks, which
makes the rows visible at once. A scan is planned in one process; its *splits* are read in tasks.

>>> import pyarrow as pa
>>> from table_format import Schema, load_catalog
>>> from table_format.engine import deserialize_messages, new_commit, new_write, serialize_messages
>>> from table_format.io.memory import MemoryFileIO
>>> catalog = load_catalog({"warehouse": "/warehouse"}, file_io=MemoryFileIO())
>>> catalog.create_database("shop")
>>> table = catalog.create_table("shop.orders", Schema.from_arrow(pa.schema([("id", pa.int64())])))

The first phase, in a task. It takes the commit user:

>>> write = new_write(table, "job-7")
>>> messages = [*write.write(pa.table({"id": [1, 2]})), *write.finish()]
>>> sent = serialize_messages(messages)

The second phase, once. A user and an identifier are committed once, so a repetition after a failure is safe:

>>> commit = new_commit(table, "job-7")
>>> [snapshot.id for snapshot in commit.commit(deserialize_messages(sent), identifier=1)]
[1]
>>> commit.commit(deserialize_messages(sent), identifier=1)
()

Splits are pickled. A task needs the scan and its split:

>>> scan = table.scan()
>>> sum(batch.num_rows for split in scan.plan().splits for batch in scan.read(split))
2

``TableWrite.abort`` deletes the files of a failed task, ``BatchCommit.abort`` the files of uncommitted messages.
``write_and_commit`` runs both phases in one process and retries after a conflict if that is safe.

Treat ``TableFacts``, ``TableStore``, ``TableOptions``, ``Pruning``, ``FileIndexes`` and ``Aggregation`` as opaque:
pass them from one function to the next. Their members may change with any release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from typing import TypeVar

import pyarrow as pa

from table_format.catalog.new_schema import first_schema
from table_format.codecs.commit_message import decode_messages, encode_messages
from table_format.indexes.file_index import FileIndexes
from table_format.io.file_io import FileIO, FileStatus
from table_format.io.table_store import TableStore
from table_format.metastore.commit.commit_job import CommitCheck
from table_format.metastore.expiry.file_deletions import FileDeletions
from table_format.metastore.history.branches import BranchStore
from table_format.metastore.manifest.partitions import PartitionChoice
from table_format.metastore.references.expired_reads import explaining_expiry
from table_format.metastore.references.expired_reads import on_latest as on_latest_of
from table_format.metastore.scan.file_plan import PlanCounts
from table_format.metastore.snapshot.changelog_store import ChangeHistory
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.bucket_id import BucketId
from table_format.model.commit import CommitMessage
from table_format.model.data_file import DataFileMeta, FileSource, SimpleStats
from table_format.model.manifest import DeletionVectorRange, FileKind, IndexFileMeta, ManifestEntry
from table_format.model.row_order import OrderedColumn, RowLimit
from table_format.model.schema import Schema
from table_format.model.snapshot import Snapshot
from table_format.model.split import DataSplit, DeletionFile, SnapshotRef, SplitContent
from table_format.options.bucket_mode import total_buckets
from table_format.options.table_options import TableOptions
from table_format.options.unread import Reader
from table_format.pruning.pruning import Pruning
from table_format.table.changes.primary_key_tables import check_deletable
from table_format.table.changes.row_actions import replace_rows
from table_format.table.changes.runners import StatementRunner
from table_format.table.changes.statement_commit import StatementCommit
from table_format.table.facts import HasFacts, TableFacts
from table_format.table.read.aggregates import Aggregate, Aggregation
from table_format.table.read.change_plans import CHANGELOG, changes_mode, changes_of
from table_format.table.read.changed_values import changed_values
from table_format.table.read.consumer_position import consumer_position
from table_format.table.read.distinct_values import all_values
from table_format.table.read.file_notes import FileNote
from table_format.table.read.plan import Limited
from table_format.table.read.row_groups import RowGroupCounts
from table_format.table.rows.input import ArrowStream, reader_of, refuse_objects
from table_format.table.rows.validate import RowRules
from table_format.table.table import Table
from table_format.table.upkeep.declared_indexes import IndexCoverage, index_coverage
from table_format.table.write.batch_commit import BatchCommit
from table_format.table.write.commit_retries import REPAIRED, Messages, is_repeatable, write_and_commit
from table_format.table.write.table_write import TableWrite
from table_format.table.write.turns import WriterTurns

T = TypeVar("T")

__all__ = [
    "CHANGELOG",
    "REPAIRED",
    "Aggregate",
    "Aggregation",
    "ArrowStream",
    "BatchCommit",
    "BucketId",
    "ChangeHistory",
    "CommitCheck",
    "CommitMessage",
    "DataFileMeta",
    "DataSplit",
    "DeletionFile",
    "DeletionVectorRange",
    "FileDeletions",
    "FileIO",
    "FileIndexes",
    "FileKind",
    "FileNote",
    "FileSource",
    "FileStatus",
    "HasFacts",
    "IndexCoverage",
    "IndexFileMeta",
    "Limited",
    "ManifestEntry",
    "Messages",
    "OrderedColumn",
    "PartitionChoice",
    "PlanCounts",
    "Pruning",
    "Reader",
    "RowGroupCounts",
    "RowLimit",
    "SimpleStats",
    "SnapshotRef",
    "SplitContent",
    "StatementCommit",
    "StatementRunner",
    "TableFacts",
    "TableOptions",
    "TableStore",
    "TableWrite",
    "WriterTurns",
    "all_values",
    "changed_values",
    "changes_mode",
    "changes_of",
    "check_deletable",
    "check_rows",
    "consumer_position",
    "declared_buckets",
    "deserialize_messages",
    "files_of",
    "index_coverage",
    "is_repeatable",
    "new_commit",
    "new_write",
    "on_latest",
    "reader_of",
    "refuse_objects",
    "replace_rows",
    "serialize_messages",
    "snapshot_of_branch",
    "write_and_commit",
]


def new_write(table: Table, commit_user: str | None = None, *, compactor: Executor | None = None) -> TableWrite:
    """Start the first phase of a write, which turns rows into files and messages; see ``Table.new_write``."""
    return table.new_write(commit_user, compactor=compactor)


def new_commit(table: Table, commit_user: str | None = None) -> BatchCommit:
    """Start the second phase of a write, which makes messages visible; see ``Table.new_commit``."""
    return table.new_commit(commit_user)


def serialize_messages(messages: Iterable[CommitMessage]) -> bytes:
    """Serialize the messages of one task. ``deserialize_messages`` of this and the next library version reads them."""
    return encode_messages(tuple(messages))


def deserialize_messages(data: bytes) -> tuple[CommitMessage, ...]:
    """Return the messages that ``serialize_messages`` has serialized.

    The bytes may come from a network: decoding is limited in size and runs no code.

    Raises:
        BadEncoding: the bytes are not messages, or come from another version of this library.
        LimitExceeded: the bytes declare more than valid messages can hold.
    """
    return decode_messages(data)


def check_rows(schema: Schema, rows: pa.RecordBatchReader) -> None:
    """Check that a table that would be created with this schema can hold these rows, and read them for that.

    A refused write leaves a new table empty. This tells before there is one.

    Raises:
        InvalidData: a value, a null or a row kind that the table cannot hold.
        InvalidSchema, InvalidOption, UnsupportedFeature: no table can have this schema.
    """
    first = first_schema(schema, defaults={}, time_millis=0)
    rules = RowRules.of(first, TableOptions.parse(first.options))
    rules.check_columns(rows.schema.names)
    number = 0
    for batch in rows:
        rules.conform(batch, first_row=number)
        number += batch.num_rows


def files_of(facts: TableFacts, snapshot: Snapshot | None) -> tuple[ManifestEntry, ...]:
    """Return the data files of a snapshot, of all levels; none without a snapshot.

    Raises:
        SnapshotExpired: the snapshot has expired in the meantime.
    """
    with explaining_expiry(facts.store, snapshot):
        return tuple(facts.live_files(snapshot).entries)


def on_latest(facts: TableFacts, work: Callable[[Snapshot | None], T]) -> T:
    """Run ``work`` on the latest snapshot, and repeat it with the next one if the snapshot expires during the work.

    Raises:
        SnapshotExpired: snapshots expire faster than the work completes.
    """
    return on_latest_of(facts.snapshots, work)


def declared_buckets(facts: TableFacts) -> int:
    """Return the number of buckets that the table options declare; -1 or -2, as in manifests, if it is not fixed."""
    return total_buckets(facts.bucket_mode)


def snapshot_of_branch(table: Table, branch: str, snapshot_id: int) -> Snapshot | None:
    """Return a snapshot in the history of a branch; ``None`` if it does not exist.

    Raises:
        BranchNotFound: the branch does not exist.
    """
    return SnapshotStore(BranchStore(table.store).require(branch)).find(snapshot_id)

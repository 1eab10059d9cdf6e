"""The lake as a Spark session sees it: tables as DataFrames, DataFrames into tables, compaction as a Spark job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from table_format.catalog.load import load_catalog
from table_format.catalog.protocol import Catalog
from table_format.errors import InvalidInputError, UnsupportedFeature
from table_format.kernels.sort_keys import OrderStrategy
from table_format.limits import MAX_INT
from table_format.model.arguments import optional_whole_number
from table_format.model.predicate import Predicate
from table_format.model.snapshot import Snapshot
from table_format.secrets import Secret
from table_format.spark.jobs.compact import compact_on_spark
from table_format.spark.jobs.index_rewrite import rewrite_indexes_on_spark
from table_format.spark.jobs.rescale import rescale_on_spark
from table_format.spark.jobs.sort_compact import sort_compact_on_spark
from table_format.spark.jobs.verify import verify_on_spark
from table_format.spark.read.aggregates import aggregate_on_spark
from table_format.spark.read.expired_files import install_expiry_errors
from table_format.spark.read.table_frames import planned_frame, table_frame
from table_format.spark.redaction import mask_secrets
from table_format.spark.source.data_source import PaimonDataSource
from table_format.spark.system import system_frame
from table_format.spark.tasks.code_shipping import ship_code
from table_format.spark.write.frames import with_constants, write_frame
from table_format.table.read.aggregates import ROW_COUNT, Aggregates, row_count
from table_format.table.read.order_by import row_limit
from table_format.table.rows.partition_values import partition_spec
from table_format.table.system.table import SystemTable
from table_format.table.table import Table
from table_format.table.upkeep.compaction_report import CompactionReport
from table_format.table.upkeep.index_rewrite import IndexRewriteReport
from table_format.table.verify.report import VerifyReport
from table_format.table.write.batch_commit import BatchCommit, CommitArguments
from table_format.table.write.commit_retries import Messages, write_and_commit
from table_format.table.write.turns import WriterTurns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WriteMode = Literal["append", "overwrite"]


def paimon(spark: SparkSession, options: Mapping[str, str | Secret]) -> Lake:
    """Open a catalog for a session, classic or Connect.

    The session's tasks get the library's code, and ``format("paimon")`` becomes known to it.

    Raises:
        InvalidOption: an option of the catalog is unknown or malformed.
    """
    ship_code(spark)
    install_expiry_errors()
    # Spark refuses a Python data source that takes filters unless its session allows it.
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    spark.dataSource.register(PaimonDataSource)
    mask_secrets(spark)
    return Lake(spark, load_catalog(options))


@dataclass(frozen=True)
class Lake:
    """A catalog and the session its tables are read and written with."""

    spark: SparkSession
    catalog: Catalog

    def table(
        self,
        name: str,
        *,
        columns: Sequence[str] | None = None,
        filter: str | Predicate | None = None,
        order_by: str | Sequence[str] | None = None,
        limit: int | None = None,
        **options: str,
    ) -> DataFrame:
        """The rows of one snapshot of a table, the latest of now or the one that the options name.

        The frame, and each that is derived from it, is planned when its rows are needed: with the columns that the
        query needs, and the conditions on it that the library understands, whether given here as ``filter`` or put on
        the frame later. They prune partitions, buckets and files before Spark sees them. ``options`` are dynamic
        options such as ``**{"scan.snapshot-id": "3"}``. With ``limit`` only files are read that can hold one of so many
        rows, the first of ``order_by`` or any, as by ``scan`` of the table; which files these are is found now. System
        tables, ``db.t$files`` or ``sys.tables``, are read in the same way.

        Raises:
            NotFoundError: the table, a column, or the snapshot or tag named by the options does not exist.
            InvalidFilter: the filter cannot be parsed or does not fit the columns.
            InvalidInputError: the limit is negative, the order has none, or cannot be parsed.
            UnsupportedFeature: a limit of a system table.
        """
        opened = self.catalog.load_table(name)
        first = row_limit(order_by, limit)
        if isinstance(opened, SystemTable):
            if first is not None:
                feature = "limit= of a system table"
                raise UnsupportedFeature(feature)
            return system_frame(self.spark, opened, columns=columns, filter=filter, options=options)
        table = opened.copy(options)
        if first is None:
            return table_frame(self.spark, table.facts, columns=columns, filter=filter)
        return planned_frame(self.spark, table.facts, first, columns=columns, filter=filter)

    def aggregate(
        self,
        name: str,
        aggregates: Mapping[str, tuple[str, str]],
        *,
        group_by: str | None = None,
        filter: str | Predicate | None = None,
        **options: str,
    ) -> Aggregates:
        """Functions of the rows that a filter selects, with the result of ``aggregate`` of a scan.

        Files are not opened where their metadata or their indexes have the result. Spark's tasks read the others, and
        the indexes where they are many. ``options`` are dynamic options.

        Raises:
            InvalidInputError: a function that does not exist, or a name that is there twice.
            NotFoundError: the table, a column, or the snapshot or tag named by the options does not exist.
            UnsupportedFeature: the type of a column does not have the function.
            CorruptionError: a file that had to be read is missing or damaged.
        """
        table = self._data_table(name).copy(options)
        return aggregate_on_spark(self.spark, table, aggregates, group_by=group_by, filter=filter)

    def count(self, name: str, *, filter: str | Predicate | None = None, **options: str) -> int:
        """The number of rows that the filter selects; errors as for ``aggregate``."""
        return row_count(self.aggregate(name, ROW_COUNT, filter=filter, **options))

    def write(
        self,
        frame: DataFrame,
        name: str,
        mode: WriteMode = "append",
        *,
        partition: Mapping[str, object] | None = None,
        commit_user: str | None = None,
        identifier: int | None = None,
        properties: Mapping[str, str] | None = None,
        parallelism: int | None = None,
    ) -> tuple[Snapshot, ...]:
        """Write a frame in one commit and return the snapshots it made.

        ``append`` upserts on a primary key table, with row kinds from a column ``_row_kind``. ``overwrite`` replaces
        the partitions of ``partition``; without it, the partitions that occur in the frame, or the whole table, as the
        option ``dynamic-partition-overwrite`` says. With ``commit_user`` and ``identifier`` a repeated call writes
        nothing and returns no snapshot.

        Raises:
            InvalidData: columns or values do not fit the table; nothing is visible.
            ConflictError: another commit made this one impossible; nothing is visible.
        """
        if mode not in ("append", "overwrite"):
            message = f"mode '{mode}' is not known; modes are append and overwrite"
            raise InvalidInputError(message)
        if mode == "append" and partition is not None:
            message = "partition= belongs to mode='overwrite'"
            raise InvalidInputError(message)
        CommitArguments.of(identifier, properties=properties)
        parallelism = optional_whole_number(parallelism, "parallelism", minimum=1, maximum=MAX_INT)
        table = self._data_table(name)
        facts = table.facts
        commit = BatchCommit(facts, commit_user)
        if identifier is not None and commit.is_committed(identifier):
            return ()
        replacing = mode == "overwrite"
        spec = None if partition is None else partition_spec(table.schema, partition)
        rows = frame if spec is None else with_constants(frame, table.schema, spec)

        def publish(messages: Messages) -> tuple[Snapshot, ...]:
            if replacing:
                return commit.overwrite(messages, partition=spec, identifier=identifier, properties=properties)
            return commit.commit(messages, identifier=identifier, properties=properties)

        return write_and_commit(
            table.store,
            commit,
            write=lambda: write_frame(
                rows, facts, replacing=replacing, parallelism=parallelism, commit_user=commit.commit_user
            ),
            publish=publish,
            is_repeatable=True,
            turns=WriterTurns.of(table.facts),
        )

    def compact(
        self,
        name: str,
        *,
        full: bool = False,
        partitions: Sequence[Mapping[str, object]] | None = None,
        buckets: Sequence[int] | None = None,
        order_by: Sequence[str] | None = None,
        order_strategy: str | None = None,
    ) -> tuple[Snapshot, ...]:
        """Compact a table, or some partitions or buckets, one task for each bucket; commit it; the snapshots made.

        Postponed rows are given their buckets, by several tasks for each partition.

        With ``order_by`` the rows of a table without buckets, or with dynamic ones, are put in order, as by ``compact``
        of the table: each task sorts a range of them.

        A bucket that another commit has changed meanwhile is left as it is; ``run_compaction`` tells which.

        Raises:
            ConflictError: others won every attempt to commit, or changed what was put in order.
            InvalidInputError: a column cannot be ordered by, or the strategy is unknown.
            UnsupportedFeature: rows of a table with fixed buckets are to be put in order.
        """
        if order_by is not None:
            if buckets is not None:
                message = "order_by= puts all rows of a partition in order; leave buckets= out"
                raise InvalidInputError(message)
            strategy = order_strategy or OrderStrategy.ORDER
            return sort_compact_on_spark(self.spark, self._data_table(name), order_by, strategy, partitions=partitions)
        if order_strategy is not None:
            message = "order_strategy= belongs to order_by="
            raise InvalidInputError(message)
        return self.run_compaction(name, full=full, partitions=partitions, buckets=buckets).snapshots

    def run_compaction(
        self,
        name: str,
        *,
        full: bool = False,
        partitions: Sequence[Mapping[str, object]] | None = None,
        buckets: Sequence[int] | None = None,
    ) -> CompactionReport:
        """``compact`` with a report: the snapshots, the buckets compacted, and those dropped and why."""
        return compact_on_spark(self.spark, self._data_table(name), full=full, partitions=partitions, buckets=buckets)

    def rescale(
        self, name: str, bucket: int | None = None, *, partitions: Sequence[Mapping[str, object]] | None = None
    ) -> tuple[Snapshot, ...]:
        """Give partitions another number of buckets, without one that of the table, in one OVERWRITE snapshot.

        Without ``partitions`` the option ``bucket`` of the table is changed too; see ``rescale`` of the table.

        Raises:
            InvalidInputError: the table has no fixed number of buckets, or it is not told where buckets are postponed.
            ConflictError: another commit changed one of the partitions meanwhile; nothing is visible.
        """
        return rescale_on_spark(self.spark, self._data_table(name), bucket, partitions=partitions)

    def rewrite_file_index(
        self, name: str, *, partitions: Sequence[Mapping[str, object]] | None = None
    ) -> IndexRewriteReport:
        """Give data files the indexes that the options declare now, a task for some files; data files stay as they are.

        See ``rewrite_file_index`` of the table.

        Raises:
            ConflictError: others won every attempt to commit; what earlier snapshots of this call made visible stays.
            CorruptionError: a data file is missing or damaged.
        """
        return rewrite_indexes_on_spark(self.spark, self._data_table(name), partitions=partitions)

    def verify(
        self,
        name: str,
        *,
        depth: str = "files",
        partitions: Sequence[Mapping[str, object]] | None = None,
        repair: bool = False,
    ) -> VerifyReport:
        """Check that files, metadata and rows of a table agree, with a task for each bucket.

        See ``verify`` of the table.

        Raises:
            InvalidInputError: there is no such depth, or a partition names other columns.
        """
        return verify_on_spark(self.spark, self._data_table(name), depth=depth, partitions=partitions, repair=repair)

    def _data_table(self, name: str) -> Table:
        table = self.catalog.load_table(name)
        if isinstance(table, SystemTable):
            message = f"'{name}' shows a table's metadata; it can be read, and nothing else"
            raise InvalidInputError(message)
        return table

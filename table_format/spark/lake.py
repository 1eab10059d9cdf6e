"""The class ``Lake``: reads and writes tables as Spark DataFrames, and runs statements and maintenance as Spark
jobs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal

from table_format.catalog.load import load_catalog
from table_format.catalog.named_catalog import NamedCatalog
from table_format.catalog.protocol import Catalog
from table_format.errors import InvalidInputError, UnsupportedFeature
from table_format.format_table.table import FormatTable, no_format_table, refuse_arguments
from table_format.kernels.sort_keys import OrderStrategy
from table_format.limits import MAX_INT
from table_format.materialized.report import RefreshReport
from table_format.materialized.table import MaterializedTable, materialized_tables
from table_format.model.arguments import optional_whole_number
from table_format.model.condition import Condition, Filter
from table_format.model.row_order import RowLimit
from table_format.model.snapshot import Snapshot
from table_format.options.commit import DYNAMIC_PARTITION_OVERWRITE
from table_format.options.unread import Reader
from table_format.secrets import Secret
from table_format.spark.arguments import spark_frame, spark_session
from table_format.spark.dml.chosen_partitions import ChosenPartitions
from table_format.spark.dml.matching import MatchOn
from table_format.spark.dml.merged_schema import columns_to_hold
from table_format.spark.dml.statements import delete_on_spark, merge_on_spark, update_on_spark
from table_format.spark.jobs.compact import compact_on_spark
from table_format.spark.jobs.index_rewrite import rewrite_indexes_on_spark
from table_format.spark.jobs.rescale import rescale_on_spark
from table_format.spark.jobs.sort_compact import sort_compact_on_spark
from table_format.spark.jobs.verify import verify_on_spark
from table_format.spark.names import Names
from table_format.spark.read.aggregates import aggregate_on_spark
from table_format.spark.read.format_frames import format_frame
from table_format.spark.read.table_frames import planned_frame, table_frame, with_columns
from table_format.spark.sessions import prepare_session
from table_format.spark.source.known_stores import remember_store
from table_format.spark.sql.attached_tables import attach
from table_format.spark.sql.refresh import refresh
from table_format.spark.sql.run import run_script
from table_format.spark.sql.session import SqlSession, SqlState
from table_format.spark.stream.frames import OutputMode, start_query, streaming_frame
from table_format.spark.stream.planned_batches import committed_before, plan_properties
from table_format.spark.stream.repeated import compute_repeated
from table_format.spark.stream.streamed import streamed
from table_format.spark.stream.targets import Target
from table_format.spark.system import system_frame
from table_format.spark.table_writer import TableWriter
from table_format.spark.write.format_files import write_format_frame
from table_format.spark.write.frames import check_frame, explain_write, with_constants, write_frame
from table_format.spark.write.merged_schema import changes_for, check_required, with_all_columns, with_merged_schema
from table_format.spark.write.spelling import with_names_of_table
from table_format.table.changes.assignments import Values
from table_format.table.changes.merge_into import Insert, MatchedClause
from table_format.table.changes.row_changes import RowChanges
from table_format.table.changes.statement_commit import StatementCommit
from table_format.table.read.aggregates import ROW_COUNT, Aggregates, row_count
from table_format.table.read.order_by import row_limit
from table_format.table.rows.partition_values import written_partition
from table_format.table.system.table import SystemTable
from table_format.table.table import Table
from table_format.table.upkeep.compaction_report import CompactionReport
from table_format.table.upkeep.index_rewrite import IndexRewriteReport
from table_format.table.verify.report import VerifyReport
from table_format.table.write.batch_commit import BatchCommit, CommitArguments
from table_format.table.write.commit_retries import Messages, write_and_commit
from table_format.table.write.turns import WriterTurns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.types import StructType

WriteMode = Literal["append", "overwrite"]


def paimon(spark: SparkSession, options: Mapping[str, str | Secret]) -> Lake:
    """Open a catalog for a session, classic or Connect.

    This ships the code of the library to the tasks of the session, and registers ``format("paimon")`` for it and for
    the sessions that its ``newSession`` creates.

    Raises:
        InvalidOption: an option of the catalog is unknown or malformed.
        InvalidInputError: ``spark`` is not a session.
    """
    catalog = load_catalog(options)
    spark_session(spark, "spark")
    if isinstance(catalog, NamedCatalog):
        remember_store(catalog.io, catalog.warehouse)
    prepare_session(spark)
    return Lake(spark, catalog)


@dataclass(frozen=True)
class Lake:
    """A catalog, and the Spark session that reads and writes its tables."""

    spark: SparkSession
    catalog: Catalog
    sql_state: SqlState = field(default_factory=SqlState, repr=False, compare=False)

    def sql(self, text: str, /, **parameters: object) -> DataFrame:
        """Run SQL and return the rows of its last statement.

        Separate statements with ``;``. All are parsed before the first one runs. ``parameters`` holds the values of
        ``:name``. ``USE`` and temporary views remain for later calls. docs/sql.md lists all statements.

        >>> lake.sql("SELECT * FROM shop.orders VERSION AS OF 3 WHERE id = :id", id=7)  # doctest: +SKIP

        Raises:
            InvalidSql: a statement cannot be parsed; the error has line and column.
            UnsupportedFeature: a statement or a clause is not supported; the message names it.
            TableFormatError: an operation of a statement failed.
        """
        return self.run_script(text, **parameters)[-1]

    def attach(self, database: str) -> tuple[str, ...]:
        """Make the tables of a database visible to plain ``spark.sql`` and ``spark.table``. Return their names.

        Spark's session catalog gets a database of this name with an entry for each table. Tables with a column of a
        type that Spark does not have get no entry; a warning names them. This lake updates the entries when it creates,
        changes or drops tables by SQL; call ``attach`` again after other changes. Spark's SELECT, INSERT INTO and
        INSERT OVERWRITE work on them like ``format("paimon")``. For all other statements, use ``sql``.

        Raises:
            DatabaseNotFound: the database does not exist.
            AlreadyExistsError: Spark has another table with the same name.
        """
        names = attach(self.spark, self.catalog, database)
        self.sql_state.attached.add(database)
        return names

    def run_script(self, text: str, /, **parameters: object) -> tuple[DataFrame, ...]:
        """Run SQL and return the rows of each statement; see ``sql``."""
        return run_script(SqlSession(self, self.sql_state, parameters), text)

    def table(
        self,
        name: str,
        *,
        columns: Sequence[str] | None = None,
        filter: Filter | None = None,
        order_by: str | Sequence[str] | None = None,
        limit: int | None = None,
        **options: str,
    ) -> DataFrame:
        """Return the rows of one snapshot of a table as a DataFrame: the latest snapshot at this moment, or the one
        that the options name.

        The DataFrame, and DataFrames derived from it, are planned when their rows are needed. Planning uses the columns
        that the query needs and its conditions, both ``filter`` and later ones, to prune partitions, buckets and files
        before Spark sees them. ``columns``, ``filter`` and ``order_by`` are those of ``Table.scan``, so their names
        have the case of the table; later operations follow the session. ``options`` are dynamic options such as
        ``**{"scan.snapshot-id": "3"}``. With ``limit``, only files that may contain one of these rows are read: the
        first rows by ``order_by``, or any rows; see ``Table.scan``. These files are selected immediately. You can also
        read system tables such as ``db.t$files`` or ``sys.tables``.

        Raises:
            NotFoundError: the table, a column, or the snapshot or tag named by the options does not exist.
            InvalidFilter: the filter cannot be parsed or does not fit the columns.
            InvalidInputError: the limit is negative, or the order cannot be parsed or has no limit.
            UnsupportedFeature: ``limit`` is given for a system table, or ``order_by`` or options for a format table.
        """
        opened = self.catalog.load_any(name)
        first = row_limit(order_by, limit)
        if isinstance(opened, FormatTable):
            return _format_frame(self.spark, opened, columns, filter, first, options)
        if isinstance(opened, SystemTable):
            if first is not None:
                feature = "limit of a system table"
                raise UnsupportedFeature(feature)
            return with_columns(
                columns, lambda once: system_frame(self.spark, opened, columns=once, filter=filter, options=options)
            )
        facts = opened.for_reader(Reader.BATCH, options).facts
        if first is None:
            return with_columns(columns, lambda once: table_frame(self.spark, facts, columns=once, filter=filter))
        return with_columns(columns, lambda once: planned_frame(self.spark, facts, first, columns=once, filter=filter))

    def aggregate(
        self,
        name: str,
        aggregates: Mapping[str, tuple[str, str]],
        *,
        group_by: str | None = None,
        filter: Filter | None = None,
        **options: str,
    ) -> Aggregates:
        """Aggregate the rows that a filter selects. The result is that of ``Scan.aggregate``.

        Files whose metadata or indexes provide the result are not opened. Spark tasks read the other files, and also
        the indexes if there are many. ``options`` are dynamic options.

        Raises:
            InvalidInputError: a function does not exist, or a name is used twice.
            NotFoundError: the table, a column, or the snapshot or tag named by the options does not exist.
            UnsupportedFeature: the function does not support the type of a column.
            CorruptionError: a file that is needed is missing or damaged.
        """
        table = self._data_table(name).for_reader(Reader.BATCH, options)
        return aggregate_on_spark(self.spark, table, aggregates, group_by=group_by, filter=filter)

    def count(self, name: str, *, filter: Filter | None = None, **options: str) -> int:
        """Return the number of rows that the filter selects. Raises the errors of ``aggregate``."""
        return row_count(self.aggregate(name, ROW_COUNT, filter=filter, **options))

    def write(
        self,
        frame: DataFrame,
        name: str,
        mode: WriteMode = "append",
        *,
        partition: Mapping[str, object] | None = None,
        where: str | Column | Condition | None = None,
        commit_user: str | None = None,
        identifier: int | None = None,
        watermark: int | None = None,
        properties: Mapping[str, str] | None = None,
        parallelism: int | None = None,
        options: Mapping[str, str] | None = None,
    ) -> tuple[Snapshot, ...]:
        """Write a DataFrame in one commit and return the new snapshots. A format table has none: rows are written to
        new files, by the arguments ``mode`` and ``partition`` alone; see ``FormatTable.overwrite``.

        ``append`` upserts on a primary key table, with row kinds from a column ``_row_kind``. ``overwrite`` replaces
        the partitions with the values of ``partition``, or those that match the condition ``where``; every new row
        must belong to one of them. Without both, it replaces the partitions that occur in the frame, or the whole
        table, depending on the option ``dynamic-partition-overwrite``. ``where`` is Spark SQL, a Spark column, or a
        condition built with ``table_format.col``, on partition columns only. With ``commit_user`` and
        ``identifier``, a repeated call writes nothing and returns no snapshot. ``watermark`` is as for
        ``Table.append``. ``options`` are dynamic options for this write, such as ``spark.write.exchange``, which sets
        how rows reach the tasks that write them, or ``write.merge-schema``, which first adds missing columns of the
        frame to the table.

        Raises:
            InvalidData: columns or values do not fit the table. Nothing was committed.
            InvalidInputError: ``where`` names another column, or a row is outside of the replaced partitions.
            ConflictError: another commit made this one impossible. Nothing was committed.
        """
        _check_mode(mode, partition, where)
        CommitArguments.of(identifier, watermark, properties)
        opened = self.catalog.load_any(name)
        if isinstance(opened, FormatTable):
            of_commits = {
                "where": where,
                "commit_user": commit_user,
                "identifier": identifier,
                "watermark": watermark,
                "properties": properties,
                "parallelism": parallelism,
                "options": options or None,
            }
            refuse_arguments(opened, of_commits)
            write_format_frame(spark_frame(frame, "frame"), opened, overwrite=mode == "overwrite", partition=partition)
            return ()
        parallelism = optional_whole_number(parallelism, "parallelism", minimum=1, maximum=MAX_INT)
        table = self._data_table(name).for_reader(Reader.WRITE, options or {})
        if table.options.write.merge_schema:
            frame = with_names_of_table(frame, table.facts)
            check_required(table.schema, [*frame.columns, *(partition or {})])
            table = self._holding(name, table, frame.schema)
            frame = with_all_columns(frame, table.schema)
        facts = table.facts
        facts.require_changeable()
        commit = BatchCommit(facts, commit_user)
        if identifier is not None and commit.is_committed(identifier):
            compute_repeated(frame)
            return ()
        publish = partial(commit.commit, identifier=identifier, watermark=watermark, properties=properties)
        spec = None if partition is None else written_partition(table.schema, partition)
        if mode == "overwrite":
            chosen = spec if where is None else ChosenPartitions.of(self.spark, facts, where)
            publish = partial(
                commit.overwrite, partition=chosen, identifier=identifier, watermark=watermark, properties=properties
            )
        rows = with_names_of_table(frame, facts)
        rows = rows if spec is None else with_constants(rows, table.schema, spec)

        def write() -> Messages:
            return write_frame(
                rows, facts, replacing=mode == "overwrite", parallelism=parallelism, commit_user=commit.commit_user
            )

        return write_and_commit(
            table.store,
            commit,
            write=write,
            publish=publish,
            is_repeatable=True,
            turns=WriterTurns.of(facts),
        )

    def read_stream(self, name: str, *, columns: Sequence[str] | None = None, **options: str) -> DataFrame:
        """Return a streaming DataFrame of a table: its state, then the rows that commits add, or as ``scan.mode``
        selects.

        With ``read.changelog`` = true, it shows every change, with the row kind in the column ``rowkind``.
        ``t$audit_log`` is ``t`` with this option. ``options`` are dynamic options; docs/streaming.md lists those of
        streams.

        >>> lake.read_stream("shop.orders", **{"read.changelog": "true"})  # doctest: +SKIP

        Raises:
            ColumnNotFound: a column does not exist.
            InvalidInputError: ``columns`` is empty: Spark would show no rows.
            InvalidOption: an option has no effect on a stream, or a stream cannot start in this way.
            UnsupportedFeature: the merge engine combines rows of several commits, and the table has no changelog.
        """
        return streaming_frame(
            self.spark, streamed(no_format_table(self.catalog.load_any(name), "streams"), options), columns
        )

    def write_stream(
        self,
        frame: DataFrame,
        name: str,
        *,
        checkpoint: str,
        output_mode: OutputMode = "append",
        trigger: Mapping[str, bool | str] | None = None,
        query_name: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> StreamingQuery:
        """Start a streaming query into a table. Each micro-batch is committed exactly once, even after failures.

        ``append`` and ``update`` upsert on a primary key table, like ``write``; ``complete`` replaces all rows.
        ``checkpoint`` is the checkpoint directory of the query. ``trigger`` holds the arguments of Spark's
        ``trigger``. ``options`` are dynamic options. The query stops, also when it starts again, if the table was
        dropped, even if it was created again, or rolled back to before its last micro-batch.

        >>> lake.write_stream(
        ...     rows, "shop.totals", checkpoint="/checkpoints/totals", trigger={"availableNow": True}
        ... )  # doctest: +SKIP

        Raises:
            InvalidData: columns do not fit the table. Nothing was started.
            UnsupportedFeature: the mode is ``update`` and the session is Spark Connect.
        """
        table = self._data_table(name).for_reader(Reader.WRITE, options or {})
        frame = with_names_of_table(frame, table.facts)
        if table.options.write.merge_schema:
            check_required(table.schema, frame.columns)
            changes_for(table.facts, frame.schema)  # The first micro-batch changes the table.
        else:
            check_frame(frame.schema, table.facts)
        mode: WriteMode = "overwrite" if output_mode == "complete" else "append"
        whole = {DYNAMIC_PARTITION_OVERWRITE.key: "false"} if output_mode == "complete" else {}
        given = {**(options or {}), **whole}
        target = Target(table.facts, checkpoint)

        def write(batch: DataFrame, number: int, commit_user: str) -> None:
            target.require_intact(commit_user)
            plan = plan_properties(checkpoint, number)
            made = self.write(
                batch, name, mode, commit_user=commit_user, identifier=number, properties=plan, options=given
            )
            # A second snapshot is a compaction.
            committed = made[0] if made else committed_before(table.facts, commit_user, number, checkpoint)
            if committed is not None and mode == "append":
                target.note(committed)

        return start_query(
            frame,
            table,
            write,
            checkpoint=checkpoint,
            output_mode=output_mode,
            trigger=trigger,
            query_name=query_name,
        )

    def write_to(self, frame: DataFrame, name: str) -> TableWriter:
        """Return a writer of a DataFrame to a new or existing table, like Spark's ``df.writeTo``.

        >>> lake.write_to(frame, "shop.orders").table_property("primary-key", "id").create()  # doctest: +SKIP
        """
        return TableWriter(self, spark_frame(frame, "frame"), name, SqlSession(self, self.sql_state).keep_attached)

    def explain_write(self, frame: DataFrame, name: str, *, parallelism: int | None = None) -> str:
        """Return how ``write`` would distribute the rows of a DataFrame to the files of a table, and why. Nothing is
        run.

        Raises:
            InvalidData: columns or types do not fit the table.
            UnsupportedFeature: the table does not support the value of ``spark.write.exchange``.
        """
        facts = self._data_table(name).facts
        return explain_write(with_names_of_table(frame, facts), facts, parallelism=parallelism)

    def delete(
        self,
        name: str,
        where: str | Column | Condition | None = None,
        *,
        alias: str | None = None,
        commit_user: str | None = None,
        identifier: int | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> RowChanges:
        """Delete the rows that match a condition, or all rows, as a Spark job and in one commit.

        ``where`` is Spark SQL, which may contain subqueries over views of the session, a Spark column, or a condition
        built with ``table_format.col``. ``alias`` is the name of the table in the condition, by default its name
        without the database. The other arguments are as for ``Table.delete``.

        Raises:
            UnsupportedFeature: the merge engine of the table cannot delete rows.
            ConflictError: other commits kept changing the same files or keys.
            CommitOutcomeUnknown: the commit may have succeeded; repeat it with the same user and identifier.
        """
        commit_as = StatementCommit("DELETE", commit_user, identifier, properties)
        return delete_on_spark(self.spark, self._data_table(name), where, alias, commit_as)

    def update(
        self,
        name: str,
        set_: Values,
        where: str | Column | Condition | None = None,
        *,
        alias: str | None = None,
        commit_user: str | None = None,
        identifier: int | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> RowChanges:
        """Set columns of the rows that match a condition, or of all rows, as a Spark job and in one commit.

        ``set_`` maps columns to Spark SQL, to Spark columns, or to constants other than strings. Values are cast by
        Spark's rules for storing; a number that does not fit is an error. ``where`` and ``alias`` are as for
        ``delete``, the other arguments as for ``Table.update``.

        Raises:
            ColumnNotFound, InvalidData: a value does not fit its column.
            UnsupportedFeature: the merge engine cannot update rows, or the statement sets a column of the primary key.
            ConflictError, CommitOutcomeUnknown: as for ``delete``.
        """
        commit_as = StatementCommit("UPDATE", commit_user, identifier, properties)
        return update_on_spark(self.spark, self._data_table(name), set_, where, alias, commit_as)

    def merge(
        self,
        name: str,
        source: DataFrame,
        on: MatchOn,
        *,
        when_matched: MatchedClause | Sequence[MatchedClause] = (),
        when_not_matched: Insert | Sequence[Insert] = (),
        when_not_matched_by_source: MatchedClause | Sequence[MatchedClause] = (),
        target_alias: str | None = None,
        source_alias: str | None = None,
        commit_user: str | None = None,
        identifier: int | None = None,
        properties: Mapping[str, str] | None = None,
        options: Mapping[str, str] | None = None,
    ) -> RowChanges:
        """Merge the rows of a DataFrame into a table, as a Spark job and in one commit.

        ``on`` is a condition in Spark SQL, ``"t.id = s.id"``, or columns as for ``Table.merge``. Conditions and values
        of clauses are Spark columns, or Spark SQL over ``target.x`` (or ``t.x``) and ``source.x`` (``s.x``), or over
        the given aliases. If there are several clauses, the first one whose condition is true applies. The source is
        evaluated once. ``options`` are dynamic options such as ``write.merge-schema``, which first adds missing columns
        of the source to the table.

        >>> lake.merge(  # doctest: +SKIP
        ...     "shop.orders",
        ...     changes,
        ...     on="t.id = s.id",
        ...     when_matched=[Delete("s.op = 'D'"), Update({"amount": "t.amount + s.amount"})],
        ...     when_not_matched=Insert(condition="s.op <> 'D'"),
        ... )

        Raises:
            ColumnNotFound, InvalidData: a value does not fit its column; or a row of the table matches several rows
                of the source.
            UnsupportedFeature: as for ``update`` and ``delete``.
            ConflictError, CommitOutcomeUnknown: as for ``delete``.
        """
        spark_frame(source, "source")
        table = self._data_table(name).for_reader(Reader.WRITE, options or {})
        if table.options.write.merge_schema:
            names = Names.of(self.spark)
            taken = columns_to_hold(table.current().schema, source.schema, names, when_matched, when_not_matched)
            table = self._holding(name, table, taken)
        return merge_on_spark(
            self.spark,
            table,
            source,
            on,
            when_matched=when_matched,
            when_not_matched=when_not_matched,
            when_not_matched_by_source=when_not_matched_by_source,
            target_alias=target_alias,
            source_alias=source_alias,
            commit_as=StatementCommit("MERGE", commit_user, identifier, properties),
        )

    def refresh(
        self,
        name: str,
        *,
        partition: Mapping[str, object] | None = None,
        if_stale: bool = False,
        force: bool = False,
        properties: Mapping[str, str] | None = None,
    ) -> RefreshReport:
        """Replace the rows of a materialized table, or of a partition of it, by those of its query, in one commit.

        The query reads one snapshot of each source. If no source has changed since the last refresh, nothing is run,
        and the rows count as fresh. Partitions that the changes cannot have affected stay, if the query shows
        which ones they are. With ``if_stale``, nothing is run either while the rows are younger than the
        freshness, or the table is suspended. With ``force``, the query always runs: after a change of a setting of the
        session that its result depends on. ``partition`` maps some or all partition columns to values. ``properties``
        are more properties of the snapshot.

        >>> lake.refresh("shop.totals", if_stale=True).skipped  # doctest: +SKIP
        'no source has changed since the last refresh'

        Raises:
            InvalidInputError: it is not a materialized table, or its query no longer fits its sources or its columns.
            NotFoundError: the table, or a table that its query reads, does not exist.
            ConflictError: another refresh of the whole table was committed in the meantime. Nothing was committed.
            UnsupportedFeature: Flink refreshes the table.
        """
        session = SqlSession(self, self.sql_state)
        return refresh(session, name, partition=partition, if_stale=if_stale, force=force, properties=properties)

    def materialized_tables(self, database: str | None = None) -> tuple[MaterializedTable, ...]:
        """Return the materialized tables of a database, or of all; see ``table_format.materialized_tables``.

        >>> [table.name for table in lake.materialized_tables() if table.is_suspended]  # doctest: +SKIP
        ['shop.totals']

        Raises:
            DatabaseNotFound: the database does not exist.
        """
        return materialized_tables(self.catalog, database)

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
        """Compact a table, or some partitions or buckets, with one task for each bucket. Return the new snapshots.

        Postponed rows get their buckets, by several tasks for each partition.

        With ``order_by``, the rows of a table without buckets, or with dynamic buckets, are sorted as by
        ``Table.compact``. Each task sorts a range of rows.

        If another commit has changed a bucket in the meantime, the bucket is skipped; ``run_compaction`` reports it.

        Raises:
            ConflictError: other writers won every attempt to commit, or changed the sorted files.
            InvalidInputError: a column cannot be sorted by, or the strategy is unknown.
            UnsupportedFeature: ``order_by`` is given for a table with fixed buckets.
        """
        if order_by is not None:
            if buckets is not None:
                message = "order_by sorts all rows of a partition; leave buckets out"
                raise InvalidInputError(message)
            strategy = order_strategy or OrderStrategy.ORDER
            return sort_compact_on_spark(self.spark, self._data_table(name), order_by, strategy, partitions=partitions)
        if order_strategy is not None:
            message = "order_strategy requires order_by"
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
        """Compact as ``compact`` does, and return a report: the snapshots, the compacted buckets, and the dropped
        ones with reasons.
        """
        return compact_on_spark(self.spark, self._data_table(name), full=full, partitions=partitions, buckets=buckets)

    def rescale(
        self, name: str, bucket: int | None = None, *, partitions: Sequence[Mapping[str, object]] | None = None
    ) -> tuple[Snapshot, ...]:
        """Change the number of buckets of partitions, by default to that of the table, in one OVERWRITE snapshot.

        Without ``partitions``, the option ``bucket`` of the table is also changed; see ``Table.rescale``.

        Raises:
            InvalidInputError: the table has no fixed buckets, or it has postponed buckets and no number is given.
            ConflictError: another commit changed one of the partitions in the meantime. Nothing was committed.
        """
        return rescale_on_spark(self.spark, self._data_table(name), bucket, partitions=partitions)

    def rewrite_file_index(
        self, name: str, *, partitions: Sequence[Mapping[str, object]] | None = None
    ) -> IndexRewriteReport:
        """Update the indexes of data files to the current options, in Spark tasks. Data files stay unchanged.

        See ``Table.rewrite_file_index``.

        Raises:
            ConflictError: other writers won every attempt to commit. Earlier snapshots of this call stay.
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

        See ``Table.verify``.

        Raises:
            InvalidInputError: the depth does not exist, or a partition names other columns.
        """
        return verify_on_spark(self.spark, self._data_table(name), depth=depth, partitions=partitions, repair=repair)

    def _holding(self, name: str, table: Table, rows: StructType) -> Table:
        """Return the table after adding columns, so that it can store rows with these columns."""
        found = with_merged_schema(table, rows, self.catalog.alter_table)
        if found.schema.id != table.schema.id:
            SqlSession(self, self.sql_state).keep_attached(name)
        return found

    def _data_table(self, name: str) -> Table:
        table = no_format_table(self.catalog.load_any(name))
        if isinstance(table, SystemTable):
            message = f"'{name}' is a system table; name the table itself"
            raise InvalidInputError(message)
        return table


def _format_frame(
    spark: SparkSession,
    table: FormatTable,
    columns: Sequence[str] | None,
    filter: Filter | None,
    first: RowLimit | None,
    options: Mapping[str, str],
) -> DataFrame:
    refuse_arguments(
        table, {"order_by": (first and first.order) or None, "time travel or dynamic options": options or None}
    )
    limit = None if first is None else first.count
    return with_columns(columns, lambda once: format_frame(spark, table, columns=once, filter=filter, limit=limit))


def _check_mode(mode: str, partition: Mapping[str, object] | None, where: object) -> None:
    """Refuse a mode that is not known, and arguments that only the other mode has."""
    if mode not in ("append", "overwrite"):
        message = f"mode '{mode}' is not known; modes are append and overwrite"
        raise InvalidInputError(message)
    if mode == "append" and partition is not None:
        message = "partition requires the mode 'overwrite'"
        raise InvalidInputError(message)
    if where is not None and (mode == "append" or partition is not None):
        message = "where requires the mode 'overwrite', without partition"
        raise InvalidInputError(message)

"""``spark.read.format("paimon").load(path)`` and ``df.write.format("paimon").mode(...).save(path)``; also as streams.

For code that uses Spark's own reader and writer calls. ``path`` is the directory of a table; alternatively, the options
``warehouse`` and ``table`` name it. For a Python data source, Spark neither shuffles rows before a write nor prunes
columns, and the filters that it pushes down are not safe for pruning. ``Lake.write`` and ``Lake.table`` have none of
these limits. Writes through this data source do not compact, so tables that need compaction require ``write-only`` =
true or are refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final

import pyarrow as pa
from pyspark.sql import datasource
from pyspark.sql.types import StructType

from table_format.errors import InvalidInputError, SnapshotNotFound, UnsupportedFeature
from table_format.model.commit import CommitMessage
from table_format.model.schema import TableSchema
from table_format.model.split import DataSplit
from table_format.options.preconditions import Reader, refuse_unread
from table_format.options.spark_stream import READ_CHANGELOG
from table_format.spark.source.entries import entry_schema, is_of_entry, options_of, target_options
from table_format.spark.source.places import Place
from table_format.spark.source.read_schema import check_read_schema
from table_format.spark.source.system_reader import system_source
from table_format.spark.source.targets import check_writable, target_of
from table_format.spark.stream.commit_users import user_of_checkpoint
from table_format.spark.stream.reader import PaimonStreamReader
from table_format.spark.stream.shown import shown_fields, with_row_kind
from table_format.spark.stream.writer import PaimonStreamWriter
from table_format.spark.tasks.split_groups import grouped_splits
from table_format.spark.tasks.table_work import write_rows
from table_format.spark.tasks.worker import settle
from table_format.spark.tasks.written import commit_results, results_of, written_by
from table_format.spark.types import in_types_of, spark_schema
from table_format.spark.write.frames import check_frame
from table_format.spark.write.merged_schema import batch_with_all_columns
from table_format.table.facts import TableFacts
from table_format.table.read.fallback_branch import read_planned
from table_format.table.read.plan import Plan
from table_format.table.read.scan import shown_schema
from table_format.table.system.table import SystemTable
from table_format.table.table import Table
from table_format.table.write.batch_commit import BatchCommit, fresh_user
from table_format.table.write.table_write import TableWrite

_ONLY: Final = 1
"""The commit identifier of a writer, which commits once."""


def _table(options: Mapping[str, str]) -> Table:
    """Return the table that the options of a read name."""
    place = Place.of(options)
    table = place.catalog.load_any(place.name)
    if isinstance(table, SystemTable):
        message = f"'{place.name}' is a system table; read it as a batch"
        raise InvalidInputError(message)
    return table.copy(place.dynamic)


class PaimonDataSource(datasource.DataSource):
    """The data source ``paimon``. ``data_source`` returns the class to register."""

    parallelism: ClassVar[int] = os.cpu_count() or 1
    """How many tasks run in parallel. The process that plans a read has no session that it could ask."""

    @classmethod
    def name(cls) -> str:
        """The name in ``format("paimon")``."""
        return "paimon"

    @cached_property
    def _opened(self) -> Table:
        return _table(self.options)

    def schema(self) -> StructType:
        """Return the columns of the table, or of the snapshot that the options name, with Spark types.

        With ``read.changelog``, the first column is the row kind, as in streaming queries.
        """
        system = system_source(self.options)
        if system is not None:
            return system.schema()
        facts = self._opened.facts
        shown = with_row_kind(facts, spark_schema(self._shown(facts).fields))
        return entry_schema(shown, self.options["path"]) if is_of_entry(self.options) else shown

    @staticmethod
    def _shown(facts: TableFacts) -> TableSchema:
        try:
            return shown_schema(facts)
        except SnapshotNotFound:
            # A stream may begin with a future snapshot. A batch read fails when it is planned.
            return facts.schema

    def _named_by(self, schema: StructType) -> Table:
        """Return the table of the options, or the one in the column metadata of an entry of the session catalog."""
        options = options_of(self.options, schema)
        return self._opened if options == dict(self.options) else _table(options)

    def reader(self, schema: StructType) -> datasource.DataSourceReader:
        """Return a batch reader of these columns.

        Raises:
            InvalidInputError: the schema of the user does not fit the table.
        """
        system = system_source(self.options)
        if system is not None:
            return system.reader(schema)
        table = self._named_by(schema)
        if table.options.spark_stream.read_changelog:
            feature = f"{READ_CHANGELOG.key} of a batch read"
            raise UnsupportedFeature(feature, f"{feature} is not supported; read '{table.identifier}$audit_log'")
        refuse_unread(table.dynamic_options, Reader.BATCH)
        check_read_schema(schema, shown_schema(table.facts).fields)
        return PaimonReader(table, schema, parallelism=self.parallelism)

    def writer(self, schema: StructType, overwrite: bool) -> datasource.DataSourceWriter:  # noqa: FBT001
        """Return a writer of one job.

        Raises:
            UnsupportedFeature: the table cannot be written this way.
            InvalidData: the columns do not fit the table.
        """
        target = target_of(Place.of(target_options(self.options, schema)), schema)
        return PaimonWriter(target.table, overwrite=overwrite, made_at=target.made_at)

    def streamReader(self, schema: StructType) -> PaimonStreamReader:
        """Return a reader of the changes of the table, with its current columns.

        Raises:
            InvalidInputError: the schema of the user does not fit the table.
            UnsupportedFeature: the changes of the table cannot be read as rows.
        """
        table = self._named_by(schema)
        refuse_unread(table.dynamic_options, Reader.SPARK_STREAM)
        check_read_schema(schema, shown_fields(table.facts, schema.names))
        return PaimonStreamReader(table.facts, schema, parallelism=self.parallelism)

    def streamWriter(self, schema: StructType, overwrite: bool) -> PaimonStreamWriter:  # noqa: FBT001
        """Return a writer of one micro-batch. With ``overwrite``, a micro-batch replaces all rows.

        Raises:
            UnsupportedFeature: the table cannot be written this way, or ``toTable`` names it.
            InvalidInputError: the query does not have its own checkpoint.
            InvalidData: the columns do not fit the table.
        """
        if "path" not in self.options and "table" not in self.options:
            feature = "writeStream.toTable"
            message = (
                f"{feature} is not supported: Spark does not say which table of its catalog is written; use "
                "lake.write_stream, or start(path) with the directory of the table"
            )
            raise UnsupportedFeature(feature, message)
        table = _table(self.options).current()
        check_writable(table)
        check_frame(schema, table.facts)
        return PaimonStreamWriter(table, user_of_checkpoint(self.options), replacing=overwrite)


def data_source(parallelism: int) -> type[PaimonDataSource]:
    """Return the data source for a session in which ``parallelism`` tasks run in parallel."""
    own = {"parallelism": parallelism, "__module__": __name__, "__doc__": PaimonDataSource.__doc__}
    return type(PaimonDataSource.__name__, (PaimonDataSource,), own)


@dataclass
class _Splits(datasource.InputPartition):
    """The splits that one task reads, one by one."""

    splits: Sequence[DataSplit]


class PaimonReader(datasource.DataSourceReader):
    """Plans on the driver, reads splits in tasks.

    It accepts no filters: Spark 4 has one reader for all uses of a DataFrame, and each pushdown of filters replaces the
    previous one. A DataFrame that is used with two conditions in one query, or again without a condition, would be read
    with the last ones.
    """

    def __init__(self, table: Table, shown: StructType, *, parallelism: int) -> None:
        self._table = table
        self._shown = shown
        self._parallelism = parallelism
        self._facts: TableFacts = table.facts

    def __getstate__(self) -> dict[str, object]:
        """Leave out the splits: tasks get them one by one, and the rest of the plan with the reader."""
        state = dict(self.__dict__)
        if "_plan" in state:
            state["_plan"] = self._plan.without_splits
        return state

    @cached_property
    def _plan(self) -> Plan:
        return self._table.scan(columns=self._shown.names).plan()

    def partitions(self) -> Sequence[datasource.InputPartition]:
        """Return the splits in groups, one for each task, like ``Lake.table``."""
        scan = self._facts.options.scan
        return [_Splits(group) for group in grouped_splits(self._plan.splits, scan, parallelism=self._parallelism)]

    def read(self, partition: datasource.InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the splits of a task, with exactly the requested columns."""
        if not isinstance(partition, _Splits):
            return  # Spark calls this even if there is nothing to read
        plan = self._plan
        for split in partition.splits:
            for batch in read_planned(self._facts, plan, split):
                yield in_types_of(batch, self._shown)
        settle()


class PaimonWriter(datasource.DataSourceArrowWriter):
    """Each task writes separate files for every bucket of its rows; no task compacts."""

    def __init__(self, table: Table, *, overwrite: bool, made_at: Place | None = None) -> None:
        self._made_at = made_at
        # Several tasks may write to the same bucket, so none of them may compact it.
        self._facts = table.copy({"write-only": "true"}).facts
        self._table = table
        self._overwrite = overwrite
        self._user = fresh_user(table.facts)

    # As in DataSourceArrowWriter. The base class of that class passes rows.
    def write(  # type: ignore[override]  # takes batches
        self, iterator: Iterator[pa.RecordBatch]
    ) -> datasource.WriterCommitMessage:
        """Write the rows of a task to files, which are visible after ``commit``."""
        return written_by(self._write, iterator)

    def _write(self, batches: Iterator[pa.RecordBatch]) -> tuple[CommitMessage, ...]:
        if self._facts.options.write.merge_schema:
            batches = (batch_with_all_columns(batch, self._facts.schema) for batch in batches)
        return write_rows(TableWrite(self._facts, replacing=self._overwrite), batches)

    def commit(self, messages: Sequence[datasource.WriterCommitMessage | None]) -> None:
        """Commit the files of all tasks. If a task failed, raise its error."""
        results = results_of(messages)
        if results.failure is not None:
            raise results.failure
        commit = self._table.new_commit(self._user)
        commit_results(self._table, commit, results, identifier=_ONLY, overwrite=self._overwrite)

    def abort(self, messages: Sequence[datasource.WriterCommitMessage | None]) -> None:
        """Delete the files of all tasks that returned a result, unless the commit succeeded."""
        results = results_of(messages)
        # The table as it was opened: only files of this job are deleted, even if the table was replaced.
        commit = BatchCommit(self._table.facts, self._user)
        # Spark also calls this if something fails after a successful commit.
        if not commit.is_committed(_ONLY):
            commit.abort(results.messages)
            if self._made_at is not None:
                self._made_at.drop()

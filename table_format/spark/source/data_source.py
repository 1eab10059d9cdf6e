"""``spark.read.format("paimon").load(path)`` and ``df.write.format("paimon").mode(...).save(path)``; also as streams.

The façade for code that wants Spark's own reader and writer calls; ``path`` is the directory of a table, or an option
``table`` names it in a ``warehouse``. Spark gives a Python data source neither a shuffle before writing nor column
pruning, and the filters that it pushes are not safe to prune by; ``Lake.write`` and ``Lake.table`` have all of that. So
nothing is compacted here, and tables whose modes need that are written with ``write-only`` = true or not at all.
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
from table_format.options.spark_stream import READ_CHANGELOG
from table_format.options.unread import Reader, refuse_unread
from table_format.spark.source.entries import entry_schema, is_of_entry, options_of, target_options
from table_format.spark.source.places import Place
from table_format.spark.source.read_schema import check_read_schema
from table_format.spark.source.system_reader import system_source
from table_format.spark.source.targets import check_writable, target_of
from table_format.spark.source.time_travel import refuse_time_travel
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
"""The identifier of the one commit of a writer."""


def _table(options: Mapping[str, str]) -> Table:
    """The table that a read names."""
    place = Place.of(options)
    table = place.catalog.load_any(place.name)
    if isinstance(table, SystemTable):
        message = f"'{place.name}' is a system table; read it as a batch"
        raise InvalidInputError(message)
    return table.copy(place.dynamic)


class PaimonDataSource(datasource.DataSource):
    """Registered as ``paimon``, in the form that ``data_source`` gives it."""

    parallelism: ClassVar[int] = os.cpu_count() or 1
    """How many tasks run side by side. The process that plans a read sees no session to ask."""

    @classmethod
    def name(cls) -> str:
        """The name in ``format("paimon")``."""
        return "paimon"

    @cached_property
    def _opened(self) -> Table:
        return _table(self.options)

    def schema(self) -> StructType:
        """The columns of the table, or of the snapshot that the options name, in types of Spark.

        With ``read.changelog`` the row kind comes first, as streaming queries show it.
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
            # A stream may begin with a snapshot to come. A batch read fails when it is planned.
            return facts.schema

    def _named_by(self, schema: StructType) -> Table:
        """The table of the options, or the one that an entry of the session catalog names in its columns."""
        options = options_of(self.options, schema)
        return self._opened if options == dict(self.options) else _table(options)

    def reader(self, schema: StructType) -> datasource.DataSourceReader:
        """A reader of those columns.

        Raises:
            InvalidInputError: a schema of the user's own does not fit the table.
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
        """A writer of one job.

        Raises:
            UnsupportedFeature: the table cannot be written this way.
            InvalidData: the columns do not fit the table.
        """
        refuse_time_travel(self.options, "a write", "leave it out")
        target = target_of(Place.of(target_options(self.options, schema)), schema)
        return PaimonWriter(target.table, overwrite=overwrite, made_at=target.made_at)

    def streamReader(self, schema: StructType) -> PaimonStreamReader:
        """A reader of the changes of the table, in its present columns.

        Raises:
            InvalidInputError: a schema of the user's own does not fit the table.
            UnsupportedFeature: the changes of the table cannot be read as rows.
        """
        refuse_time_travel(
            self.options, "a stream", "use 'scan.mode' with 'scan.snapshot-id' or 'scan.timestamp-millis'"
        )
        table = self._named_by(schema)
        refuse_unread(table.dynamic_options, Reader.SPARK_STREAM)
        check_read_schema(schema, shown_fields(table.facts, schema.names))
        return PaimonStreamReader(table.facts, schema, parallelism=self.parallelism)

    def streamWriter(self, schema: StructType, overwrite: bool) -> PaimonStreamWriter:  # noqa: FBT001
        """A writer of one micro-batch; ``overwrite`` lets it take the place of all rows.

        Raises:
            UnsupportedFeature: the table cannot be written this way, or ``toTable`` names it.
            InvalidInputError: the query has no checkpoint of its own.
            InvalidData: the columns do not fit the table.
        """
        if "path" not in self.options and "table" not in self.options:
            feature = "writeStream.toTable"
            message = (
                f"{feature} is not supported: Spark does not say which table of its catalog is written; use "
                "lake.write_stream, or start(path) with the directory of the table"
            )
            raise UnsupportedFeature(feature, message)
        refuse_time_travel(self.options, "a write", "leave it out")
        table = _table(self.options).current()
        refuse_unread(table.dynamic_options, Reader.WRITE)
        check_writable(table)
        check_frame(schema, table.facts)
        return PaimonStreamWriter(table, user_of_checkpoint(self.options), replacing=overwrite)


def data_source(parallelism: int) -> type[PaimonDataSource]:
    """The data source as a session registers it in which so many tasks run side by side."""
    own = {"parallelism": parallelism, "__module__": __name__, "__doc__": PaimonDataSource.__doc__}
    return type(PaimonDataSource.__name__, (PaimonDataSource,), own)


@dataclass
class _Splits(datasource.InputPartition):
    """The splits that one task reads, one by one."""

    splits: Sequence[DataSplit]


class PaimonReader(datasource.DataSourceReader):
    """Plans on the driver, reads splits in tasks.

    It takes no filters: Spark 4 keeps one reader for all uses of a frame, and each push of filters replaces it. A frame
    that is used with two conditions in one query, or again without one, would be read with those that came last.
    """

    def __init__(self, table: Table, shown: StructType, *, parallelism: int) -> None:
        self._table = table
        self._shown = shown
        self._parallelism = parallelism
        self._facts: TableFacts = table.facts

    def __getstate__(self) -> dict[str, object]:
        """Tasks get the splits one by one, and all other facts of the plan with the reader."""
        state = dict(self.__dict__)
        if "_plan" in state:
            state["_plan"] = self._plan.without_splits
        return state

    @cached_property
    def _plan(self) -> Plan:
        return self._table.scan(columns=self._shown.names).plan()

    def partitions(self) -> Sequence[datasource.InputPartition]:
        """The splits, in groups of which each is for a task, as those of ``Lake.table``."""
        scan = self._facts.options.scan
        return [_Splits(group) for group in grouped_splits(self._plan.splits, scan, parallelism=self._parallelism)]

    def read(self, partition: datasource.InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of the splits of a task, with exactly the columns asked for."""
        if not isinstance(partition, _Splits):
            return  # Spark asks so when there is nothing to read
        plan = self._plan
        for split in partition.splits:
            for batch in read_planned(self._facts, plan, split):
                yield in_types_of(batch, self._shown)
        settle()


class PaimonWriter(datasource.DataSourceArrowWriter):
    """Each task writes separate files for every bucket of its rows; no task compacts."""

    def __init__(self, table: Table, *, overwrite: bool, made_at: Place | None = None) -> None:
        self._made_at = made_at
        # Several tasks write to one bucket here, and none of them may compact it.
        self._facts = table.copy({"write-only": "true"}).facts
        self._table = table
        self._overwrite = overwrite
        self._user = fresh_user(table.facts)

    # As in DataSourceArrowWriter; its own base hands over rows.
    def write(  # type: ignore[override]  # takes batches
        self, iterator: Iterator[pa.RecordBatch]
    ) -> datasource.WriterCommitMessage:
        """Write the rows of a task to files; nothing is visible before ``commit``."""
        return written_by(self._write, iterator)

    def _write(self, batches: Iterator[pa.RecordBatch]) -> tuple[CommitMessage, ...]:
        if self._facts.options.write.merge_schema:
            batches = (batch_with_all_columns(batch, self._facts.schema) for batch in batches)
        return write_rows(TableWrite(self._facts, replacing=self._overwrite), batches)

    def commit(self, messages: Sequence[datasource.WriterCommitMessage | None]) -> None:
        """Make the files of all tasks visible in one commit; raises what stopped one of them."""
        results = results_of(messages)
        if results.failure is not None:
            raise results.failure
        commit = self._table.new_commit(self._user)
        commit_results(self._table, commit, results, identifier=_ONLY, overwrite=self._overwrite)

    def abort(self, messages: Sequence[datasource.WriterCommitMessage | None]) -> None:
        """Delete the files of all tasks that answered, unless the commit has taken effect."""
        results = results_of(messages)
        # As it was opened: what is deleted are files of this job, whatever became of the table.
        commit = BatchCommit(self._table.facts, self._user)
        # Spark also asks for it when the commit has taken effect and something failed after it.
        if not commit.is_committed(_ONLY):
            commit.abort(results.messages)
            if self._made_at is not None:
                self._made_at.drop()

"""``spark.read.format("paimon").load(path)`` and ``df.write.format("paimon").mode(...).save(path)``.

The façade for code that wants Spark's own reader and writer calls; ``path`` is the directory of a table, or an option
``table`` names it in a ``warehouse``. Spark gives a Python data source neither a shuffle before writing nor column
pruning; ``Lake.write`` and ``Lake.table`` have both. So nothing is compacted here, and tables whose modes need that are
written with ``write-only`` = true or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, assert_never

import pyarrow as pa
from pyspark.sql import datasource
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from table_format.catalog.load import load_catalog
from table_format.errors import InvalidInputError, UnsupportedFeature
from table_format.io.paths import database_name_of
from table_format.model.commit import CommitMessage
from table_format.model.predicate import Predicate, conjunction
from table_format.model.split import DataSplit
from table_format.options.bucket_mode import CrossPartition, Dynamic, Fixed, Postponed, Unaware
from table_format.spark.source.pushed_filters import predicate_of
from table_format.spark.tasks.table_work import write_rows
from table_format.spark.tasks.task_results import gather, outcome_of
from table_format.spark.types import spark_schema
from table_format.spark.write.frames import check_frame
from table_format.table.facts import TableFacts
from table_format.table.read.fallback_branch import read_planned
from table_format.table.read.plan import Plan
from table_format.table.system.table import SystemTable
from table_format.table.table import Table
from table_format.table.write.batch_commit import BatchCommit, fresh_user
from table_format.table.write.commit_retries import write_and_commit
from table_format.table.write.table_write import TableWrite

_OWN: Final = frozenset({"path", "table", "warehouse"})

_ONLY: Final = 1
"""The identifier of the one commit of a writer."""


def _table(options: Mapping[str, str]) -> Table:
    """The table that a read or write names. Spark hands over option keys in lower case."""
    dynamic = {key: value for key, value in options.items() if key not in _OWN}
    if "path" in options:
        warehouse, name = _place(options["path"])
    elif "table" in options and "warehouse" in options:
        warehouse, name = options["warehouse"], options["table"]
    else:
        message = "name the table: load(path) with its directory, or the options 'warehouse' and 'table'"
        raise InvalidInputError(message)
    table = load_catalog({"warehouse": warehouse}).load_table(name)
    if isinstance(table, SystemTable):
        message = f"'{name}' shows a table's metadata; read it with Lake.table"
        raise InvalidInputError(message)
    return table.copy(dynamic)


def _place(path: str) -> tuple[str, str]:
    """The warehouse and the name of the table that lies at a path."""
    directory, _, table = path.rstrip("/").rpartition("/")
    warehouse, _, database = directory.rpartition("/")
    name = database_name_of(database)
    if not warehouse or name is None:
        message = f"'{path}' is not the directory of a table, <warehouse>/<database>.db/<table>"
        raise InvalidInputError(message)
    return warehouse, f"{name}.{table}"


def _check_writable(table: Table) -> None:
    """Refuse what needs all rows of a bucket in one task.

    Raises:
        UnsupportedFeature: keys are given their buckets as they come, or a write would have to compact.
    """
    options, way_out = table.options, "write with Lake.write, which brings the rows of a bucket together"
    mode = table.facts.bucket_mode
    match mode:
        case Dynamic():
            feature = "writing dynamic buckets through format('paimon')"
            raise UnsupportedFeature(feature, f"{feature} is not supported: {table.identifier} has them; {way_out}")
        case CrossPartition():
            feature = "writing keys that may change their partition through format('paimon')"
            raise UnsupportedFeature(feature, f"{feature} is not supported: {table.identifier} has them; {way_out}")
        case Fixed() | Unaware() | Postponed():
            pass
        case _:
            assert_never(mode)
    compacts = options.compacts_by_lookup or options.compaction.full_compaction_delta_commits is not None
    if table.schema.is_primary_key_table and compacts and not options.compaction.write_only:
        feature = "compaction by a write through format('paimon')"
        message = f"{feature} is not supported, and {table.identifier} asks for it by its options; {way_out}"
        raise UnsupportedFeature(feature, f"{message}, or with write-only = true and compact afterwards")


class PaimonDataSource(datasource.DataSource):
    """Registered as ``paimon``."""

    @classmethod
    def name(cls) -> str:
        """The name in ``format("paimon")``."""
        return "paimon"

    @cached_property
    def _opened(self) -> Table:
        return _table(self.options)

    def schema(self) -> StructType:
        """The columns of the table in types of Spark."""
        return spark_schema(self._opened.schema.fields)

    def reader(self, schema: StructType) -> datasource.DataSourceReader:
        """A reader of those columns."""
        return PaimonReader(self._opened, [f.name for f in schema.fields])

    def writer(self, schema: StructType, overwrite: bool) -> datasource.DataSourceWriter:  # noqa: FBT001
        """A writer of one job.

        Raises:
            UnsupportedFeature: the table cannot be written this way.
            InvalidData: the columns do not fit the table.
        """
        table = self._opened.current()
        _check_writable(table)
        check_frame(schema, table.facts)
        return PaimonWriter(table, overwrite=overwrite)


@dataclass
class _Split(datasource.InputPartition):
    split: DataSplit


class PaimonReader(datasource.DataSourceReader):
    """Plans on the driver, reads splits in tasks. Pushed filters prune; Spark applies them once more."""

    def __init__(self, table: Table, columns: Sequence[str]) -> None:
        self._table = table
        self._columns = tuple(columns)
        self._predicate: Predicate | None = None
        self._facts: TableFacts = table.facts

    def __getstate__(self) -> dict[str, object]:
        """Tasks get the splits one by one, and all other facts of the plan with the reader."""
        state = dict(self.__dict__)
        if "_plan" in state:
            state["_plan"] = self._plan.without_splits
        return state

    def pushFilters(self, filters: list[datasource.Filter]) -> Iterable[datasource.Filter]:
        """Take the filters that can prune files; Spark applies all of them once more."""
        found = [predicate_of(f, self._table.schema.fields) for f in filters]
        self._predicate = conjunction(tuple(p for p in found if p is not None))
        return filters

    @cached_property
    def _plan(self) -> Plan:
        return self._table.scan(columns=self._columns, filter=self._predicate).plan()

    def partitions(self) -> Sequence[datasource.InputPartition]:
        """The splits, each for a task of its own."""
        return [_Split(split) for split in self._plan.splits]

    def read(self, partition: datasource.InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one split, with exactly the columns asked for."""
        if not isinstance(partition, _Split):
            return  # Spark asks so when there is nothing to read
        plan = self._plan
        # Spark wants exactly this schema, with instants in UTC whatever the session's zone is.
        wanted = to_arrow_schema(spark_schema(plan.fields), timezone="UTC", prefers_large_types=False)
        for batch in read_planned(self._facts, plan, partition.split):
            columns = [column.cast(field.type) for column, field in zip(batch.columns, wanted, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, schema=wanted)


@dataclass
class _Written(datasource.WriterCommitMessage):
    """What a task answers. Its failure becomes one of the commit: then no task is running any more, and all that was
    written is known and deleted.
    """

    messages: bytes | None
    failure: str | None


class PaimonWriter(datasource.DataSourceArrowWriter):
    """Each task writes files of its own for every bucket it meets; none of them compacts."""

    def __init__(self, table: Table, *, overwrite: bool) -> None:
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
        written = _Written(*outcome_of(lambda: self._write(iterator)))
        # After a failure the rest is still to be taken, or the worker cannot serve another task.
        for _ in iterator:
            pass
        return written

    def _write(self, batches: Iterator[pa.RecordBatch]) -> tuple[CommitMessage, ...]:
        return write_rows(TableWrite(self._facts, replacing=self._overwrite), batches)

    def commit(self, messages: Sequence[datasource.WriterCommitMessage | None]) -> None:
        """Make the files of all tasks visible in one commit; raises what stopped one of them."""
        results = gather(message for message in messages if message)
        if results.failure is not None:
            raise results.failure
        commit = self._table.new_commit(self._user)
        publish = commit.overwrite if self._overwrite else commit.commit
        write_and_commit(
            self._table.store,
            commit,
            write=lambda: results.messages,
            publish=lambda written: publish(written, identifier=_ONLY),
            # Spark gives a data source the rows once: it does not run the tasks again for a commit that lost a race.
            is_repeatable=False,
        )

    def abort(self, messages: Sequence[datasource.WriterCommitMessage | None]) -> None:
        """Delete the files of all tasks that answered, unless the commit has taken effect."""
        # Nothing came from a task that died.
        results = gather(message for message in messages if message)
        # As it was opened: what is deleted are files of this job, whatever became of the table.
        commit = BatchCommit(self._table.facts, self._user)
        # Spark also asks for it when the commit has taken effect and something failed after it.
        if not commit.is_committed(_ONLY):
            commit.abort(results.messages)

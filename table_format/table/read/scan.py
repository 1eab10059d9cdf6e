"""Reading a table: which columns, which rows, of which snapshot; planned first, then read in any of several shapes."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from table_format.errors import UnsupportedFeature
from table_format.kernels.first_rows import first_rows
from table_format.metastore.references.expired_reads import retry_if_expired
from table_format.metastore.schema.table_identity import require_same_table
from table_format.model.arguments import name_or_names
from table_format.model.arrow_types import arrow_schema
from table_format.model.predicate import Predicate
from table_format.model.row_order import RowLimit
from table_format.model.schema import TableSchema
from table_format.model.split import DataSplit
from table_format.model.types import DataField
from table_format.options.declare import Operation
from table_format.options.startup import StartupMode, startup_mode
from table_format.table.facts import TableFacts
from table_format.table.read.aggregates import ROW_COUNT, Aggregates, Aggregation, aggregated, row_count
from table_format.table.read.fallback_branch import read_planned, with_fallback
from table_format.table.read.incremental import incremental_plan
from table_format.table.read.limit import limited
from table_format.table.read.order_by import check_order
from table_format.table.read.plan import Plan
from table_format.table.read.split_reader import read_in_order
from table_format.table.read.state_plan import state_plan
from table_format.table.read.time_travel import named_snapshot, starting_point
from table_format.table.rows.arrow_rows import ArrowRows


@dataclass(frozen=True)
class Scan(ArrowRows):
    """One reading of a table; nothing happens before it is planned or read, and it is planned once.

    ``columns`` of ``None`` means all; ``filter`` is SQL text or a predicate. With ``levels`` only what lies on these
    levels is read. ``min_level`` is the lowest level that is read, by default what readers of the table see: 0 shows
    all that was committed, also where level 0 waits for a compaction. ``limit`` is how many rows are wanted, and in
    which order.
    """

    facts: TableFacts
    columns: tuple[str, ...] | None = None
    filter: str | Predicate | None = None
    levels: frozenset[int] | None = None
    min_level: int | None = None
    limit: RowLimit | None = None

    @cached_property
    def _plan(self) -> Plan:
        return _make_plan(self)

    def plan(self) -> Plan:
        """The splits to read; with a limit those that its rows are in, perhaps beside others.

        The plan shows the columns of the scan, and after them those of ``order_by`` that it has not.

        Raises:
            NotFoundError: the snapshot or tag, or a column, does not exist; ``SnapshotExpired`` where it did.
            InvalidFilter: the filter cannot be parsed or does not fit the columns.
            UnsupportedFeature: the table has a feature without which its rows would be wrong.
            SchemaChanged: the table was altered since it was opened, and its old schema would cut values.
            TableNotFound, TableReplaced: it was dropped since it was opened.
        """
        return self._plan

    def read(self, split: DataSplit) -> Generator[pa.RecordBatch]:
        """The rows of one split of the plan, with its columns; what ``limit`` cuts off is cut off by ``to_batches``."""
        return read_planned(self.facts, self._plan, split)

    def to_batches(self, *, threads: int | None = None) -> Generator[pa.RecordBatch]:
        """The rows in batches, with bounded memory; in the order of the splits, or that of ``order_by``.

        ``threads`` bounds how many splits are read side by side; 1 reads on the caller's thread. For ``order_by`` about
        twice as many rows are held as ``limit`` says.
        """
        batches = read_in_order(self._plan.splits, self.read, threads=threads)
        return batches if self.limit is None else self._first(batches, self.limit)

    def _first(self, batches: Generator[pa.RecordBatch], limit: RowLimit) -> Generator[pa.RecordBatch]:
        names = [field.name for field in self._fields]
        with closing(batches):
            for batch in first_rows(batches, limit):
                yield batch.select(names)

    def to_reader(self, *, threads: int | None = None) -> pa.RecordBatchReader:
        """The rows as an Arrow stream with its schema."""
        return pa.RecordBatchReader.from_batches(self.schema, self.to_batches(threads=threads))

    def to_arrow(self, *, threads: int | None = None) -> pa.Table:
        """All rows as one table."""
        return pa.Table.from_batches(self.to_batches(threads=threads), schema=self.schema)

    def aggregate(self, aggregates: Mapping[str, tuple[str, str]], *, group_by: str | None = None) -> Aggregates:
        """Functions of the rows that the filter selects: of all, or of those with each value of ``group_by``.

        ``aggregates`` has a function (``count``, ``sum``, ``min`` or ``max``) and a column, by the name of the result;
        ``("count", "*")`` counts rows. Any column of the table may be named, whatever the scan shows. Null is left
        out, and the sum and the extremes of no value are ``None``. A sum is an ``int`` or a ``Decimal`` of any size.

        Files are not opened where their indexes have the result: see ``Aggregates.explain``.

        >>> table.scan().aggregate({"total": ("sum", "price"), "n": ("count", "*")}, group_by="color")  # doctest: +SKIP

        Raises:
            InvalidInputError: a function that does not exist, or a name that is there twice.
            ColumnNotFound: a column does not exist.
            UnsupportedFeature: the type of a column does not have the function, or the scan has a limit.
            CorruptionError: a file that had to be read is missing or damaged.
        """
        return aggregated(self.facts, *self.aggregation(aggregates, group_by=group_by))

    def aggregation(
        self, aggregates: Mapping[str, tuple[str, str]], *, group_by: str | None = None
    ) -> tuple[Plan, Aggregation]:
        """The plan of an aggregation, which shows the columns it reads, and the aggregation; errors as above."""
        if self.limit is not None:
            feature = "an aggregate of a scan with limit="
            raise UnsupportedFeature(feature)
        schema = shown_schema(self.facts)
        aggregation = Aggregation.of(schema.fields, aggregates, group_by)
        return self._plan.showing(aggregation.columns or _one_column(schema)), aggregation

    def count(self) -> int:
        """The number of rows that the filter selects; errors as for ``aggregate``."""
        return row_count(self.aggregate(ROW_COUNT))

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return arrow_schema(self._fields)

    @property
    def _fields(self) -> tuple[DataField, ...]:
        fields = self._plan.fields
        return fields if self.columns is None else fields[: len(self.columns)]


def _make_plan(scan: Scan) -> Plan:
    facts, limit = scan.facts, scan.limit
    if limit is None:
        return _whole_plan(scan)
    check_order(limit.order, shown_schema(facts).fields)
    columns = scan.columns
    if columns is not None:
        hidden = dict.fromkeys(ordered.column for ordered in limit.order if ordered.column not in columns)
        columns = (*columns, *hidden)
    whole = replace(scan, columns=columns, limit=None)
    # A snapshot that is expired before the indexes were read is planned again, as before.
    return retry_if_expired(lambda: limited(facts, _whole_plan(whole), limit))


def _whole_plan(scan: Scan) -> Plan:
    facts = scan.facts
    require_same_table(facts.store)
    facts.require(Operation.READ)
    if startup_mode(facts.options.raw) is StartupMode.INCREMENTAL:
        if scan.levels is not None:
            feature = "changes of a read-optimized table"
            raise UnsupportedFeature(feature)
        return incremental_plan(facts, scan.columns, scan.filter)
    # A snapshot that is expired while it is planned is gone; the latest of that moment is not.
    return retry_if_expired(
        lambda: with_fallback(
            facts,
            lambda f: state_plan(
                f, starting_point(f), scan.columns, scan.filter, min_level=scan.min_level, levels=scan.levels
            ),
        )
    )


def shown_schema(facts: TableFacts) -> TableSchema:
    """The schema a scan shows rows in: that of the snapshot it travels to, or the table's."""
    if startup_mode(facts.options.raw) is StartupMode.INCREMENTAL:
        return facts.schema
    named = named_snapshot(facts.options.scan, facts)
    return facts.schema if named is None else facts.schemas[named.schema_id]


def columns_argument(columns: Sequence[str] | None) -> tuple[str, ...] | None:
    """Column names as given by a caller; a single text is one name."""
    return None if columns is None else name_or_names(columns, "columns")


def _one_column(schema: TableSchema) -> tuple[str, ...]:
    """A column to count rows by: one of the key, which is read in any case where rows are merged."""
    return (schema.primary_keys or schema.field_names)[:1]

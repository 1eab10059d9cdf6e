"""The class ``Scan``: plans a read of some columns and rows of a snapshot, then returns the rows in several forms."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from table_format.errors import TableFormatError, UnsupportedFeature
from table_format.extras import require
from table_format.kernels.first_rows import first_rows
from table_format.metastore.references.expired_reads import retry_if_expired
from table_format.model.arguments import name_or_names
from table_format.model.arrow_types import arrow_schema
from table_format.model.condition import Filter
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

if TYPE_CHECKING:
    import duckdb
    import polars as pl

    from table_format.table.read.scan_dataset import ScanDataset


@dataclass(frozen=True)
class Scan(ArrowRows):
    """One read of a table. It is lazy: nothing happens before it is planned or read. It is planned only once.

    ``columns`` of ``None`` means all. ``filter`` is SQL text, a condition or a predicate. With ``levels``, only these
    levels are read. ``min_level`` is the lowest level to read, by default the one that readers of the table see; 0
    reads all committed rows, even if level 0 still waits for a compaction. ``limit`` is the number of rows and their
    order.
    """

    facts: TableFacts
    columns: tuple[str, ...] | None = None
    filter: Filter | None = None
    levels: frozenset[int] | None = None
    min_level: int | None = None
    limit: RowLimit | None = None

    def __repr__(self) -> str:
        """The table and what is selected.

        >>> table.scan(["id"], "amount > 15", order_by="amount", limit=5)
        Scan(shop.orders, columns=id, filter='amount > 15', limit=5)
        """
        parts = [self.facts.name]
        parts += [] if self.columns is None else [f"columns={', '.join(self.columns)}"]
        parts += [] if self.filter is None else [f"filter={self.filter!r}"]
        parts += [] if self.limit is None else [f"limit={self.limit.count}"]
        return f"Scan({', '.join(parts)})"

    @cached_property
    def _plan(self) -> Plan:
        with self.facts.explaining_drop():
            return _make_plan(self)

    def plan(self) -> Plan:
        """Return the splits to read. With a limit, these are the splits that may hold its rows.

        The plan has the columns of the scan, followed by missing columns of ``order_by``.

        >>> plan = table.scan(filter="day = '2026-01-02'").plan()
        >>> plan.snapshot.id, len(plan.splits), plan.row_count
        (2, 1, 1)

        Raises:
            NotFoundError: a snapshot, tag or column does not exist; ``SnapshotExpired`` if it has expired.
            InvalidFilter: the filter cannot be parsed or does not fit the columns.
            UnsupportedFeature: the table has an unsupported feature that affects its rows.
            SchemaChanged: the table has been altered since it was loaded, and its old schema would truncate values.
            TableNotFound, TableReplaced: the table has been dropped since it was loaded.
        """
        return self._plan

    def read(self, split: DataSplit) -> Generator[pa.RecordBatch]:
        """Return the rows of one split of the plan, with the plan's columns. Only ``to_batches`` applies ``limit``.

        >>> scan = table.scan(columns=["id"])
        >>> [batch.num_rows for split in scan.plan().splits for batch in scan.read(split)]
        [2, 1]
        """
        return read_planned(self.facts, self._plan, split)

    def to_batches(self, *, threads: int | None = None) -> Generator[pa.RecordBatch]:
        """Return the rows in batches, with bounded memory, in the order of the splits or of ``order_by``.

        ``threads`` is the largest number of splits to read in parallel; 1 reads on the caller's thread. With
        ``order_by``, about twice ``limit`` rows are held in memory.

        >>> sum(batch.num_rows for batch in table.scan().to_batches())
        3
        """
        batches = read_in_order(self._plan.splits, self.read, threads=threads)
        return batches if self.limit is None else self._first(batches, self.limit)

    def _first(self, batches: Generator[pa.RecordBatch], limit: RowLimit) -> Generator[pa.RecordBatch]:
        names = [field.name for field in self._fields]
        with closing(batches):
            for batch in first_rows(batches, limit):
                yield batch.select(names)

    def to_reader(self, *, threads: int | None = None) -> pa.RecordBatchReader:
        """Return the rows as an Arrow stream with its schema.

        >>> table.scan(columns=["id"]).to_reader().schema.names
        ['id']
        """
        return pa.RecordBatchReader.from_batches(self.schema, self.to_batches(threads=threads))

    def to_arrow(self, *, threads: int | None = None) -> pa.Table:
        """Return all rows as one Arrow table.

        >>> table.scan(columns=["id"], filter=col("amount") > 10).to_arrow().to_pylist()
        [{'id': 2}, {'id': 3}]
        """
        return pa.Table.from_batches(self.to_batches(threads=threads), schema=self.schema)

    def to_dataset(self) -> ScanDataset:
        """Return the rows as an Arrow dataset. Engines push columns and filters down into it. The snapshot is chosen
        now.

        Changes, scans with ``limit`` and tables with a fallback branch are planned now, without pushdown.

        >>> table.scan().to_dataset().to_table(columns=["id"]).num_rows
        3

        Raises:
            NotFoundError, InvalidFilter, UnsupportedFeature: as for ``plan``.
        """
        # pyarrow.dataset takes longer to import than the rest of pyarrow, and few programs use it.
        from table_format.table.read.scan_dataset import dataset_of_batches, dataset_of_state

        is_state = startup_mode(self.facts.options.raw) is not StartupMode.INCREMENTAL
        if is_state and self.limit is None and self.facts.options.scan.fallback_branch is None:
            return dataset_of_state(self.facts, self.columns, self.filter, min_level=self.min_level, levels=self.levels)
        return dataset_of_batches(self._fields, self.to_batches)

    def to_polars_lazy(self) -> pl.LazyFrame:
        """Return the rows as a polars LazyFrame. Columns and filters of a query are pushed down into the scan.

        >>> import polars as pl
        >>> table.scan().to_polars_lazy().filter(pl.col("id") < 3).select("amount").sum().collect().item()
        30

        Raises:
            PackageMissing: polars is not installed.
            NotFoundError, InvalidFilter, UnsupportedFeature: as for ``plan``.
        """
        require("polars")
        from table_format.table.read.polars_source import lazy_frame  # as above

        return lazy_frame(self.to_dataset())

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyRelation:
        """Return the rows as a DuckDB relation of a connection, by default DuckDB's default connection.

        Columns and filters of a query are pushed down into the scan. The snapshot is chosen now; each query reads it
        again.

        >>> table.scan().to_duckdb().filter("id = 1").project("amount").fetchall()
        [(10,)]

        Raises:
            PackageMissing: duckdb is not installed.
            NotFoundError, InvalidFilter, UnsupportedFeature: as for ``plan``.
        """
        return (connection or require("duckdb")).from_arrow(self.to_dataset())

    def aggregate(self, aggregates: Mapping[str, tuple[str, str]], *, group_by: str | None = None) -> Aggregates:
        """Aggregate the rows that the filter selects: all together, or by the values of ``group_by``.

        ``aggregates`` maps each result name to a function (``count``, ``sum``, ``min`` or ``max``) and a column;
        ``("count", "*")`` counts rows. You can name any column of the table, even if the scan does not select it.
        Nulls are ignored; ``sum``, ``min`` and ``max`` of no values are ``None``. A sum is an ``int`` or a
        ``Decimal`` of any size. Files whose indexes have the result are not opened: see ``Aggregates.explain``.

        >>> found = table.scan().aggregate({"total": ("sum", "amount"), "n": ("count", "*")}, group_by="state")
        >>> sorted((row["state"], row["total"], row["n"]) for row in found.rows)
        [('new', 40, 2), ('paid', 20, 1)]

        Raises:
            InvalidInputError: a function does not exist, or a name is used twice.
            ColumnNotFound: a column does not exist.
            UnsupportedFeature: the function does not support the type of a column, or the scan has a limit.
            CorruptionError: a file that had to be read is missing or damaged.
        """
        return aggregated(self.facts, *self.aggregation(aggregates, group_by=group_by))

    def aggregation(
        self, aggregates: Mapping[str, tuple[str, str]], *, group_by: str | None = None
    ) -> tuple[Plan, Aggregation]:
        """Return the aggregation and its plan, which has the columns that it reads; raises the errors of ``aggregate``.

        >>> plan, aggregation = table.scan().aggregation({"total": ("sum", "amount")})
        >>> [field.name for field in plan.fields]
        ['amount']
        """
        if self.limit is not None:
            feature = "an aggregate of a scan with limit"
            raise UnsupportedFeature(feature)
        schema = shown_schema(self.facts)
        aggregation = Aggregation.of(schema.fields, aggregates, group_by)
        return self._plan.showing(aggregation.columns or _one_column(schema)), aggregation

    def count(self) -> int:
        """Return the number of rows that the filter selects; raises the errors of ``aggregate``.

        >>> table.scan(filter="state = 'new'").count()
        2
        """
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
    # If the snapshot expires before the indexes are read, plan again.
    return retry_if_expired(lambda: limited(facts, _whole_plan(whole), limit))


def _whole_plan(scan: Scan) -> Plan:
    facts = scan.facts
    facts.require(Operation.READ)
    if startup_mode(facts.options.raw) is StartupMode.INCREMENTAL:
        if scan.levels is not None:
            feature = "changes of a read-optimized table"
            raise UnsupportedFeature(feature)
        facts.require_same_schema()
        plan = incremental_plan(facts, scan.columns, scan.filter)
        facts.require_same_schema()  # its snapshots may be those of a fast-forward that came after the first check
        return plan
    # A snapshot that expires during planning is gone; the latest snapshot is not.
    return retry_if_expired(
        lambda: with_fallback(
            facts,
            lambda f: _plan_of_state(f, scan),
        )
    )


def _plan_of_state(facts: TableFacts, scan: Scan) -> Plan:
    try:
        start = starting_point(facts)
        return state_plan(facts, start, scan.columns, scan.filter, min_level=scan.min_level, levels=scan.levels)
    except TableFormatError:
        facts.require_same_schema()  # after a fast-forward to other schemas, nothing fits
        raise


def shown_schema(facts: TableFacts) -> TableSchema:
    """Return the schema of the rows: that of the time-travel snapshot, or that of the table."""
    if startup_mode(facts.options.raw) is StartupMode.INCREMENTAL:
        return facts.schema
    named = named_snapshot(facts.options.scan, facts)
    return facts.schema if named is None else facts.schemas[named.schema_id]


def columns_argument(columns: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return column names from an argument; a single text is one name."""
    return None if columns is None else name_or_names(columns, "columns")


def _one_column(schema: TableSchema) -> tuple[str, ...]:
    """Return a column for counting rows: one of the key, which merging reads anyway."""
    return (schema.primary_keys or schema.field_names)[:1]

"""The scan of a format table: chosen partitions, files and columns, then the rows that fulfil the filter."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from table_format.extras import require
from table_format.format_table.directories import Directories
from table_format.format_table.files import Files
from table_format.formats.nested import empty_columns
from table_format.kernels.first_rows import first_rows
from table_format.kernels.predicate import in_partition, matches, normalise
from table_format.kernels.values import array_of
from table_format.model.arrow_calls import repeat
from table_format.model.arrow_types import arrow_schema
from table_format.model.condition import Filter
from table_format.model.predicate import Literal, Predicate, columns_of, conjunction
from table_format.model.row_order import RowLimit
from table_format.model.schema import TableSchema
from table_format.model.types import DataField, InternalValue
from table_format.table.read.filters import bound_filter
from table_format.table.read.split_reader import read_in_order
from table_format.table.rows.arrow_rows import ArrowRows

if TYPE_CHECKING:
    import duckdb
    import polars as pl

    from table_format.table.read.scan_dataset import ScanDataset


class FormatFile(NamedTuple):
    """A file to read, and the values of the partition columns of its rows."""

    path: str
    partition: tuple[InternalValue, ...]


class FormatPlan(NamedTuple):
    """The files to read, each of which is a split."""

    splits: tuple[FormatFile, ...]


@dataclass(frozen=True)
class FormatScan(ArrowRows):
    """A scan of a format table. Directories are listed when the rows are read.

    ``columns`` of ``None`` means all. ``limit`` is the largest number of rows.
    """

    name: str
    table: TableSchema
    directories: Directories
    files: Files
    columns: tuple[str, ...] | None = None
    filter: Filter | None = None
    limit: RowLimit | None = None

    def __repr__(self) -> str:
        parts = [self.name]
        parts += [] if self.columns is None else [f"columns={', '.join(self.columns)}"]
        parts += [] if self.filter is None else [f"filter={self.filter!r}"]
        parts += [] if self.limit is None else [f"limit={self.limit.count}"]
        return f"FormatScan({', '.join(parts)})"

    @cached_property
    def fields(self) -> tuple[DataField, ...]:
        """The columns of the rows."""
        return self.table.fields if self.columns is None else self.table.select(self.columns)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return arrow_schema(self.fields)

    def plan(self) -> FormatPlan:
        """Return the files to read: those in the partitions that the filter selects.

        Raises:
            ColumnNotFound, InvalidFilter: the filter does not fit the columns. InvalidData: the name of a directory is
            not a value of its partition column.
        """
        found = self.directories.find(self._predicate)
        files = (FormatFile(path, each.values) for each in found for path in self.directories.files(each.path))
        return FormatPlan(tuple(files))

    def read(self, file: FormatFile) -> Generator[pa.RecordBatch]:
        """Return the rows of one file of the plan. Only ``to_batches`` applies ``limit``."""
        table, condition = self.table, self._predicate
        if condition is not None:
            condition = in_partition(condition, table.partition_fields, file.partition)
        if isinstance(condition, Literal):
            if not condition.value:
                return
            condition = None
        names = {field.name for field in self.fields} | (columns_of(condition) if condition else frozenset())
        stored = [field for field in self.files.columns if field.name in names]
        constants = [
            (field, value)
            for field, value in zip(table.partition_fields, file.partition, strict=True)
            if field.name in names
        ]
        for batch in self.files.read(file.path, stored):
            arrays = [*batch.columns, *(_repeated(value, field, batch.num_rows) for field, value in constants)]
            fields = [*stored, *(field for field, _ in constants)]
            yield self._selected(arrays, fields, condition, batch.num_rows)

    def split_reader(self) -> Callable[[FormatFile], Generator[pa.RecordBatch]]:
        """Return the function that reads one file, also in other processes."""
        return self.read

    def to_batches(self, *, threads: int | None = None) -> Generator[pa.RecordBatch]:
        """Return the rows in batches, in the order of the names of the files.

        ``threads`` is the largest number of files to read in parallel.

        Raises:
            BadEncoding: a file is damaged. InvalidData: a value does not fit its column. The errors of ``plan``.
        """
        batches = read_in_order(self.plan().splits, self.read, threads=threads)
        if self.limit is None:
            yield from batches
            return
        with closing(batches):
            yield from first_rows(batches, self.limit)

    def to_reader(self, *, threads: int | None = None) -> pa.RecordBatchReader:
        """Return the rows as an Arrow stream with its schema."""
        return pa.RecordBatchReader.from_batches(self.schema, self.to_batches(threads=threads))

    def to_arrow(self, *, threads: int | None = None) -> pa.Table:
        """Return all rows as one Arrow table."""
        return pa.Table.from_batches(self.to_batches(threads=threads), schema=self.schema)

    def to_dataset(self) -> ScanDataset:
        """Return the rows as an Arrow dataset. See ``Scan.to_dataset``."""
        # pyarrow.dataset takes longer to import than the rest of pyarrow, and few programs use it.
        from table_format.table.read.scan_dataset import ScanDataset, dataset_of_batches

        if self.limit is not None:
            return dataset_of_batches(self.fields, self.to_batches)

        def read(needed: tuple[str, ...], pruning: Predicate | None) -> Generator[pa.RecordBatch]:
            both = conjunction(tuple(part for part in (self._predicate, pruning) if part is not None))
            return replace(self, columns=needed, filter=both).to_batches()

        return ScanDataset(self.fields, read)

    def to_polars_lazy(self) -> pl.LazyFrame:
        """Return the rows as a polars LazyFrame; see ``Scan.to_polars_lazy``.

        Raises:
            PackageMissing: polars is not installed.
        """
        require("polars")
        from table_format.table.read.polars_source import lazy_frame  # as above

        return lazy_frame(self.to_dataset())

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyRelation:
        """Return the rows as a DuckDB relation of a connection, by default DuckDB's default connection.

        Raises:
            PackageMissing: duckdb is not installed.
        """
        return (connection or require("duckdb")).from_arrow(self.to_dataset())

    def count(self) -> int:
        """Return the number of rows that the filter selects."""
        return sum(batch.num_rows for batch in replace(self, columns=()).to_batches())

    @cached_property
    def _predicate(self) -> Predicate | None:
        found = bound_filter(self.filter, self.table.fields)
        return None if found is None else normalise(found)

    def _selected(
        self, arrays: Sequence[pa.Array], fields: Sequence[DataField], condition: Predicate | None, rows: int
    ) -> pa.RecordBatch:
        """Return the rows that fulfil a condition, with the columns of the scan."""
        by_name = {field.name: array for field, array in zip(fields, arrays, strict=True)}
        names = [field.name for field in self.fields]
        chosen = None
        if condition is not None:
            chosen = matches(condition, pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(fields)), fields)
            rows = chosen.true_count
        if not names:
            return empty_columns(rows)
        batch = pa.RecordBatch.from_arrays([by_name[name] for name in names], schema=self.schema)
        return batch if chosen is None else batch.filter(chosen)


def _repeated(value: InternalValue, field: DataField, rows: int) -> pa.Array:
    return repeat(array_of([value], field.type)[0], rows)

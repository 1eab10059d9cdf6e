"""Reading a table: which columns, which rows, of which snapshot; planned first, then read in any of several shapes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import pyarrow as pa

from table_format.errors import InvalidData, UnsupportedFeature
from table_format.io.paths import POSTPONE_BUCKET
from table_format.kernels.hashing import row_hashes
from table_format.kernels.pruning import may_match
from table_format.kernels.values import array_of
from table_format.metastore.changes import DELETION_VECTORS
from table_format.metastore.file_bounds import FileBounds
from table_format.metastore.file_filter import FileFilter
from table_format.metastore.plan import live_files
from table_format.model.arrow_types import arrow_schema
from table_format.model.data_file import DataFileMeta
from table_format.model.predicate import Compare, CompareOp, In, Predicate, columns_of, conjuncts
from table_format.model.schema import TableSchema
from table_format.model.split import DataSplit
from table_format.model.types import DataField, DoubleType, FloatType, InternalValue
from table_format.options.declare import Operation
from table_format.options.table_options import TableOptions
from table_format.table.facts import TableFacts
from table_format.table.filters import bound_filter
from table_format.table.plan import Plan
from table_format.table.read import read_in_order, read_split
from table_format.table.splits import make_splits
from table_format.table.time_travel import starting_point

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl

MAX_BUCKET_KEYS = 4096
"""Combinations of bucket key values that are hashed to find buckets; beyond, all buckets are read."""


@dataclass(frozen=True)
class Scan:
    """One reading of a table; nothing happens before it is planned or read, and it is planned once.

    ``columns`` of ``None`` means all; ``filter`` is SQL text or a predicate.
    """

    facts: TableFacts
    columns: tuple[str, ...] | None = None
    filter: str | Predicate | None = None

    @cached_property
    def _plan(self) -> Plan:
        return _make_plan(self)

    def plan(self) -> Plan:
        """The splits to read.

        Raises:
            NotFoundError: the snapshot or tag, or a column, does not exist.
            InvalidFilter: the filter cannot be parsed or does not fit the columns.
            UnsupportedFeature: the table has a feature without which its rows would be wrong.
        """
        return self._plan

    def read(self, split: DataSplit) -> Generator[pa.RecordBatch]:
        """The rows of one split of the plan."""
        plan = self._plan
        store, options = self.facts.store, self.facts.options
        return read_split(store, plan.schemas, plan.schema, options, split, plan.fields, plan.predicate)

    def to_batches(self, *, threads: int | None = None) -> Generator[pa.RecordBatch]:
        """The rows in batches, with bounded memory; in the order of the splits.

        ``threads`` bounds how many splits are read side by side; 1 reads on the caller's thread.
        """
        return read_in_order(self._plan.splits, self.read, threads=threads)

    def to_reader(self, *, threads: int | None = None) -> pa.RecordBatchReader:
        """The rows as an Arrow stream with its schema."""
        return pa.RecordBatchReader.from_batches(self.schema, self.to_batches(threads=threads))

    def to_arrow(self, *, threads: int | None = None) -> pa.Table:
        """All rows as one table."""
        return pa.Table.from_batches(self.to_batches(threads=threads), schema=self.schema)

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a pandas DataFrame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """All rows as a polars DataFrame."""
        import polars as pl  # an optional extra

        frame = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)  # noqa: S101 - a table becomes a frame
        return frame

    def to_duckdb(self) -> duckdb.DuckDBPyRelation:
        """All rows as a relation of duckdb's default connection."""
        import duckdb  # an optional extra

        return duckdb.from_arrow(self.to_arrow())

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return arrow_schema(self._plan.fields)


def _make_plan(scan: Scan) -> Plan:
    facts = scan.facts
    facts.require(Operation.READ)
    start = starting_point(facts)
    schema = start.schema
    fields = schema.fields if scan.columns is None else schema.select(scan.columns)
    predicate = bound_filter(scan.filter, schema.fields)
    plan = partial(Plan, table=facts.name, snapshot=start.snapshot, schema=schema, fields=fields, predicate=predicate)
    if start.snapshot is None:
        return plan()
    for index in facts.manifests.index_entries(start.snapshot):
        if index.index_file.index_type == DELETION_VECTORS:
            feature = "deletion vectors"
            message = (
                f"snapshot {start.snapshot.id} of {facts.name} has deletion vectors, which this version cannot read"
            )
            raise UnsupportedFeature(feature, message)
    wanted = FileFilter.of(schema, predicate, key_hashes=bucket_key_hashes(schema, predicate))
    found = live_files(facts.manifests, start.snapshot, schema=schema, schemas=facts.schemas, filter=wanted)
    # Postponed rows are not part of the table until a compaction gives them their bucket.
    entries = [entry for entry in found.entries if entry.bucket != POSTPONE_BUCKET]
    splits = make_splits(
        entries,
        schema,
        facts.options.scan,
        snapshot_id=start.snapshot.id,
        may_match=_file_test(predicate, schema, facts),
    )
    kept = [file for split in splits for file in split.files]
    counts = replace(
        found.counts,
        files=len(kept),
        files_dropped_by_value_stats=found.counts.files_dropped_by_value_stats + len(entries) - len(kept),
    )
    needed = sorted({file.schema_id for file in kept})
    return plan(splits=splits, counts=counts, schemas={schema_id: facts.schemas[schema_id] for schema_id in needed})


def _file_test(predicate: Predicate | None, schema: TableSchema, facts: TableFacts) -> Callable[[DataFileMeta], bool]:
    """Whether the statistics of a file admit a row that the predicate selects."""
    if predicate is None:
        return lambda _file: True
    bounds = FileBounds(schema, facts.schemas, columns_of(predicate))
    return lambda file: may_match(predicate, bounds.of_values(file))


def bucket_key_hashes(schema: TableSchema, predicate: Predicate | None) -> frozenset[int] | None:
    """The hashes a row's bucket key can have, when the predicate fixes every column of it; ``None`` when not."""
    if TableOptions.parse(schema.options).bucket.function != "default":
        return None
    fields = schema.select(schema.bucket_keys)
    choices = [_values_of(field, predicate) for field in fields]
    if not choices or any(values is None for values in choices):
        return None
    sets = [values for values in choices if values is not None]
    if prod(len(values) for values in sets) > MAX_BUCKET_KEYS:
        return None
    rows = list(product(*sets))
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(fields)
    try:
        arrays = [array_of(column, field.type) for column, field in zip(columns, fields, strict=True)]
    except InvalidData:
        return None  # a value finer than the type: it is in no bucket, which the filter itself finds out
    return frozenset(row_hashes([field.type for field in fields], arrays).tolist())


def _values_of(field: DataField, predicate: Predicate | None) -> tuple[InternalValue, ...] | None:
    """The values a column may have under a conjunction; of several conditions the strictest."""
    # 0.0 and -0.0 are equal and hash differently; NaN has many forms.
    if isinstance(field.type, FloatType | DoubleType):
        return None
    found: tuple[InternalValue, ...] | None = None
    for part in conjuncts(predicate):
        match part:
            case Compare(column=column, op=CompareOp.EQ, value=value) if column == field.name:
                values: tuple[InternalValue, ...] = (value,)
            case In(column=column, values=values) if column == field.name:
                pass
            case _:
                continue
        if found is None or len(values) < len(found):
            found = values
    return found


def columns_argument(columns: Sequence[str] | None) -> tuple[str, ...] | None:
    """Column names as given by a caller; a single text is one name."""
    if columns is None:
        return None
    return (columns,) if isinstance(columns, str) else tuple(columns)

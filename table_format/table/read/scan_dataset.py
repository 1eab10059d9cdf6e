"""A scan as an Arrow dataset, into which engines push the columns and filters of a query.

DuckDB and polars request a scanner with columns and an expression. If this library understands the expression, it
prunes partitions, buckets, files and row groups. The expression is always applied to the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import NoReturn, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from table_format.codecs.substrait_filter import PushedFilter, pushed_filter
from table_format.errors import UnsupportedFeature
from table_format.model.arrow_types import arrow_schema
from table_format.model.condition import Filter
from table_format.model.predicate import Predicate, conjunction
from table_format.model.types import DataField
from table_format.options.declare import Operation
from table_format.table.facts import TableFacts
from table_format.table.read.fallback_branch import read_planned
from table_format.table.read.filters import bound_filter
from table_format.table.read.split_reader import read_in_order
from table_format.table.read.state_plan import state_plan
from table_format.table.read.time_travel import checked_starting_point

Read: TypeAlias = Callable[[tuple[str, ...], Predicate | None], Generator[pa.RecordBatch]]
"""Returns the rows with these columns. Some rows that do not match the predicate may be missing."""


class ScanDataset(ds.Dataset):
    """The rows of one state of a table. Each scanner reads them again.

    >>> import pyarrow.compute as pc
    >>> dataset = table.scan().to_dataset()
    >>> dataset.to_table(columns=["id"], filter=pc.field("amount") > 20).to_pylist()
    [{'id': 3}]
    """

    def __init__(self, fields: Sequence[DataField], read: Read) -> None:
        self._fields = tuple(fields)
        self._read = read

    @property
    def fields(self) -> tuple[DataField, ...]:
        """The columns of the rows."""
        return self._fields

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return arrow_schema(self._fields)

    def batches(self, columns: Sequence[str] | None, pruning: Predicate | None) -> pa.RecordBatchReader:
        """Return the rows with these columns, by default all. Some rows that do not match the predicate may be
        missing. For an empty list of columns, the rows have one column, for counting.
        """
        fields = self._fields
        if columns is not None:
            fields = tuple(field for field in fields if field.name in columns) or fields[:1]
        batches = self._read(tuple(field.name for field in fields), pruning)
        return pa.RecordBatchReader.from_batches(arrow_schema(fields), batches)

    def scanner(  # type: ignore[override]  # Arrow's own options are taken as they come
        self,
        columns: Sequence[str] | Mapping[str, pc.Expression] | None = None,
        filter: pc.Expression | None = None,
        **_options: object,
    ) -> ds.Scanner:
        """Return a scanner of some columns, or of named expressions, and of the rows that match the filter.

        Other options of Arrow's scanners, such as batch_size, have no effect. ``to_table``, ``to_batches``, ``head``
        and ``take`` of Arrow's datasets use this method.
        """
        named = dict(columns) if isinstance(columns, Mapping) else None if columns is None else list(columns)
        pushed = PushedFilter(None, ()) if filter is None else self._pushed(filter)
        # Expressions, and filters that cannot be parsed, may need any column.
        needed = None if pushed is None or not isinstance(named, list) else [*named, *pushed.columns]
        rows = self.batches(needed, None if pushed is None else pushed.predicate)
        return ds.Scanner.from_batches(rows, columns=named, filter=filter)

    def count_rows(  # type: ignore[override]  # as above
        self, filter: pc.Expression | None = None, **_options: object
    ) -> int:
        """Return the number of rows that match the filter."""
        return int(self.scanner([], filter).count_rows())

    @property
    def partition_expression(self) -> NoReturn:
        """Not supported."""
        self._refuse()

    def _refuse(self, *_arguments: object, **_named: object) -> NoReturn:
        """Raise an error. Otherwise Arrow would crash the process, because there is no C++ dataset."""
        feature = "fragments, joins and filters of a dataset of a table"
        raise UnsupportedFeature(feature, f"{feature} are not supported; use scanner, to_table or to_batches")

    filter = get_fragments = join = join_asof = replace_schema = sort_by = _refuse

    def _pushed(self, expression: pc.Expression) -> PushedFilter | None:
        """Return the filter of an expression; ``None`` if it cannot be parsed and may need any column."""
        try:
            return pushed_filter(bytes(expression.to_substrait(self.schema, allow_arrow_extensions=True)), self._fields)
        except (pa.ArrowException, ValueError):
            return None


def dataset_of_state(
    facts: TableFacts,
    columns: Sequence[str] | None,
    filter: Filter | None,
    *,
    min_level: int | None,
    levels: frozenset[int] | None,
) -> ScanDataset:
    """Return a dataset of the state that the table options name. The snapshot is fixed now; each query is planned
    later.

    Raises:
        NotFoundError: the snapshot or tag, or a column, does not exist.
        InvalidFilter: the filter cannot be parsed or does not fit the columns.
        UnsupportedFeature: the table has a feature without which its rows would be wrong.
    """
    facts.require(Operation.READ)
    start = checked_starting_point(facts)
    fields = start.schema.fields if columns is None else start.schema.select(columns)
    own = bound_filter(filter, start.schema.fields)

    def read(needed: tuple[str, ...], pruning: Predicate | None) -> Generator[pa.RecordBatch]:
        both = conjunction(tuple(part for part in (own, pruning) if part is not None))
        plan = state_plan(facts, start, needed, both, min_level=min_level, levels=levels)
        return read_in_order(plan.splits, lambda split: read_planned(facts, plan, split))

    return ScanDataset(fields, read)


def dataset_of_batches(fields: Sequence[DataField], batches: Callable[[], Iterator[pa.RecordBatch]]) -> ScanDataset:
    """Return a dataset of all rows that a function reads, without pushdown."""

    def read(needed: tuple[str, ...], _pruning: Predicate | None) -> Generator[pa.RecordBatch]:
        return (batch.select(needed) for batch in batches())

    return ScanDataset(fields, read)

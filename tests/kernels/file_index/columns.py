"""Columns of every type that can have an index, conditions on them, and indexes over them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from table_format.kernels.file_index import INDEX_TYPES
from table_format.kernels.file_index.conditions import condition_of
from table_format.kernels.file_index.payload import Payload
from table_format.kernels.file_index.protocol import IndexReader
from table_format.kernels.file_index.results import IndexResult, Leaf, evaluate, narrowed
from table_format.kernels.predicate import matches
from table_format.kernels.values import values_of
from table_format.model.arrow_types import arrow_schema, arrow_type
from table_format.model.file_index import bit_slices_hold
from table_format.model.predicate import And, Compare, CompareOp, In, IsNull, Not, Or, Predicate, columns_of
from table_format.model.types import (
    DataField,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    LocalZonedTimestampType,
    TimestampType,
)
from tests.support.typed_values import SCALARS, values_of_type

ROW_INDEXES = ("bitmap", "bsi", "range-bitmap")
SMALL: Mapping[str, tuple[Mapping[str, object], ...]] = {
    "bitmap": ({}, {"version": 1}, {"index-block-size": 1}, {"index-block-size": 60}),
    "bsi": ({},),
    "range-bitmap": ({}, {"chunk-size": 0}, {"chunk-size": 24}),
    "bloom-filter": ({"items": 40, "fpp": 0.001},),
}
"""Settings with which few values make several blocks and chunks."""
MORE_TYPES = [TimestampType(9), LocalZonedTimestampType(7)]


def built(index: str, data_type: DataType, column: pa.Array, settings: Mapping[str, object] | None = None) -> bytes:
    """The index of a column that comes in two pieces."""
    builder = INDEX_TYPES[index].builder(data_type, settings or {})
    builder.add(column.slice(0, len(column) // 3))
    builder.add(column.slice(len(column) // 3))
    payload = builder.finish()
    assert payload is not None
    return payload


def reader_of(index: str, data_type: DataType, payload: bytes, row_count: int) -> IndexReader:
    reader = INDEX_TYPES[index].reader(Payload.of(payload, path="f"), data_type, row_count)
    assert reader is not None
    return reader


@dataclass(frozen=True)
class Indexed:
    """Columns ``a`` and ``b`` and the indexes over each."""

    fields: tuple[DataField, ...]
    batch: pa.RecordBatch
    readers: Mapping[str, tuple[IndexReader, ...]]

    def evaluate(self, predicate: Predicate) -> IndexResult:
        types = {field.name: field.type for field in self.fields}

        def leaf(condition: Leaf) -> IndexResult:
            (column,) = columns_of(condition)
            prepared = condition_of(condition, types[column])
            assert prepared is not None or isinstance(condition, Not | Compare | In)
            return narrowed(r.evaluate(prepared) for r in self.readers[column] if prepared is not None)

        return evaluate(predicate, leaf)

    def matching_rows(self, predicate: Predicate) -> set[int]:
        mask = matches(predicate, self.batch, self.fields).to_pylist()
        return {row for row, is_match in enumerate(mask) if is_match}


def is_held(index: str, data_type: DataType, value: Any) -> bool:
    """Whether an index over a column with that value can be made."""
    if index != "bsi" or value is None:
        return True
    return bit_slices_hold(value, data_type)


@lru_cache(1024)
def column_values(data_type: DataType) -> st.SearchStrategy[list[Any]]:
    """Values with repetitions, extremes and nulls; timestamps as numbers."""
    values = values_of_type(data_type)
    match data_type:
        case FloatType() | DoubleType():
            values = values | st.sampled_from([math.nan, 0.0, -0.0, math.inf, -math.inf, 1.5])
        case TimestampType() | LocalZonedTimestampType() if data_type.precision > 6:
            values = values | st.integers(0, 3000)
    few = st.lists(values, min_size=1, max_size=4).flatmap(lambda pool: st.lists(st.sampled_from(pool), max_size=40))
    return few | st.lists(values, max_size=40)


def literals(data_type: DataType, column: pa.Array) -> st.SearchStrategy[Any]:
    """Internal values: those of the column, others of its type, and some between two of its values."""
    present = [value for value in values_of(column, data_type) if value is not None]
    others = values_of_type(data_type).filter(lambda v: v is not None)
    kinds = [others.map(lambda v: values_of(pa.array([v], arrow_type(data_type)), data_type)[0])]
    kinds += [st.sampled_from(present)] if present else []
    match data_type:
        case FloatType() | DoubleType():
            kinds.append(st.floats() | st.sampled_from([0.1, 1e300, -1e300, math.nan, -0.0]))
        case DecimalType():
            kinds.append(st.integers(-(10**6), 10**6).map(lambda v: Decimal(v) / 1000))
        case TimestampType() | LocalZonedTimestampType():
            kinds.append(st.integers(-(10**10), 10**10))
    return st.one_of(kinds)


def leaves(name: str, data_type: DataType, column: pa.Array) -> st.SearchStrategy[Predicate]:
    value = literals(data_type, column)
    ops = [CompareOp.EQ, CompareOp.NE, CompareOp.LT, CompareOp.LE, CompareOp.GT, CompareOp.GE]
    between = st.tuples(value, value).map(
        lambda pair: And((Compare(name, CompareOp.GE, pair[0]), Compare(name, CompareOp.LE, pair[1])))
    )
    return st.one_of(
        st.builds(Compare, st.just(name), st.sampled_from(ops), value),
        st.lists(value, max_size=5).map(lambda values: In(name, tuple(values))),
        st.lists(value, max_size=5).map(lambda values: Not(In(name, tuple(values)))),
        st.sampled_from([IsNull(name), Not(IsNull(name))]),
        between,
    )


@cache
def types_of(index: str, *, more: bool = False) -> st.SearchStrategy[DataType]:
    """Types that the index supports."""
    types = SCALARS | st.sampled_from(MORE_TYPES) if more else SCALARS
    return types.filter(INDEX_TYPES[index].declaration.supports)


@st.composite
def indexed_column(draw: st.DrawFn, index: str) -> tuple[DataType, pa.Array, bytes]:
    """A column of a type that the index supports, and its index."""
    data_type = draw(types_of(index, more=True))
    values = [value for value in draw(column_values(data_type)) if is_held(index, data_type, value)]
    column = pa.array(values, arrow_type(data_type), from_pandas=False)
    return data_type, column, built(index, data_type, column, draw(st.sampled_from(SMALL[index])))


@st.composite
def indexed_columns(draw: st.DrawFn) -> tuple[Indexed, Predicate]:
    """Two columns with one or two indexes each, and a predicate over them."""
    rows = draw(st.integers(0, 30))
    fields, columns, readers, parts = [], [], {}, []
    for number, name in enumerate("ab"):
        index = draw(st.sampled_from(ROW_INDEXES))
        data_type = draw(types_of(index))
        others = [other for other in INDEX_TYPES if INDEX_TYPES[other].declaration.supports(data_type)]
        chosen = {index, draw(st.sampled_from(others))}
        pool = [None, *draw(st.lists(values_of_type(data_type), max_size=6))]
        pool = [value for value in pool if all(is_held(each, data_type, value) for each in chosen)]
        column = pa.array(draw(st.lists(st.sampled_from(pool), min_size=rows, max_size=rows)), arrow_type(data_type))
        readers[name] = tuple(
            reader_of(each, data_type, built(each, data_type, column, draw(st.sampled_from(SMALL[each]))), rows)
            for each in sorted(chosen)
        )
        fields.append(DataField(number, name, data_type))
        columns.append(column)
        parts.append(leaves(name, data_type, column))
    predicate = draw(
        st.recursive(
            st.one_of(parts),
            lambda inner: st.one_of(
                st.lists(inner, min_size=1, max_size=3).map(lambda p: And(tuple(p))),
                st.lists(inner, min_size=1, max_size=3).map(lambda p: Or(tuple(p))),
                inner.map(Not),
            ),
            max_leaves=5,
        )
    )
    batch = pa.RecordBatch.from_arrays(columns, schema=arrow_schema(fields))
    return Indexed(tuple(fields), batch, readers), predicate

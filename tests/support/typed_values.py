"""Hypothesis strategies for types of the format and Arrow columns of them, nested and null."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from table_format.model.arrow_types import arrow_type
from table_format.model.types import (
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataField,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)

_TICKS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799
_FIRST_NANO_SECOND, _LAST_NANO_SECOND = -9_223_372_036, 9_223_372_035
_MILLIS_PER_DAY = 86_400_000
_TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)

SCALARS: st.SearchStrategy[DataType] = st.one_of(
    st.sampled_from(
        [
            BooleanType(),
            TinyIntType(),
            SmallIntType(),
            IntType(),
            BigIntType(),
            FloatType(),
            DoubleType(),
            VarCharType(),
            CharType(12),
            BinaryType(3),
            VarBinaryType(),
            DateType(),
            TimeType(3),
        ]
    ),
    st.integers(1, 38).flatmap(lambda p: st.integers(0, p).map(lambda s: DecimalType(p, s))),
    st.integers(0, 6).map(TimestampType),
    st.integers(0, 6).map(LocalZonedTimestampType),
)


def nested(children: st.SearchStrategy[DataType]) -> st.SearchStrategy[DataType]:
    keys = SCALARS.filter(lambda t: not isinstance(t, FloatType | DoubleType)).map(lambda t: t.with_nullable(False))
    return st.one_of(
        children.map(lambda t: ArrayType(t)),
        st.builds(MapType, keys, children),
        keys.map(lambda t: MultisetType(t)),
        st.lists(children, min_size=1, max_size=3).map(
            lambda types: RowType(tuple(DataField(50 + i, f"f{i}", t) for i, t in enumerate(types)))
        ),
    )


TYPES: st.SearchStrategy[DataType] = st.recursive(
    st.tuples(SCALARS, st.booleans()).map(lambda pair: pair[0].with_nullable(pair[1])),
    lambda children: st.tuples(nested(children), st.booleans()).map(lambda pair: pair[0].with_nullable(pair[1])),
    max_leaves=4,
)


@lru_cache(1024)
def values_of_type(data_type: DataType) -> st.SearchStrategy[Any]:
    """Values as Arrow takes them, timestamps as numbers; null now and then where it may be."""
    values = _values(data_type)
    return st.none() | values if data_type.nullable else values


def _values(data_type: DataType) -> st.SearchStrategy[Any]:  # noqa: C901 - one line for each type
    match data_type:
        case BooleanType():
            return st.booleans()
        case TinyIntType() | SmallIntType() | IntType() | BigIntType():
            half = 1 << arrow_type(data_type).bit_width - 1
            return st.integers(-half, half - 1)
        case FloatType():
            return st.floats(width=32, allow_nan=False)
        case DoubleType():
            return st.floats(allow_nan=False)
        case CharType():
            # ORC takes the spaces at its end for padding.
            return _TEXTS.map(lambda text: text.rstrip(" "))
        case VarCharType():
            return _TEXTS
        case BinaryType(length=length):
            return st.binary(min_size=length, max_size=length)
        case VarBinaryType():
            return st.binary(max_size=12)
        case DecimalType(precision=precision, scale=scale):
            largest = 10**precision - 1
            return st.integers(-largest, largest).map(lambda v: Decimal((int(v < 0), _digits(v), -scale)))
        case DateType():
            return st.integers(-719_162, 2_932_896)
        case TimeType():
            return st.integers(0, _MILLIS_PER_DAY - 1)
        case TimestampType() | LocalZonedTimestampType():
            return _timestamps(arrow_type(data_type).unit)
        case ArrayType(element=element):
            return st.lists(values_of_type(element), max_size=3)
        case MapType(key=key, value=value):
            return _maps(key, value)
        case MultisetType(element=element):
            return _maps(element, IntType(nullable=False))
        case RowType(fields=fields):
            return st.fixed_dictionaries({f.name: values_of_type(f.type) for f in fields})
    raise AssertionError(data_type)


def _maps(key: DataType, value: DataType) -> st.SearchStrategy[Any]:
    entries = st.tuples(values_of_type(key), values_of_type(value))
    return st.lists(entries, max_size=3, unique_by=lambda entry: entry[0])


def _timestamps(unit: str) -> st.SearchStrategy[int]:
    first, last = (_FIRST_NANO_SECOND, _LAST_NANO_SECOND) if unit == "ns" else (_FIRST_SECOND, _LAST_SECOND)
    per_second = _TICKS[unit]
    # Before 1970 whole milliseconds only: those are what ORC files can hold.
    step = max(per_second // 1000, 1)
    early = st.integers(first * per_second // step, 0).map(lambda v: v * step)
    return early | st.integers(0, last * per_second + per_second - 1)


def _digits(value: int) -> tuple[int, ...]:
    return tuple(map(int, str(abs(value))))


@st.composite
def columns_of_type(draw: st.DrawFn) -> tuple[DataType, pa.Array]:
    """A type and a column of it, perhaps a slice of a longer one."""
    data_type = draw(TYPES)
    values = draw(st.lists(values_of_type(data_type), min_size=1, max_size=12))
    array = pa.array(values, arrow_type(data_type))
    return data_type, array.slice(draw(st.integers(0, len(values) - 1)))

"""Filters that Spark pushes into a Python data source, as predicates of the library."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import datasource

from table_format.kernels.values import values_of
from table_format.model.arrow_types import arrow_type
from table_format.model.predicate import Compare, CompareOp, In, IsNull, Not, Predicate
from table_format.model.types import NESTED, DataField, DataType, FloatingType, InternalValue

_FIRST_SAFE_YEAR: Final = 1900
"""Calendars differ before 1582, and zones had odd offsets until the end of the 19th century."""

_COMPARISONS: tuple[tuple[type[datasource.Filter], CompareOp], ...] = (
    (datasource.EqualTo, CompareOp.EQ),
    (datasource.GreaterThan, CompareOp.GT),
    (datasource.GreaterThanOrEqual, CompareOp.GE),
    (datasource.LessThan, CompareOp.LT),
    (datasource.LessThanOrEqual, CompareOp.LE),
    (datasource.StringStartsWith, CompareOp.STARTS_WITH),
    (datasource.StringEndsWith, CompareOp.ENDS_WITH),
    (datasource.StringContains, CompareOp.CONTAINS),
)


def predicate_of(pushed: datasource.Filter, fields: Sequence[DataField]) -> Predicate | None:
    """The predicate a filter stands for; ``None`` where it cannot be said exactly, since it only prunes."""
    if isinstance(pushed, datasource.Not):
        inner = predicate_of(pushed.child, fields)
        return None if inner is None else Not(inner)
    path = getattr(pushed, "attribute", ())
    field = next((f for f in fields if path == (f.name,)), None)
    if field is None or isinstance(field.type, NESTED):
        return None
    match pushed:
        case datasource.IsNull():
            return IsNull(field.name)
        case datasource.IsNotNull():
            return Not(IsNull(field.name))
        case datasource.In():
            values = [_value(v, field.type) for v in pushed.value if v is not None]
            return None if None in values else In(field.name, tuple(values))
        case _:
            pass
    for kind, op in _COMPARISONS:
        if isinstance(pushed, kind):
            value = _value(getattr(pushed, "value", None), field.type)
            # To Spark, NaN is the largest number.
            may_be_nan = isinstance(field.type, FloatingType) and op in (CompareOp.GT, CompareOp.GE)
            return None if value is None or may_be_nan else Compare(field.name, op, value)
    return None


def _value(value: object, data_type: DataType) -> InternalValue:
    """The internal value; ``None`` where it is not certainly the one in the query.

    Spark hands over dates and times in a calendar of its own, in which those of former centuries are others. It takes
    NaN for a number that equals itself.
    """
    if isinstance(value, dt.date) and value.year < _FIRST_SAFE_YEAR:
        return None
    if isinstance(value, float) and math.isnan(value):
        return None
    try:
        return values_of(pa.array([value], arrow_type(data_type)), data_type)[0]
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return None

"""Converts internal values (``table_format.model.types``) to Arrow arrays and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

import pyarrow as pa

from table_format.errors import InvalidData
from table_format.model.arrow_types import arrow_type, timestamp_unit
from table_format.model.types import (
    NESTED,
    AnyTimestampType,
    DataType,
    DateType,
    InternalValue,
    TimeType,
)

_NANOS: Final = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


def array_of(values: Sequence[InternalValue], t: DataType) -> pa.Array:
    """Return an array of ``arrow_type(t)`` with these values; values of nested types must be null.

    >>> from table_format.model.types import TimestampType
    >>> array_of([1_000_000, None], TimestampType(3))[0].as_py()
    datetime.datetime(1970, 1, 1, 0, 0, 0, 1000)

    Raises:
        InvalidData: a value is invalid for the type, or more precise than the type.
    """
    arrow = arrow_type(t)
    try:
        if isinstance(t, AnyTimestampType):
            values = [None if v is None else _in_unit(v, _NANOS[timestamp_unit(t.precision)]) for v in values]
        return pa.array(values, arrow)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as e:
        message = f"expected values of {t}: {e}"
        raise InvalidData(message) from e


def values_of(array: pa.Array, t: DataType) -> list[InternalValue]:
    """Return the internal values of an array of ``arrow_type(t)``.

    >>> from table_format.model.types import TimestampType
    >>> values_of(pa.array([1, None], pa.timestamp("us")), TimestampType(6))
    [1000, None]

    Raises:
        InvalidData: the array has another Arrow type, or contains nested values.
    """
    if array.type != arrow_type(t) or (isinstance(t, NESTED) and array.null_count != len(array)):
        message = f"expected an Arrow array of {arrow_type(t)} for {t}, found {array.type}"
        raise InvalidData(message)
    match t:
        case DateType() | TimeType():
            return cast("list[InternalValue]", array.view(pa.int32()).to_pylist())
        case AnyTimestampType():
            nanos = _NANOS[array.type.unit]
            return [None if v is None else v * nanos for v in array.view(pa.int64()).to_pylist()]
    return cast("list[InternalValue]", array.to_pylist())


def _in_unit(value: InternalValue, nanos: int) -> int:
    if not isinstance(value, int):
        message = f"{value!r} is not a number of nanoseconds"
        raise TypeError(message)
    whole, rest = divmod(value, nanos)
    if rest:
        message = f"the precision of the type is too low for {value} nanoseconds"
        raise ValueError(message)
    return whole

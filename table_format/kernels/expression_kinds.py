"""The kinds of values in expressions: implicit conversions to a common kind, and explicit casts.

Numbers are converted to the wider kind, decimals exactly. Text, dates and numbers are never mixed. A cast is supported
only if it works for every value of a kind; a FLOAT, for example, cannot be cast to text, which Java formats in its own
way. As in SQL engines on Java, a DOUBLE has the decimal digits with which it is shown: 1.005 is rounded to 1.01.
"""

from __future__ import annotations

import math
import typing
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from table_format.errors import InvalidExpression
from table_format.model.arrow_types import arrow_type, described
from table_format.model.types import DataType, DecimalType

Value: TypeAlias = pa.Array | pa.Scalar

DIGITS: Final = 76
"""The precision of the widest decimal in Arrow's arithmetic, twice that of columns."""

_WHOLE_DIGITS: Final = 19
_EXACT: Final = Context(prec=700, rounding=ROUND_HALF_UP)
"""Has room for the digits of every DOUBLE."""
_DIGITS: Final = pa.decimal256(76, 38)
"""Has room for the digits of most."""


def plain(array: pa.Array) -> pa.Array:
    """Return the same values in a type that expressions support: dictionaries, large types and views are converted."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = typing.cast("pa.DictionaryArray", array).dictionary_decode()
    if pa.types.is_large_string(array.type) or pa.types.is_string_view(array.type):
        return array.cast(pa.string())
    if pa.types.is_large_binary(array.type) or pa.types.is_binary_view(array.type):
        return array.cast(pa.binary())
    return array


def is_number(found: pa.DataType) -> bool:
    """Return whether the type is numeric."""
    return bool(pa.types.is_integer(found) or pa.types.is_floating(found) or pa.types.is_decimal(found))


def numeric(*values: Value) -> tuple[Value, ...]:
    """Convert numbers to one kind: 64-bit, decimals of the widest type, or DOUBLE."""
    known = [v.type for v in values if not pa.types.is_null(v.type)]
    for found in known:
        if not is_number(found):
            message = f"expected a number, found a value of the Arrow type {found}"
            raise InvalidExpression(message)
    if any(pa.types.is_floating(t) for t in known):
        return tuple(floating(v, pa.float64()) for v in values)
    if not any(pa.types.is_decimal(t) for t in known):
        return tuple(v.cast(pa.int64()) for v in values)
    return tuple(wide(v) for v in values)


def floating(value: Value, target: pa.DataType, *, safe: bool = True) -> Value:
    """Convert numbers to the nearest FLOAT or DOUBLE. If ``safe``, an integer that would be rounded is an error.

    >>> floating(pa.scalar(Decimal("0.3")), pa.float64()).as_py()
    0.3
    """
    if pa.types.is_decimal(value.type):
        # Arrow divides by a power of ten, which misses the nearest value: 0.3 becomes 0.30000000000000004.
        value = value.cast(pa.string())
    return value.cast(target, safe=safe)


def rounded_floats(value: Value, scale: int) -> Value:
    """Round the decimal digits of FLOAT or DOUBLE values, half away from zero."""
    digits = _digits(value)
    if digits is not None:
        return floating(pc.round(digits, scale, round_mode="half_towards_infinity"), value.type)
    return _each(value, value.type, lambda number: float(_rounded(number, scale)) if math.isfinite(number) else number)


def _digits(value: Value) -> Value | None:
    """Return the decimal digits with which numbers are shown; ``None`` if one is too large, too small or not finite."""
    try:
        return value.cast(pa.float64()).cast(pa.string()).cast(_DIGITS)
    except pa.ArrowInvalid:
        return None


def _each(value: Value, target: pa.DataType, convert: Callable[[float], object]) -> Value:
    if isinstance(value, pa.Scalar):
        number = value.as_py()
        return pa.scalar(None if number is None else convert(number), target)
    return pa.array([None if number is None else convert(number) for number in value.to_pylist()], target)


def _rounded(number: float, scale: int) -> Decimal:
    return Decimal(repr(number)).quantize(Decimal(1).scaleb(-scale), context=_EXACT)


def wide(value: Value) -> Value:
    """Convert an integer or decimal to a wide decimal, to avoid overflows."""
    if pa.types.is_decimal(value.type):
        return value.cast(pa.decimal256(value.type.precision, value.type.scale))
    if pa.types.is_integer(value.type):
        value = value.cast(pa.int64())
    return value.cast(pa.decimal256(_WHOLE_DIGITS, 0))


def alike(*values: Value) -> tuple[Value, ...]:
    """Convert values that are compared, or belong to one column, to one type."""
    types = {v.type for v in values if not pa.types.is_null(v.type)}
    if not types:
        return values
    if len(types) == 1:
        common = types.pop()
    elif all(is_number(t) for t in types):
        values = numeric(*values)
        common = _widest([v.type for v in values])
    elif all(_is_time_line(t) for t in types) and len({_zoned(t) for t in types}) == 1:
        common = _finest([t for t in types if pa.types.is_timestamp(t)])
    else:
        message = f"values of different types are combined: {' and '.join(sorted(map(described, types)))}; cast them"
        raise InvalidExpression(message)
    return tuple(v if v.type == common else v.cast(common) for v in values)


def _is_time_line(found: pa.DataType) -> bool:
    return bool(pa.types.is_date(found) or pa.types.is_timestamp(found))


def _zoned(found: pa.DataType) -> bool:
    return pa.types.is_timestamp(found) and found.tz is not None


def _finest(stamps: list[pa.DataType]) -> pa.DataType:
    if not stamps:
        return pa.date32()
    known = typing.cast("list[pa.TimestampType]", stamps)
    return pa.timestamp(max((t.unit for t in known), key=("s", "ms", "us", "ns").index), known[0].tz)


def _widest(types: list[pa.DataType]) -> pa.DataType:
    decimals = [t for t in types if pa.types.is_decimal(t)]
    if not decimals:
        return types[0]
    scale = max(t.scale for t in decimals)
    whole = max(t.precision - t.scale for t in decimals)
    return pa.decimal256(min(whole + scale, DIGITS), scale)


def _kind(found: pa.DataType) -> str:
    for name, test in _KINDS.items():
        if test(found):
            return name
    return str(found)


_KINDS: Final[Mapping[str, Callable[[pa.DataType], bool]]] = {
    "null": pa.types.is_null,
    "boolean": pa.types.is_boolean,
    "number": is_number,
    "text": pa.types.is_string,
    "date": pa.types.is_date,
    "timestamp": lambda found: pa.types.is_timestamp(found) and found.tz is None,
}
_CASTS: Final = frozenset(
    {
        ("number", "number"),
        ("text", "number"),
        ("text", "date"),
        ("text", "timestamp"),
        ("text", "boolean"),
        ("text", "text"),
        ("boolean", "boolean"),
        ("boolean", "text"),
        ("date", "text"),
        ("date", "date"),
        ("date", "timestamp"),
        ("timestamp", "date"),
        ("timestamp", "timestamp"),
    }
)


def cast(value: Value, data_type: DataType) -> Value:
    """Cast a value. Coarser types round half away from zero; integers cut the fraction.

    Raises:
        InvalidExpression: the cast is not supported.
    """
    target = arrow_type(data_type)
    found, wanted = _kind(value.type), _kind(target)
    is_printed_whole = pa.types.is_integer(value.type) and wanted == "text"
    if found != "null" and (found, wanted) not in _CASTS and not is_printed_whole:
        message = f"a cast from {described(value.type)} to {data_type} is not supported"
        raise InvalidExpression(message)
    if (found, wanted) == ("number", "number"):
        if pa.types.is_floating(target):
            return floating(value, target, safe=False)
        if isinstance(data_type, DecimalType) and pa.types.is_floating(value.type):
            return _floats_to_decimals(value, data_type)
        if isinstance(data_type, DecimalType) and pa.types.is_decimal(value.type):
            value = pc.round(wide(value), data_type.scale, round_mode="half_towards_infinity")
        elif pa.types.is_integer(target) and not pa.types.is_integer(value.type):
            value = pc.trunc(value)
        elif isinstance(data_type, DecimalType) and pa.types.is_integer(value.type):
            value = wide(value)
        return value.cast(target)
    # Casts of a timestamp to a date or to a coarser timestamp lose a part intentionally.
    return value.cast(target, safe=found not in ("timestamp", "date"))


def _floats_to_decimals(value: Value, target: DecimalType) -> Value:
    digits = _digits(value)
    if digits is not None:
        return pc.round(digits, target.scale, round_mode="half_towards_infinity").cast(arrow_type(target))

    def convert(number: float) -> Decimal:
        if not math.isfinite(number):
            message = f"{number} cannot be cast to {target}"
            raise InvalidExpression(message)
        return _rounded(number, target.scale)

    return _each(value, arrow_type(target), convert)

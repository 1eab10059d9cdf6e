"""Casts values of an old column type to the new type (format chapter 02, section 6; Java ``CastExecutors``).

Results are the same as in Java: integers wrap around, decimals that do not fit become null, and strings are cut to the
new length. Types with local time zone are cast as if the session's zone were UTC. ``cast_of`` is called before anything
is read, so a missing cast fails the read as a whole, not at some row.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Final, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_format.codecs.java_floats import float_text
from table_format.errors import InvalidData
from table_format.formats import java_text
from table_format.formats.nested_text import nested_to_text
from table_format.model.arrow_calls import arrow_array, frombuffer
from table_format.model.arrow_types import arrow_type, timestamp_unit
from table_format.model.types import (
    MAX_LENGTH,
    AnyTimestampType,
    BigIntType,
    BinaryType,
    BooleanType,
    BytesType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatingType,
    FloatType,
    IntegerType,
    InternalValue,
    IntType,
    LocalZonedTimestampType,
    TextType,
    TimestampType,
    TimeType,
    VarBinaryType,
    VarCharType,
)

Cast: TypeAlias = Callable[[pa.Array], pa.Array]
BoundCast: TypeAlias = Callable[[InternalValue], InternalValue]

_SECONDS_INTEGERS: Final = (IntType, BigIntType)
_EXACT: Final = Context(prec=200, rounding=ROUND_HALF_UP)
_MAX_DIGITS: Final = 38
_COMPACT_DIGITS: Final = 18
_MILLIS_PER_DAY: Final = 86_400_000
_NANOS_PER_DAY: Final = 86_400_000_000_000
_UNITS_PER_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_FRACTION_DIGITS: Final = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def cast_of(source: DataType, target: DataType) -> Cast | None:
    """Return the cast between two types, or ``None`` if there is none. Nullability does not matter."""
    cast = _between(source, target)
    if cast is None:
        return None

    def checked(array: pa.Array) -> pa.Array:
        try:
            return cast(array)
        except (pa.ArrowInvalid, ValueError, OverflowError) as error:
            message = f"a value of type {source} cannot be cast to {target}: {error}"
            raise InvalidData(message) from error

    return checked


def bound_cast_of(source: DataType, target: DataType) -> BoundCast | None:
    """Return the cast for a minimum or maximum, or ``None`` if the cast does not preserve the order of all values."""
    match source, target:
        case _ if source.not_null() == target.not_null():
            return _unchanged
        case IntegerType(), IntegerType():
            return _unchanged if source.bits <= target.bits else None
        case (IntegerType(), DoubleType()):
            return lambda value: value if value is None else float(value)
        case (IntegerType(), FloatType()):
            return lambda value: value if value is None else float(np.float32(value))
        case FloatType(), DoubleType():
            return _unchanged
        case DecimalType(), DecimalType() if target.holds(source):
            return _unchanged
        case VarCharType(length=old), VarCharType(length=new):
            return _unchanged if old <= new else None
        case VarBinaryType(length=old), VarBinaryType(length=new):
            return _unchanged if old <= new else None
        case (TimestampType(precision=old), TimestampType(precision=new)):
            return _unchanged if old <= new else None
        case (LocalZonedTimestampType(precision=old), LocalZonedTimestampType(precision=new)):
            return _unchanged if old <= new else None
        case DateType(), TimestampType():
            return lambda value: value * _NANOS_PER_DAY if isinstance(value, int) else None
    return None


def _unchanged(value: InternalValue) -> InternalValue:
    return value


def _between(source: DataType, target: DataType) -> Cast | None:
    if isinstance(target, TextType):
        return _to_text(source, target)
    if isinstance(source, TextType):
        return _from_text(target)
    match target:
        case BooleanType():
            return _simple(target) if isinstance(source, IntegerType) else None
        case DecimalType():
            return _to_decimal(source, target)
        case BytesType():
            return _fit_bytes(target) if isinstance(source, BytesType) else None
        case DateType():
            return _to_date(source) if isinstance(source, AnyTimestampType) else None
        case TimeType():
            return _to_time if isinstance(source, AnyTimestampType | TimeType) else None
        case AnyTimestampType():
            return _to_timestamp(source, target)
    return _to_number(source, target) if isinstance(target, IntegerType | FloatingType) else None


# --- numbers --------------------------------------------------------------------------------------------------------


def _simple(target: DataType) -> Cast:
    arrow = arrow_type(target)
    return lambda array: array.cast(arrow, safe=False)


def _to_number(source: DataType, target: IntegerType | FloatingType) -> Cast | None:
    if isinstance(source, IntegerType):
        return _simple(target)
    if isinstance(source, BooleanType):
        return lambda array: array.cast(pa.int8()).cast(arrow_type(target))
    if isinstance(source, FloatingType):
        return _simple(target) if isinstance(target, FloatingType) else lambda array: _floats_to_integers(array, target)
    if isinstance(source, DecimalType):
        if isinstance(target, FloatingType):
            return lambda array: _decimals_to_doubles(array, source).cast(arrow_type(target), safe=False)
        return lambda array: _by_value(array, target, lambda value: _wrapped(int(value), target.bits))
    if isinstance(source, AnyTimestampType) and isinstance(target, _SECONDS_INTEGERS):
        return lambda array: _seconds(array).cast(arrow_type(target), safe=False)
    return None


def _floats_to_integers(array: pa.Array, target: DataType) -> pa.Array:
    """Narrow floats as Java does: NaN becomes 0, large values the maximum; narrow types take the low bits of an int."""
    values = array.fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64)
    width = np.int64 if isinstance(target, BigIntType) else np.int32
    limits = np.iinfo(width)
    with np.errstate(invalid="ignore"):
        whole = np.nan_to_num(values, nan=0.0).astype(width)
    whole[values >= float(limits.max)] = limits.max
    whole[values <= float(limits.min)] = limits.min
    return arrow_array(whole, mask=_nulls(array)).cast(arrow_type(target), safe=False)


def _decimals_to_doubles(array: pa.Array, source: DecimalType) -> pa.Array:
    if source.precision > _COMPACT_DIGITS:
        return _by_value(array, DoubleType(), float)
    scaled = array.cast(pa.decimal128(_MAX_DIGITS, source.scale)).view(pa.binary(16))
    words = frombuffer(scaled.buffers()[1], np.int64)[scaled.offset * 2 :][: len(array) * 2 : 2]
    return arrow_array(words / float(10**source.scale), mask=_nulls(array))


def _to_decimal(source: DataType, target: DecimalType) -> Cast | None:
    arrow = arrow_type(target)
    if isinstance(source, BooleanType):
        return lambda array: _by_value(array, target, lambda value: _fit_decimal(Decimal(int(value)), target))
    if isinstance(source, DecimalType):
        if target.holds(source):
            return lambda array: array.cast(arrow)
        return lambda array: _by_value(array, target, lambda value: _fit_decimal(value, target))
    if isinstance(source, IntegerType):
        if target.precision - target.scale >= source.digits:
            return lambda array: array.cast(arrow)
        return lambda array: _by_value(array, target, lambda value: _fit_decimal(Decimal(value), target))
    if isinstance(source, FloatingType):
        return lambda array: _by_value(
            array, target, lambda value: _fit_decimal(_EXACT.create_decimal(repr(value)), target)
        )
    return None


def _fit_decimal(value: Decimal, target: DecimalType) -> Decimal | None:
    """Return the value rounded half up to the scale, or ``None`` if it has too many digits before the decimal point.

    Raises:
        ValueError: the value is not finite.
    """
    if not value.is_finite():
        raise ValueError(str(value))
    if value and value.adjusted() >= target.precision:
        return None
    rounded = value.quantize(Decimal(1).scaleb(-target.scale), context=_EXACT)
    return rounded if len(rounded.as_tuple().digits) <= target.precision else None


def _wrapped(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


# --- text and bytes -------------------------------------------------------------------------------------------------


def _to_text(source: DataType, target: TextType) -> Cast | None:
    text: Cast
    match source:
        case TextType():
            text = _same
        case BytesType():
            # Java ignores the new length here.
            return _simple(VarCharType())
        case IntegerType() | BooleanType():
            text = _simple(VarCharType())
        case FloatingType():
            single = isinstance(source, FloatType)
            text = _each_to_text(lambda value: float_text(value, single=single))
        case DecimalType():
            text = _each_to_text(lambda value: format(value, "f"))
        case DateType() | TimeType() | AnyTimestampType():
            # Java casts these only to STRING.
            return _datetime_to_text(source) if getattr(target, "length", None) == MAX_LENGTH else None
        case _:
            # Java ignores the new length here too.
            return nested_to_text(source, lambda part: _to_text(part, VarCharType()))
    return lambda array: _fit_text(text(array), target)


def _datetime_to_text(source: DataType) -> Cast:
    match source:
        case TimeType(precision=precision):
            return lambda array: _each_to_text(lambda v: java_text.time_text(v, precision))(array.cast(pa.int32()))
        case AnyTimestampType(precision=precision):
            return lambda array: _timestamps_to_text(array, precision)
    return lambda array: array.cast(pa.string())


def _timestamps_to_text(array: pa.Array, precision: int) -> pa.Array:
    text = array.view(pa.timestamp(array.type.unit)).cast(pa.string())
    spare = _FRACTION_DIGITS[array.type.unit] - precision
    return pc.replace_substring_regex(text, f"0{{1,{spare}}}$", "") if spare else text


def _each_to_text(make: Callable[..., str]) -> Cast:
    return lambda array: arrow_array([None if v is None else make(v) for v in array.to_pylist()], pa.string())


def _fit_text(array: pa.Array, target: TextType) -> pa.Array:
    if target.length < MAX_LENGTH:
        array = pc.utf8_slice_codeunits(array, 0, target.length)
    if isinstance(target, CharType):
        array = pc.utf8_rpad(array, target.length, " ")
    return array


def _from_text(target: DataType) -> Cast | None:
    parse: Callable[[str], object]
    match target:
        case BytesType():
            fit = _fit_bytes(target)
            return lambda array: fit(array.cast(pa.binary()))
        case DecimalType():
            parse = lambda text: _fit_decimal(_EXACT.create_decimal(text), target)  # noqa: E731
        case FloatingType():
            parse = java_text.parse_float
        case BooleanType():
            parse = java_text.parse_boolean
        case DateType():
            parse = java_text.parse_date
        case TimeType():
            parse = java_text.parse_time
        case AnyTimestampType(precision=precision):
            unit = 1_000_000_000 // _UNITS_PER_SECOND[timestamp_unit(precision)]
            read = java_text.parse_timestamp if isinstance(target, TimestampType) else java_text.parse_moment
            parse = lambda text: read(text, precision) // unit  # noqa: E731
        case IntegerType():
            parse = lambda text: java_text.parse_integer(text, target.bits)  # noqa: E731
        case _:
            return None
    return lambda array: _parse_distinct(array, target, parse)


def _parse_distinct(array: pa.Array, target: DataType, parse: Callable[[str], object]) -> pa.Array:
    encoded = array.dictionary_encode()
    values = []
    for text in cast("list[str]", encoded.dictionary.to_pylist()):
        try:
            values.append(parse(text))
        except (ValueError, InvalidOperation) as error:
            message = f"'{text}' is not a value of {target}"
            raise ValueError(message) from error
    return arrow_array(values, arrow_type(target)).take(encoded.indices)


def _fit_bytes(target: BytesType) -> Cast:
    length = target.length
    if isinstance(target, BinaryType):
        return lambda array: _by_value(array, target, lambda value: value[:length].ljust(length, b"\0"))
    return lambda array: array if length == MAX_LENGTH else pc.binary_slice(array, 0, length)


# --- dates and times ------------------------------------------------------------------------------------------------


def _to_timestamp(source: DataType, target: AnyTimestampType) -> Cast | None:
    arrow = arrow_type(target)
    plain = pa.timestamp(timestamp_unit(target.precision))
    match source:
        case AnyTimestampType():
            return lambda array: _to_precision(array, target).cast(plain).view(arrow)
        case DateType():
            return lambda array: array.cast(plain).view(arrow)
        case TimeType():
            return lambda array: (
                array.cast(pa.int32()).cast(pa.int64()).view(pa.timestamp("ms")).cast(plain, safe=False).view(arrow)
            )
        case IntType() | BigIntType():
            return lambda array: array.cast(pa.int64()).view(pa.timestamp("s")).cast(plain).view(arrow)
    return None


def _to_precision(array: pa.Array, target: AnyTimestampType) -> pa.Array:
    """Cut the digits that the new precision lacks: floor down to milliseconds, and truncate towards zero below."""
    unit = array.type.unit
    digits = _FRACTION_DIGITS[unit]
    plain = array.view(pa.timestamp(unit))
    if target.precision >= digits:
        return plain
    values = plain.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    floored_to = max(target.precision, min(3, digits))
    step = 10 ** (digits - floored_to)
    values = values // step * step
    step = 10 ** (digits - target.precision)
    values = values - np.fmod(values, step)
    return arrow_array(values, mask=_nulls(array)).view(plain.type)


def _to_date(source: AnyTimestampType) -> Cast:
    # For a TIMESTAMP, Java divides the milliseconds towards zero: before 1970, a part of a day is dropped.
    whole = np.trunc if isinstance(source, TimestampType) else np.floor

    def cast_days(array: pa.Array) -> pa.Array:
        days = whole(_to_millis(array) / _MILLIS_PER_DAY)
        return arrow_array(days.astype(np.int32), mask=_nulls(array)).view(pa.date32())

    return cast_days


def _to_time(array: pa.Array) -> pa.Array:
    if not pa.types.is_timestamp(array.type):
        return array
    millis = _to_millis(array) % _MILLIS_PER_DAY
    return arrow_array(millis.astype(np.int32), mask=_nulls(array)).view(pa.time32("ms"))


def _seconds(array: pa.Array) -> pa.Array:
    millis = _to_millis(array)
    return arrow_array((millis - np.fmod(millis, 1000)) // 1000, mask=_nulls(array))


def _to_millis(array: pa.Array) -> np.ndarray:
    per_second = _UNITS_PER_SECOND[array.type.unit]
    ticks = _ticks(array)
    return ticks * 1000 if per_second == 1 else ticks // (per_second // 1000)


def _ticks(array: pa.Array) -> np.ndarray:
    ticks: np.ndarray = array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return ticks


# --- common ---------------------------------------------------------------------------------------------------------


def _same(array: pa.Array) -> pa.Array:
    return array


def _nulls(array: pa.Array) -> np.ndarray | None:
    return array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None


def _by_value(array: pa.Array, target: DataType, make: Callable[..., object]) -> pa.Array:
    """Cast one value at a time, for casts that are too rare to optimize."""
    return arrow_array([None if v is None else make(v) for v in array.to_pylist()], arrow_type(target))

"""Ticks: numbers as multiples of the smallest step of their type, and exact comparisons with finer literals.

A TIMESTAMP(3) counts milliseconds, and a DECIMAL(10, 2) hundredths. A finer literal does not equal any value of the
column, but the column can be compared with it exactly: ``x < 1.005`` is ``x <= 1.00``.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from table_format.model.arrow_types import timestamp_unit
from table_format.model.predicate import CompareOp
from table_format.model.types import (
    AnyTimestampType,
    BigIntType,
    DataType,
    DateType,
    DecimalType,
    IntType,
    LocalZonedTimestampType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
)

_BITS: Final[dict[type[DataType], int]] = {
    TinyIntType: 8,
    SmallIntType: 16,
    IntType: 32,
    BigIntType: 64,
    DateType: 32,
    TimeType: 32,
    TimestampType: 64,
    LocalZonedTimestampType: 64,
}
_LONG: Final = 4000
"""The maximum number of digits that Python converts to an integer."""

_DIGITS: Final = 1000
"""Decimal literals are cut to this many digits before the decimal point, which no column reaches."""

NANOSECONDS_OF_UNIT: Final = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1000, "ns": 1}


@dataclass(frozen=True, slots=True)
class Position:
    """The position of a literal among the values of a column: at ``tick``, or between it and the next one."""

    tick: int
    is_exact: bool


def nanoseconds_per_tick(data_type: AnyTimestampType) -> int:
    """Return the length of a tick of the type in nanoseconds; Arrow stores multiples of it."""
    return NANOSECONDS_OF_UNIT[timestamp_unit(data_type.precision)]


def tick_range(data_type: DataType) -> range | None:
    """Return all ticks that the storage of the type can hold; ``None`` for a type without ticks."""
    if isinstance(data_type, DecimalType):
        return range(1 - 10**data_type.precision, 10**data_type.precision)
    bits = _BITS.get(type(data_type))
    return None if bits is None else range(-(2 ** (bits - 1)), 2 ** (bits - 1))


def position(value: int | Decimal, data_type: DataType) -> Position:
    """Return the position of an internal value among the values of a type that has ticks.

    >>> position(Decimal("1.005"), DecimalType(precision=10, scale=2))
    Position(tick=100, is_exact=False)
    >>> position(-1, TimestampType(precision=3))
    Position(tick=-1, is_exact=False)
    """
    if isinstance(data_type, AnyTimestampType):
        tick, rest = divmod(int(value), nanoseconds_per_tick(data_type))
        return Position(tick, rest == 0)
    return _decimal_position(Decimal(value), data_type.scale if isinstance(data_type, DecimalType) else 0)


def value_at(tick: int, data_type: DataType) -> int | Decimal:
    """Return the internal value of a tick."""
    match data_type:
        case DecimalType(scale=scale):
            return decimal_of(tick, scale)
        case AnyTimestampType():
            return tick * nanoseconds_per_tick(data_type)
        case _:
            return tick


def decimal_of(tick: int, scale: int) -> Decimal:
    """Return the DECIMAL value of a tick exactly; arithmetic on ``Decimal`` would round to 28 digits.

    >>> decimal_of(-1005, 2)
    Decimal('-10.05')
    """
    return Decimal((int(tick < 0), tuple(map(int, str(abs(tick)))), -scale))


def compared_with_tick(op: CompareOp, at: Position, ticks: range) -> tuple[CompareOp, int] | bool:
    """Convert ``column op literal`` to a comparison with a tick, or to the result for all non-null values.

    >>> compared_with_tick(CompareOp.LT, Position(100, is_exact=False), range(-999, 1000))
    (<CompareOp.LE: '<='>, 100)
    """
    if op in (CompareOp.EQ, CompareOp.NE) and not (at.is_exact and at.tick in ticks):
        return op is CompareOp.NE
    if at.tick < ticks.start:
        return op in (CompareOp.GT, CompareOp.GE)
    if at.tick >= ticks.stop:
        return op in (CompareOp.LT, CompareOp.LE)
    if not at.is_exact:
        op = {CompareOp.LT: CompareOp.LE, CompareOp.GE: CompareOp.GT}.get(op, op)
    return op, at.tick


def _decimal_position(value: Decimal, scale: int) -> Position:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        message = f"{value} is not a number"
        raise ValueError(message)  # noqa: TRY004 - NaN and infinity have the right type
    shift = exponent + scale
    if len(digits) > _LONG:
        return _long_position(digits, shift, is_negative=bool(sign))
    unscaled = int("".join(map(str, digits)) or "0") * (-1 if sign else 1)
    if shift >= 0:
        return Position(unscaled * 10 ** min(shift, _DIGITS), is_exact=True)
    if -shift > len(digits):
        return Position(-1 if unscaled < 0 else 0, unscaled == 0)
    tick, rest = divmod(unscaled, 10**-shift)
    return Position(tick, rest == 0)


def _long_position(digits: tuple[int, ...], shift: int, *, is_negative: bool) -> Position:
    """Return the position of a number with too many digits for Python: beyond all ticks, or between two.

    >>> _long_position((9,) * 5000, 0, is_negative=True).tick == -(10**_DIGITS)
    True
    >>> _long_position((1, *(0,) * 4999, 1), -5000, is_negative=True)
    Position(tick=-2, is_exact=False)
    """
    whole = len(digits) + shift
    if whole > _DIGITS:
        return Position(-(10**_DIGITS) if is_negative else 10**_DIGITS, is_exact=True)
    tick = int("".join(map(str, digits[: max(whole, 0)])) or "0")
    is_exact = not any(digits[max(whole, 0) :])
    return Position(-tick - (not is_exact) if is_negative else tick, is_exact)

"""Converts literals of filter texts to internal values of the column with which they are compared.

Text literals denote strings, and dates and times in ISO form with or without a leading DATE, TIME or TIMESTAMP. There
is no other conversion between kinds, so a literal of the wrong kind is reported instead of matching nothing.
"""

from __future__ import annotations

import re
import struct
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Final

from sqlglot import exp

from table_format.model.types import (
    AnyTimestampType,
    BooleanType,
    BytesType,
    DataType,
    DateType,
    FloatingType,
    FloatType,
    InternalValue,
    TextType,
    TimestampType,
    TimeType,
)

_EPOCH: Final = date(1970, 1, 1)
_DATE: Final = r"(\d{4})-(\d\d)-(\d\d)"
_TIME: Final = r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?"
_ZONE: Final = r"(Z|[+-]\d\d:\d\d)?"
_DATE_TEXT: Final = re.compile(_DATE)
_TIME_TEXT: Final = re.compile(_TIME)
_TIMESTAMP_TEXT: Final = re.compile(rf"{_DATE}(?:[ T]{_TIME} ?{_ZONE})?", re.IGNORECASE)

_SECOND: Final = 1_000_000_000
_ZONED: Final = frozenset({exp.DType.TIMESTAMPLTZ, exp.DType.TIMESTAMPTZ})
_SPECIAL_NUMBERS: Final = frozenset({"nan", "infinity", "-infinity"})


class MisfitError(ValueError):
    """The literal is not a value of the type; the message states what was expected."""


def literal_value(node: exp.Expr, data_type: DataType) -> InternalValue:
    """Return the value of a literal for a column of this type, not yet converted to the column's precision.

    Numbers are ``Decimal``, or ``float`` for FLOAT and DOUBLE; timestamps and times of day are nanoseconds.

    Raises:
        MisfitError: the literal is not a value of the type, or is not supported in filters.
    """
    match data_type:
        case BooleanType():
            return _boolean(node)
        case TextType():
            return _text(node, "text in single quotes")
        case BytesType():
            return _binary(node)
        case FloatingType():
            return _floating(node, data_type)
        case DateType():
            return _date(_text(node, "a date 'yyyy-mm-dd'", exp.DType.DATE))
        case TimeType():
            return _time_of_day(_text(node, "a time 'hh:mm:ss'", exp.DType.TIME))
        case AnyTimestampType():
            return _timestamp(node, data_type)
        case _:
            return _number(node)


def is_literal(node: exp.Expr) -> bool:
    """Return whether the expression is a literal of any kind, NULL included."""
    match node:
        case exp.Literal() | exp.Boolean() | exp.Null() | exp.HexString():
            return True
        case exp.Neg(this=inner) | exp.Paren(this=inner):
            return is_literal(inner)
        case exp.Cast(this=exp.Literal()):
            return type(node) is exp.Cast
        case _:
            return False


def _boolean(node: exp.Expr) -> bool:
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    message = "TRUE or FALSE"
    raise MisfitError(message)


def _text(node: exp.Expr, expected: str, *kinds: exp.DType) -> str:
    """Return the text of a string literal, which may be prefixed by one of the given types."""
    if isinstance(node, exp.Cast) and node.to.this in kinds and not node.to.expressions:
        node = node.this
    if isinstance(node, exp.Literal) and node.is_string:
        return str(node.this)
    raise MisfitError(expected)


def _binary(node: exp.Expr) -> bytes:
    if isinstance(node, exp.HexString):
        try:
            return bytes.fromhex(str(node.this))
        except ValueError:
            pass
    message = "bytes X'...' with two hexadecimal digits each"
    raise MisfitError(message)


def _number(node: exp.Expr) -> Decimal:
    sign = 1
    if isinstance(node, exp.Neg):
        sign, node = -1, node.this
    if isinstance(node, exp.Literal) and not node.is_string:
        try:
            number = Decimal(str(node.this))
        except InvalidOperation:
            pass
        else:
            return number if sign > 0 else number.copy_negate()
    message = "a number"
    raise MisfitError(message)


def _floating(node: exp.Expr, data_type: DataType) -> float:
    if isinstance(node, exp.Cast) and node.to.this in (exp.DType.FLOAT, exp.DType.DOUBLE):
        text = str(node.this.this)
        if text.lower() not in _SPECIAL_NUMBERS:
            message = "a number, or 'NaN', 'Infinity' or '-Infinity' cast to DOUBLE"
            raise MisfitError(message)
        return float(text)
    value = float(_number(node))
    try:
        rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        rounded = float("inf")
    number = rounded if isinstance(data_type, FloatType) else value
    if number in (float("inf"), float("-inf")):
        message = "a number within the range of the type"
        raise MisfitError(message)
    return number


def _date(text: str) -> int:
    found = _DATE_TEXT.fullmatch(text)
    if not found:
        message = "a date 'yyyy-mm-dd'"
        raise MisfitError(message)
    try:
        return (date(*map(int, found.groups())) - _EPOCH).days
    except ValueError as error:
        message = f"a date of the calendar ({error})"
        raise MisfitError(message) from error


def _time_of_day(text: str) -> int:
    found = _TIME_TEXT.fullmatch(text)
    if not found:
        message = "a time 'hh:mm:ss' with up to nine decimals"
        raise MisfitError(message)
    return _nanoseconds(*found.groups())


def _nanoseconds(hour: str | None, minute: str | None, second: str | None, fraction: str | None) -> int:
    parts = int(hour or 0), int(minute or 0), int(second or 0)
    if parts[0] > 23 or parts[1] > 59 or parts[2] > 59:
        message = "a time of day from 00:00:00 to 23:59:59"
        raise MisfitError(message)
    seconds = (parts[0] * 60 + parts[1]) * 60 + parts[2]
    return seconds * _SECOND + int((fraction or "").ljust(9, "0"))


def _timestamp(node: exp.Expr, data_type: AnyTimestampType) -> int:
    expected = "a timestamp 'yyyy-mm-dd hh:mm:ss' with up to nine decimals"
    kinds = (exp.DType.TIMESTAMP, exp.DType.DATE, *_ZONED)
    found = _TIMESTAMP_TEXT.fullmatch(_text(node, expected, *kinds))
    if not found:
        raise MisfitError(expected)
    zone = found[8]
    is_zoned = zone is not None or (isinstance(node, exp.Cast) and node.to.this in _ZONED)
    if is_zoned and isinstance(data_type, TimestampType):
        message = f"{expected} and without a time zone"
        raise MisfitError(message)
    midnight = _date("-".join(found.group(1, 2, 3))) * 86_400 * _SECOND
    return midnight + _nanoseconds(*found.group(4, 5, 6, 7)) - _offset(zone)


def _offset(zone: str | None) -> int:
    if zone is None or zone in "Zz":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[4:])
    if hours > 18 or minutes > 59:
        message = "a time zone from -18:00 to +18:00"
        raise MisfitError(message)
    return (hours * 3600 + minutes * 60) * _SECOND * (-1 if zone[0] == "-" else 1)

"""Converts values to text and text to values in the same way as Java Paimon's casts to and from STRING.

Java ``BinaryStringUtils``, ``DateTimeUtils``, ``Double.toString`` (with the shortest digits, as since JDK 19). Parsers
raise ``ValueError`` for invalid text.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Final

_INTEGER: Final = re.compile(r"([+-]?)(\d*)(\.\d*)?", re.ASCII)
_NUMBER: Final = re.compile(r"-?\d+", re.ASCII)
_DATE_PART: Final = re.compile(r"\s*[+-]?\d+\s*", re.ASCII)
_TIME: Final = re.compile(
    r"\s*(\d+)\s*(?::\s*(\d+)\s*(?::\s*(\d+)\s*(?:\.(\d*)\s*)?)?)?(?:([+-])\s*(\d+)\s*(?::\s*(\d+)\s*)?)?", re.ASCII
)
_FLOAT: Final = re.compile(
    r"([+-]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))|([+-]?0[xX][0-9a-fA-F.]+[pP][+-]?\d+)", re.ASCII
)
_TIMESTAMP: Final = re.compile(
    r"(\d{4,})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,9}))?)?)?", re.ASCII
)
_TRUE: Final = frozenset({"t", "true", "y", "yes", "1"})
_FALSE: Final = frozenset({"f", "false", "n", "no", "0"})
_EPOCH_ORDINAL: Final = date(1970, 1, 1).toordinal()
_SECONDS_PER_DAY: Final = 86_400
_MILLIS_PER_DAY: Final = 86_400_000
_NANOS_PER_SECOND: Final = 1_000_000_000


def time_text(millis: int, precision: int) -> str:
    """Return ``hh:mm:ss`` and up to ``precision`` fractional digits, without trailing zeros.

    >>> [time_text(millis, 3) for millis in (3723004, 0, 100)], time_text(4, 2), time_text(4, 0)
    (['01:02:03.004', '00:00:00.0', '00:00:00.1'], '00:00:00.00', '00:00:00')
    """
    seconds, fraction = divmod(millis, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    text = f"{hour:02}:{minute:02}:{second:02}"
    if precision == 0:
        return text
    digits = f"{fraction:03}".rstrip("0")[:precision] or "0"
    return f"{text}.{digits}"


def parse_integer(text: str, bits: int) -> int:
    """Parse an integer of ``bits`` bits; digits after a decimal point are dropped.

    >>> parse_integer("-12.9", 8)
    -12
    """
    match = _INTEGER.fullmatch(text)
    if match is None or text in ("", "+", "-"):
        raise ValueError(text)
    value = int(match[1] + (match[2] or "0"))
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(text)
    return value


def parse_float(text: str) -> float:
    """Parse a number as ``Double.parseDouble`` does, with spaces around it, a type suffix, or hexadecimal digits.

    >>> parse_float(" 1.5d"), parse_float("0x1p3"), parse_float("-Infinity")
    (1.5, 8.0, -inf)
    """
    trimmed = text.strip()
    body = trimmed[:-1] if trimmed[-1:] in tuple("dDfF") else trimmed
    match = _FLOAT.fullmatch(body)
    if match is None or (body.endswith(("N", "y")) and body != trimmed):
        raise ValueError(text)
    return float(match[1]) if match[1] else float.fromhex(match[2])


def parse_boolean(text: str) -> bool:
    """Parse t, true, y, yes, 1 and their opposites, in upper or lower case."""
    lower = text.lower()
    if lower not in _TRUE | _FALSE:
        raise ValueError(text)
    return lower in _TRUE


def parse_date(text: str) -> int:
    """Parse ``yyyy[-m[-d]]`` to days since the epoch; text after a space is ignored, and a number is days.

    >>> parse_date("2024-1-2"), parse_date("1970-01-02 10:00:00"), parse_date("19724"), parse_date("-1")
    (19724, 1, 19724, -1)
    """
    if _NUMBER.fullmatch(text):
        return parse_integer(text, 32)
    head = text.split(" ", 1)[0] if text.find(" ") > 0 else text
    parts = head.split("-", 2)
    if not all(_DATE_PART.fullmatch(part) for part in parts):
        raise ValueError(text)
    numbers = [int(part) for part in parts]
    return date(*[*numbers, 1, 1][:3]).toordinal() - _EPOCH_ORDINAL


def parse_time(text: str) -> int:
    """Parse ``h[:m[:s[.fff]]]`` to milliseconds, rounded; an offset is added, and plain digits are milliseconds.

    >>> parse_time("01:02:03.0045"), parse_time("1:2"), parse_time("77"), parse_time("0:0+1:30")
    (3723005, 3720000, 77, 5400000)
    """
    if text.isascii() and text.isdigit():
        return parse_integer(text, 32)
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(text)
    hour, minute, second, zone_hour, zone_minute = (int(part or 0) for part in match.group(1, 2, 3, 6, 7))
    zone = (zone_hour * 60 + zone_minute) * (-1 if match[5] == "-" else 1)
    fraction = (match[4] or "").ljust(4, "0")
    millis = int(fraction[:3]) + (fraction[3] >= "5")
    result = ((hour * 60 + minute + zone) * 60 + second) * 1000 + millis
    if not 0 <= result < _MILLIS_PER_DAY:
        raise ValueError(text)
    return result


def parse_timestamp(text: str, precision: int) -> int:
    """Parse a timestamp to nanoseconds since the epoch, cut to ``precision`` digits.

    A number counts units of the precision.

    >>> parse_timestamp("2024-1-2 3:4:5.6789", 3), parse_timestamp("1700000000", 0), parse_timestamp("-1", 3)
    (1704164645678000000, 1700000000000000000, -1000000)
    """
    if _NUMBER.fullmatch(text):
        if precision not in (0, 3, 6, 9):
            raise ValueError(text)
        result: int = parse_integer(text, 64) * 10 ** (9 - precision)
        return result
    return parse_moment(text, precision)


def parse_moment(text: str, precision: int) -> int:
    """Parse like ``parse_timestamp``, but accept only a date with or without a time, as TIMESTAMP_LTZ does.

    ``24:00:00`` is midnight of the next day.

    >>> parse_moment("1970-01-01 24:00:00", 0) == parse_moment("1970-01-02", 0)
    True
    """
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError(text)
    year, month, day, hour, minute, second = (int(part or 0) for part in match.group(1, 2, 3, 4, 5, 6))
    is_end_of_day = hour == 24 and not (minute or second or (match[7] or "").strip("0"))
    if (hour > 23 and not is_end_of_day) or minute > 59 or second > 59:
        raise ValueError(text)
    days = date(year, month, day).toordinal() - _EPOCH_ORDINAL
    seconds = days * _SECONDS_PER_DAY + (hour * 60 + minute) * 60 + second
    fraction = (match[7] or "")[:precision].ljust(9, "0")
    return seconds * _NANOS_PER_SECOND + int(fraction)

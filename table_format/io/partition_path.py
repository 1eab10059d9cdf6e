"""The directory text of a partition: ``k=v/k2=v2`` (format chapter 01; Java ``PartitionPathUtils``).

The text is derived and never parsed: the serialised partition in the manifest is authoritative, and two partitions
(null and blank) may share one directory. The text must equal Java's exactly, or neither would find the
other's files; so the forms of ``LocalDateTime.toString`` and ``Double.toString`` are spelled out here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final

from table_format.codecs.java_floats import float_text
from table_format.errors import InvalidData, UnsupportedFeature
from table_format.limits import MAX_FILE_NAME_BYTES
from table_format.model.types import (
    AnyTimestampType,
    BooleanType,
    BytesType,
    DataField,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    InternalValue,
    TimeType,
)

DEFAULT_PARTITION_NAME: Final = "__DEFAULT_PARTITION__"

_NANOS_PER_DAY: Final = 86_400_000_000_000
_NANOS_PER_SECOND: Final = 1_000_000_000
_MILLIS_PER_DAY: Final = 86_400_000
_ESCAPES: Final = {ord(c): f"%{ord(c):02X}" for c in [*map(chr, range(0x20)), *"\"#%'*/:=?\\\x7f{}[]^"]}
# These are whitespace for Python's str.isspace, but not for Java's Character.isWhitespace.
_NOT_WHITESPACE_IN_JAVA: Final = frozenset("\x85\u00a0\u2007\u202f")


def partition_text(
    fields: Sequence[DataField],
    values: Sequence[InternalValue],
    *,
    default_name: str = DEFAULT_PARTITION_NAME,
    legacy: bool = True,
) -> str:
    """Make the directory text of one partition; empty for an unpartitioned table.

    ``legacy`` is the option ``partition.legacy-name``: values as Java's ``toString`` shows their internal form instead
    of the cast to a string.

    >>> from table_format.model.types import IntType, VarCharType
    >>> fields = [DataField(0, "dt", VarCharType()), DataField(1, "hh", IntType()), DataField(2, "day", DateType())]
    >>> partition_text(fields, ["a b/c:d=e%", None, 19723])
    'dt=a b%2Fc%3Ad%3De%25/hh=__DEFAULT_PARTITION__/day=19723'
    >>> partition_text(fields[2:], [19723], legacy=False)
    'day=2024-01-01'

    Raises:
        InvalidData: a text cannot be part of a file name.
        UnsupportedFeature: the type has no stable text.
    """
    texts = partition_values(fields, values, default_name=default_name, legacy=legacy)
    return "/".join(f"{escape(name)}={escape(text)}" for name, text in texts.items())


def shown_partition(values: Mapping[str, object]) -> str:
    """Return the values of a partition by column as one text for people and records, without escapes.

    >>> shown_partition({"dt": "2026-01-01", "hh": 7})
    'dt=2026-01-01/hh=7'
    """
    return "/".join(f"{name}={value}" for name, value in values.items())


def partition_values(
    fields: Sequence[DataField],
    values: Sequence[InternalValue],
    *,
    default_name: str = DEFAULT_PARTITION_NAME,
    legacy: bool = True,
) -> dict[str, str]:
    """Return the texts of the values of a partition by column, as in ``partition_text`` but without escapes."""
    found = {}
    for field, value in zip(fields, values, strict=True):
        text = "" if value is None else _value_text(field.type, value, legacy=legacy)
        found[field.name] = default_name if _is_blank(text) else text
    return found


def shown_value(data_type: DataType, value: InternalValue) -> str:
    """Return a partition's value for messages: a day or a time as SQL spells it, and text within quotes.

    >>> from table_format.model.types import VarCharType
    >>> shown_value(DateType(), 19782), shown_value(VarCharType(), "19782"), shown_value(DateType(), None)
    ('2024-02-29', "'19782'", 'None')
    """
    if value is None or isinstance(value, str | bytes):
        return repr(value)
    return _value_text(data_type, value, legacy=False)


def check_new_partition(fields: Sequence[DataField], text: str) -> None:
    """Refuse a partition whose directory name is too long for file systems; ``text`` is that of ``partition_text``.

    Escapes and UTF-8 count: a value may be much shorter than its name.

    Raises:
        InvalidData: names the column, the bytes its directory name has, and how many it may have.
    """
    if len(text) * 4 <= MAX_FILE_NAME_BYTES:
        return
    for field, name in zip(fields, text.split("/"), strict=True):
        size = len(name.encode())
        if size > MAX_FILE_NAME_BYTES:
            message = (
                f"partition column '{field.name}': the value makes a directory name of {size} bytes, '{name[:60]}...'; "
                f"at most {MAX_FILE_NAME_BYTES} fit. Shorten the value, or partition by another column"
            )
            raise InvalidData(message)


def escape(text: str) -> str:
    """Replace every character that a directory name cannot contain by ``%XX``.

    >>> escape("100% of {a}/b")
    '100%25 of %7Ba%7D%2Fb'
    """
    if any(0xD800 <= ord(c) < 0xE000 for c in text):
        message = (
            f"the partition value {text!r} holds half of a surrogate pair and has no UTF-8 form; correct the value"
        )
        raise InvalidData(message)
    return text.translate(_ESCAPES)


def _is_blank(text: str) -> bool:
    return all(c.isspace() and c not in _NOT_WHITESPACE_IN_JAVA for c in text)


def _value_text(data_type: DataType, value: InternalValue, *, legacy: bool) -> str:
    match data_type, value:
        case BooleanType(), bool():
            return "true" if value else "false"
        case DecimalType(), Decimal():
            return f"{value:f}"
        case FloatType(), float():
            return float_text(value, single=True)
        case DoubleType(), float():
            return float_text(value, single=False)
        case DateType(), int():
            return str(value) if legacy else _calendar_day(value)
        case TimeType(precision=precision), int():
            return str(value) if legacy else _time_text(value, precision)
        case ((AnyTimestampType(precision=precision)), int()):
            return _local_date_time(value) if legacy else _timestamp_text(value, precision)
        case (BytesType(), bytes()):
            if legacy:
                # Java prints the identity of the array, which differs in each process.
                feature = f"a partition column of type {data_type} with 'partition.legacy-name' = 'true'"
                raise UnsupportedFeature(feature)
            return value.decode("utf-8", "replace")
        case _, str():
            return value
        case _, int():
            return str(value)
    message = f"{value!r} is not a value of a partition column of type {data_type}"
    raise InvalidData(message)


def _year_month_day(days: int) -> tuple[int, int, int]:
    """The proleptic Gregorian day, for any year: ``datetime`` knows only 1 to 9999.

    >>> [_year_month_day(d) for d in (0, -1, 19782, -719529)]
    [(1970, 1, 1), (1969, 12, 31), (2024, 2, 29), (-1, 12, 31)]
    """
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_from_march = (5 * day_of_year + 2) // 153
    month = month_from_march + 3 if month_from_march < 10 else month_from_march - 9
    day = day_of_year - (153 * month_from_march + 2) // 5 + 1
    return era * 400 + year_of_era + (month <= 2), month, day


def _calendar_day(days: int) -> str:
    year, month, day = _year_month_day(days)
    return f"{year:04d}-{month:02d}-{day:02d}"


def _clock_of(nanos_of_day: int) -> tuple[int, int, int, int]:
    seconds, fraction = divmod(nanos_of_day, _NANOS_PER_SECOND)
    return seconds // 3600, seconds // 60 % 60, seconds % 60, fraction


def _local_date_time(nanos: int) -> str:
    """Java's ``LocalDateTime.toString``: seconds only if they are not zero, the fraction in groups of three digits.

    >>> second = 1_000_000_000
    >>> [_local_date_time(n) for n in (0, second, 120_000_000, 1_000, 1)]  # doctest: +NORMALIZE_WHITESPACE
    ['1970-01-01T00:00', '1970-01-01T00:00:01', '1970-01-01T00:00:00.120', '1970-01-01T00:00:00.000001',
     '1970-01-01T00:00:00.000000001']
    """
    days, nanos_of_day = divmod(nanos, _NANOS_PER_DAY)
    year, month, day = _year_month_day(days)
    hour, minute, second, fraction = _clock_of(nanos_of_day)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    text = f"{sign}{abs(year):04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}"
    if second or fraction:
        text += f":{second:02d}"
    if fraction:
        digits = f"{fraction:09d}"
        text += "." + (digits[:3] if digits.endswith("000000") else digits[:6] if digits.endswith("000") else digits)
    return text


def _timestamp_text(nanos: int, precision: int) -> str:
    """The cast of a timestamp to a string: at least ``precision`` digits, no trailing zero beyond.

    A local-zoned timestamp is shown in UTC; Java shows it in the zone of the process that writes.

    >>> [_timestamp_text(120_000_000, p) for p in (0, 3, 6)]
    ['1970-01-01 00:00:00.12', '1970-01-01 00:00:00.120', '1970-01-01 00:00:00.120000']
    """
    days, nanos_of_day = divmod(nanos, _NANOS_PER_DAY)
    hour, minute, second, fraction = _clock_of(nanos_of_day)
    digits = f"{fraction:09d}".rstrip("0").ljust(precision, "0")
    text = f"{_calendar_day(days)} {hour:02d}:{minute:02d}:{second:02d}"
    return f"{text}.{digits}" if digits else text


def _time_text(millis: int, precision: int) -> str:
    """The cast of a time to a string; Java stops after the last digit that is not zero, but writes one.

    >>> [_time_text(37_230_120, p) for p in (0, 1, 3)]
    ['10:20:30', '10:20:30.1', '10:20:30.12']
    >>> _time_text(0, 3)
    '00:00:00.0'
    """
    hour, minute, second, fraction = _clock_of(millis % _MILLIS_PER_DAY * 1_000_000)
    text = f"{hour:02d}:{minute:02d}:{second:02d}"
    if not precision:
        return text
    digits = f"{fraction // 1_000_000:03d}"[:precision]
    return f"{text}.{digits[0]}{digits[1:].rstrip('0')}"

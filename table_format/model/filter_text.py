"""Writes names and values in the syntax of filter texts, which ``codecs.filter_sql`` reads."""

from __future__ import annotations

import math
import re
from datetime import date, datetime, time
from decimal import Decimal
from typing import Final, TypeAlias

FilterValue: TypeAlias = bool | int | float | Decimal | str | bytes | date | datetime | time
"""A Python value with which a column can be compared."""

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED: Final = frozenset(
    """
    all alter analyze and any as begin between cache call case comment commit connect_by_root copy create cross
    current_catalog current_date current_time current_timestamp current_user delete desc describe distinct drop
    else except execute explain false fetch for from glob grant having if ilike inner insert intersect interval
    into join kill lateral like load localtime localtimestamp merge not notnull null on optimize or outer
    partitioned_by pivot pragma prepare qualify regexp rename returning revoke rlike rollback select session_user
    set show straight_join table tablesample then true truncate uncache union unpivot update use using vacuum when
    where with xor
    """.split()  # noqa: SIM905 - a list of them would take ninety lines
)
"""Words that cannot be used as an unquoted column name in a filter."""


def name_text(name: str) -> str:
    """Return the name of a column, in double quotes if necessary.

    >>> name_text("amount"), name_text("Unit price"), name_text("order by"), name_text("set")
    ('amount', '"Unit price"', '"order by"', '"set"')
    """
    if _PLAIN.fullmatch(name) and name.lower() not in _RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def value_text(value: FilterValue) -> str:
    """Return the literal of a value.

    >>> from datetime import date
    >>> value_text("it's"), value_text(b"\\x00\\xff"), value_text(date(2026, 1, 2)), value_text(1.5)
    ("'it''s'", "X'00ff'", "DATE '2026-01-02'", '1.5')
    """
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case int() | float() | Decimal():
            special = special_number(value)
            return number_text(value) if special is None else f"CAST('{special}' AS DOUBLE)"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case bytes():
            return f"X'{value.hex()}'"
        case _:
            return f"{time_kind(value)} '{time_text(value)}'"


def number_text(value: float | Decimal) -> str:
    """Return the digits of a finite number.

    >>> number_text(-3), number_text(0.1), number_text(Decimal("1.50"))
    ('-3', '0.1', '1.50')
    """
    # Python refuses to convert an int of more than 4300 digits to text; Decimal does not.
    return repr(value) if isinstance(value, float) else str(Decimal(value))


def special_number(value: float | Decimal) -> str | None:
    """Return the name of NaN or an infinity; ``None`` for a finite number.

    >>> special_number(float("-inf")), special_number(1)
    ('-Infinity', None)
    """
    if isinstance(value, int):
        return None
    if value.is_nan() if isinstance(value, Decimal) else math.isnan(value):
        return "NaN"
    is_infinite = value.is_infinite() if isinstance(value, Decimal) else math.isinf(value)
    return None if not is_infinite else "Infinity" if value > 0 else "-Infinity"


def time_kind(value: date | time) -> str:
    """Return the SQL type of the literal of a date, a time of day or a timestamp.

    >>> time_kind(date(2026, 1, 2)), time_kind(datetime(2026, 1, 2))
    ('DATE', 'TIMESTAMP')
    """
    match value:
        case datetime():
            return "TIMESTAMP" if value.tzinfo is None else "TIMESTAMP_LTZ"
        case date():
            return "DATE"
        case _:
            return "TIME"


def time_text(value: date | time) -> str:
    """Return the ISO form of a date, a time of day or a timestamp.

    >>> time_text(datetime(2026, 1, 2, 3, 4, 5))
    '2026-01-02 03:04:05'
    """
    return value.isoformat(sep=" ") if isinstance(value, datetime) else value.isoformat()

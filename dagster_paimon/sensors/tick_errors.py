"""The notes and errors of a tick.

A table that cannot be read must not keep a sensor from checking the other tables. Dagster stores what each tick
reports, so the report is short even if the tick checked hundreds of tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

import dagster as dg

from table_format.errors import InvalidInputError, TableFormatError

_NOTES_SHOWN: Final = 50
_LARGEST: Final = 2**63 - 1
StoredT = TypeVar("StoredT", str, int)


def unreadable(context: dg.SensorEvaluationContext, table: str, error: TableFormatError | OSError) -> str:
    """Log that a table cannot be checked, and return the note of the tick."""
    note = f"{table} cannot be checked: {error}"
    context.log.error("%s", note)
    return note


def in_short(notes: Sequence[str]) -> str:
    """Return notes as one text, and the number of those beyond the first fifty.

    >>> in_short(["a.b is late", "a.c is late"])
    'a.b is late; a.c is late'
    """
    more = len(notes) - _NOTES_SHOWN
    return "; ".join([*notes[:_NOTES_SHOWN], f"and {more} more"] if more > 0 else notes)


def stored(value: object, kind: type[StoredT]) -> StoredT:
    """Return a text or a number of a cursor.

    Raises:
        TypeError: it is something else.

    >>> stored(3, int)
    3
    """
    if (
        not isinstance(value, kind)
        or isinstance(value, bool)
        or (isinstance(value, int) and not 0 <= value <= _LARGEST)
    ):
        message = f"expected {'a text' if kind is str else 'a whole number'}, found {value!r}"
        raise TypeError(message)
    return value


@contextmanager
def reading_cursor() -> Iterator[None]:
    """Explain a cursor that no sensor has stored, such as one that was entered by hand.

    Raises:
        InvalidInputError: the cursor cannot be decoded.
    """
    try:
        yield
    except (ValueError, TypeError, AttributeError, KeyError, OverflowError) as error:
        message = f"the cursor of the sensor cannot be read ({error}); reset it to start from the beginning"
        raise InvalidInputError(message) from error

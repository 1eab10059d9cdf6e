"""The errors of a tick: a table that cannot be read must not keep a sensor from checking the other tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from table_format.errors import InvalidInputError, TableFormatError


def unreadable(context: dg.SensorEvaluationContext, table: str, error: TableFormatError) -> str:
    """Log that a table cannot be checked, and return the note of the tick."""
    note = f"{table} cannot be checked: {error}"
    context.log.error("%s", note)
    return note


@contextmanager
def reading_cursor() -> Iterator[None]:
    """Explain a cursor that no sensor has stored, such as one that was entered by hand.

    Raises:
        InvalidInputError: the cursor cannot be decoded.
    """
    try:
        yield
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        message = f"the cursor of the sensor cannot be read ({error}); reset it to start from the beginning"
        raise InvalidInputError(message) from error

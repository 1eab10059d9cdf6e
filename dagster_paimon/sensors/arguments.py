"""Checks the arguments of sensors when they are defined, not when they first run."""

from __future__ import annotations

from datetime import timedelta

from table_format.engine.support import arguments


def check_age(age: object, argument: str) -> None:
    """Check that an argument is a duration.

    Raises:
        InvalidInputError: it is of another type.
    """
    if not isinstance(age, timedelta):
        arguments.refuse(argument, "a timedelta", age)

"""The property of a database that says where its tables are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from table_format.errors import InvalidInputError

LOCATION: Final = "location"


def refuse_new_location(database: str, changes: Mapping[str, str | None]) -> None:
    """Refuse changes of properties that would move a database.

    Raises:
        InvalidInputError: the location is among them.
    """
    if LOCATION in changes:
        message = f"property '{LOCATION}' of database '{database}' cannot be changed: its tables are there"
        raise InvalidInputError(message)

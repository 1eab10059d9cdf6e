"""The properties of a database of the Hive metastore: three fields of their own, and all others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from table_format.catalog.database_location import LOCATION

_FIELDS: Final = {"comment": "description", "owner": "ownerName"}


def properties_of(database: Any) -> Mapping[str, str]:  # noqa: ANN401 - a structure of Thrift
    """Return the properties of a database other than its location."""
    fields = {key: getattr(database, name) for key, name in _FIELDS.items()}
    return {**(database.parameters or {}), **{key: value for key, value in fields.items() if value}}


def set_properties(database: Any, changes: Mapping[str, str | None]) -> None:  # noqa: ANN401 - a structure of Thrift
    """Set properties of a database other than its location, and remove those whose value is ``None``."""
    database.parameters = dict(database.parameters or {})
    for key, value in changes.items():
        if key in _FIELDS:
            # The metastore takes a missing text for one that does not change.
            setattr(database, _FIELDS[key], value or "")
        elif key != LOCATION and value is not None:
            database.parameters[key] = value
        else:
            database.parameters.pop(key, None)

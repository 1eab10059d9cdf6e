"""What a table of snapshots is: an ordinary table, or an object table (Java ``TableType``, ``ObjectTable`` of 1.0)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from table_format.errors import InvalidOption, UnsupportedFeature
from table_format.options.declare import READ_AND_WRITE, Option
from table_format.options.values import choice, optional, text

TABLE: Final = "table"
OBJECT_TABLE: Final = "object-table"

TYPE = Option(
    "type",
    choice(TABLE, "format-table", OBJECT_TABLE, "materialized-table", "lance-table", "iceberg-table"),
    TABLE,
    "Kind of the table. `object-table` requires 'object-location', and is not stored: see "
    "[object tables](object-tables.md). Format tables have options of their own.",
    immutable=True,
    honoured=(TABLE, OBJECT_TABLE),
    blocks=READ_AND_WRITE,
)
OBJECT_LOCATION = Option(
    "object-location",
    optional(text),
    None,
    "Directory whose files are the rows of an [object table](object-tables.md): an absolute path, or a URI.",
    immutable=True,
)


@dataclass(frozen=True, slots=True)
class KindOptions:
    """What the table is."""

    type: str = TYPE.field()
    object_location: str | None = OBJECT_LOCATION.field()


def is_object_table(options: Mapping[str, str]) -> bool:
    """Return whether the options, which may not be checked yet, are those of an object table.

    >>> is_object_table({"object-location": "/data"}), is_object_table({"type": "object-table"}), is_object_table({})
    (True, True, False)
    """
    kind = str(options.get(TYPE.key, "")).strip().lower().replace("_", "-")
    return OBJECT_LOCATION.key in options or kind == OBJECT_TABLE


def object_location(options: Mapping[str, str]) -> str:
    """Return the location of an object table.

    Raises:
        InvalidOption: it is missing or blank.
    """
    found = OBJECT_LOCATION.read(options)
    if found is None:
        raise InvalidOption(OBJECT_LOCATION.key, "is required for an object table: the directory of its files")
    return found


def without_kind(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options without those that make a table an object table."""
    return {key: value for key, value in options.items() if key not in (TYPE.key, OBJECT_LOCATION.key)}


def refuse_rows(table: str, options: Mapping[str, str]) -> None:
    """Refuse to write or delete rows of an object table.

    Raises:
        UnsupportedFeature: the options are those of an object table; the message says how its rows change.
    """
    if is_object_table(options):
        feature = "writing rows to an object table"
        message = (
            f"'{table}' is an object table: its rows are the files in '{options.get(OBJECT_LOCATION.key)}', and only a "
            "refresh changes them. Change the files, then call ObjectTable.refresh or sys.refresh_object_table"
        )
        raise UnsupportedFeature(feature, message)

"""What a table of snapshots is: an ordinary, an object or a materialized table (Java ``TableType``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from table_format.errors import InvalidOption, UnsupportedFeature
from table_format.options.declare import READ_AND_WRITE, Option
from table_format.options.values import choice, optional, text

TABLE: Final = "table"
OBJECT_TABLE: Final = "object-table"
MATERIALIZED_TABLE: Final = "materialized-table"

TYPE = Option(
    "type",
    choice(TABLE, "format-table", OBJECT_TABLE, MATERIALIZED_TABLE, "lance-table", "iceberg-table"),
    TABLE,
    "Kind of the table. `object-table` requires 'object-location', and is not stored: see "
    "[object tables](object-tables.md). `materialized-table` is set by CREATE MATERIALIZED TABLE: see [materialized "
    "tables](materialized-tables.md). Format tables have options of their own.",
    immutable=True,
    honoured=(TABLE, OBJECT_TABLE, MATERIALIZED_TABLE),
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
    return OBJECT_LOCATION.key in options or kind_of(options) == OBJECT_TABLE


def is_materialized_table(options: Mapping[str, str]) -> bool:
    """Return whether the options, which may not be checked yet, are those of a materialized table.

    >>> is_materialized_table({"type": "materialized-table"}), is_materialized_table({})
    (True, False)
    """
    return kind_of(options) == MATERIALIZED_TABLE


def kind_of(options: Mapping[str, str]) -> str:
    """Return the kind of table that options ask for, which may not be checked yet; empty without the option.

    >>> kind_of({"type": " FORMAT_TABLE"}), kind_of({})
    ('format-table', '')
    """
    return str(options.get(TYPE.key, "")).strip().lower().replace("_", "-")


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
    """Return the options without those that say where the rows of a table come from."""
    return {key: value for key, value in options.items() if key not in (TYPE.key, OBJECT_LOCATION.key)}


def refuse_direct_changes(table: str, options: Mapping[str, str]) -> None:
    """Refuse to write, change or delete rows that only a refresh of the table may change.

    Raises:
        UnsupportedFeature: the options are those of an object table or of a materialized table; the message says how
            the rows change.
    """
    if is_object_table(options):
        feature = "writing rows to an object table"
        message = (
            f"'{table}' is an object table: its rows are the files in '{options.get(OBJECT_LOCATION.key)}', and only a "
            "refresh changes them. Change the files, then call ObjectTable.refresh or sys.refresh_object_table"
        )
        raise UnsupportedFeature(feature, message)
    if is_materialized_table(options):
        feature = "changing the rows of a materialized table"
        message = (
            f"'{table}' is a materialized table: its query fills it, so its rows cannot be written, changed or "
            f"deleted. Change the tables that it reads, then run ALTER MATERIALIZED TABLE {table} REFRESH"
        )
        raise UnsupportedFeature(feature, message)

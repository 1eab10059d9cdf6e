"""Entries for the data source in Spark's session catalog.

Spark passes only the columns of an entry to a Python data source, so the metadata of a column contains the path of the
table. For a write, Spark passes the columns of the query. If their names and types equal those of the entry, Spark also
passes the metadata of the query: none, or that of the table which the query reads. Therefore the column also has
Spark's mark of a VARCHAR. A column of a query has this mark only if it comes from an entry; in that case, Spark creates
the columns of the entry to write without the mark. So columns with the mark do not belong to the table to write. A
table without a column of type STRING cannot be identified in this way and is not written through its entry. Nor is a
table whose snapshots are published by the server of its catalog, which a path does not name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql.types import StringType, StructField, StructType

from table_format.errors import InvalidInputError, UnsupportedFeature

TABLE_PATH: Final = "paimon.table-path"
"""The key of the path of the table in the metadata of a column of an entry."""

_TABLE_NAME: Final = "paimon.table-name"
_READ_ONLY: Final = "paimon.read-only"
_MARK: Final = "__CHAR_VARCHAR_TYPE_STRING"
"""Spark's own key for the type of a column that it treats as a STRING."""

_ANY_LENGTH: Final = f"varchar({2**31 - 1})"
_OF_ENTRY: Final = "provider"
"""An option that Spark adds when it requests the columns of a new entry."""

_ADVICE: Final = (
    "give load(path) or save(path) its directory, or the options 'warehouse' and 'table'. A table that "
    "CREATE TABLE ... USING paimon created in spark.sql is an empty entry of Spark: drop it, create the table with "
    "lake.sql or lake.write_to, and attach its database. To write rows with exactly the columns of an attached table, "
    "use lake.sql or lake.write"
)


def entry_schema(schema: StructType, path: str, *, name: str | None = None, read_only: bool = False) -> StructType:
    """Return the columns of an entry for the table at a path; ``name`` is ``database.table`` in its catalog."""
    texts = [number for number, field in enumerate(schema.fields) if isinstance(field.dataType, StringType)]
    carrier = texts[0] if texts else 0
    is_written = texts and not read_only
    named = {TABLE_PATH: path} if name is None else {TABLE_PATH: path, _TABLE_NAME: name}
    own = {**named, _MARK: _ANY_LENGTH} if is_written else {**named, _READ_ONLY: True}
    fields = [_with(field, own) if number == carrier else field for number, field in enumerate(schema.fields)]
    return StructType(fields)


def _with(field: StructField, metadata: Mapping[str, object]) -> StructField:
    return StructField(field.name, field.dataType, field.nullable, {**(field.metadata or {}), **metadata})


def is_of_entry(options: Mapping[str, str]) -> bool:
    """Return whether Spark requests the columns of a new entry for ``CREATE TABLE ... USING paimon LOCATION ...``."""
    return _OF_ENTRY in options and "path" in options


def names_table(schema: StructType) -> bool:
    """Return whether these are columns of an entry, whose metadata has the path of its table."""
    return any(TABLE_PATH in (field.metadata or {}) for field in schema.fields)


def is_entry(schema: StructType, database: str, name: str) -> bool:
    """Return whether these are the columns of an entry that this library created for a table.

    A table that Spark creates from the rows of an entry has the same columns and metadata, but another name. Entries of
    earlier versions have no name; their tables are in the directory of the name.
    """
    found = next((field.metadata for field in schema.fields if TABLE_PATH in (field.metadata or {})), None)
    if found is None:
        return False
    if _TABLE_NAME in found:
        return bool(found[_TABLE_NAME].lower() == f"{database}.{name}".lower())
    return bool(found[TABLE_PATH].lower().endswith(f"/{database}.db/{name}".lower()))


def options_of(options: Mapping[str, str], schema: StructType) -> dict[str, str]:
    """Return the options of a read, with the path from the columns of an entry.

    Raises:
        InvalidInputError: neither the options nor the columns name a table.
    """
    if "path" in options or "table" in options:
        return dict(options)
    for field in schema.fields:
        path = (field.metadata or {}).get(TABLE_PATH)
        if path is not None:
            return {**options, "path": path}
    message = f"no table is named: {_ADVICE}"
    raise InvalidInputError(message)


def target_options(options: Mapping[str, str], schema: StructType) -> dict[str, str]:
    """Return the options of a write, with the path from the columns of an entry.

    Raises:
        InvalidInputError: neither the options nor the columns name a table.
        UnsupportedFeature: the columns are those of a table that the query reads, or do not identify a table.
    """
    if "path" in options or "table" in options:
        return dict(options)
    for field in schema.fields:
        metadata = field.metadata or {}
        if TABLE_PATH in metadata and (_MARK in metadata or _READ_ONLY in metadata):
            feature = "this write to a table by its name in Spark's catalog"
            message = (
                f"{feature} is not supported: the rows come unchanged from another table of the lake, or the table has "
                "no column of type STRING, so Spark does not identify the table to write, or a server publishes its "
                "snapshots; use lake.sql or lake.write"
            )
            raise UnsupportedFeature(feature, message)
    return options_of(options, schema)

"""The contents of an entry in Spark's session catalog for the data source.

Spark gives a Python data source nothing of an entry but its columns, so the metadata of one says where the table lies.
For a write Spark gives the columns of the query. If their names and types are those of the entry, it passes the query's
own metadata on: none, or that of the table which the query reads. So the column is said to be a VARCHAR as Spark marks
one. No column of a query is that, unless it comes from an entry; then Spark makes columns of the entry's own, without
the mark. Columns that have the mark are not those of the table to write. A table without a column of text cannot be
told from another in this way, so it is not written through its entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql.types import StringType, StructField, StructType

from table_format.errors import InvalidInputError, UnsupportedFeature

TABLE_PATH: Final = "paimon.table-path"
"""The key in the metadata of a column under which an entry says where its table lies."""

_READ_ONLY: Final = "paimon.read-only"
_MARK: Final = "__CHAR_VARCHAR_TYPE_STRING"
"""Spark's own key for the type of a column that it treats as a STRING."""

_ANY_LENGTH: Final = f"varchar({2**31 - 1})"
_OF_ENTRY: Final = "provider"
"""An option that Spark adds when it asks for the columns of a new entry."""

_ADVICE: Final = (
    "give load(path) or save(path) its directory, or the options 'warehouse' and 'table'. A table that spark.sql made "
    "by CREATE TABLE ... USING paimon is an empty entry of Spark: drop it, make the table by lake.sql or "
    "lake.write_to, and attach its database. To write rows whose columns are just those of an attached table use "
    "lake.sql or lake.write"
)


def entry_schema(schema: StructType, path: str) -> StructType:
    """The columns of an entry for the table at a path."""
    texts = [number for number, field in enumerate(schema.fields) if isinstance(field.dataType, StringType)]
    carrier = texts[0] if texts else 0
    own = {TABLE_PATH: path, _MARK: _ANY_LENGTH} if texts else {TABLE_PATH: path, _READ_ONLY: True}
    fields = [_with(field, own) if number == carrier else field for number, field in enumerate(schema.fields)]
    return StructType(fields)


def _with(field: StructField, metadata: Mapping[str, object]) -> StructField:
    return StructField(field.name, field.dataType, field.nullable, {**(field.metadata or {}), **metadata})


def is_of_entry(options: Mapping[str, str]) -> bool:
    """Whether Spark asks for the columns of a new entry, by ``CREATE TABLE ... USING paimon LOCATION ...``."""
    return _OF_ENTRY in options and "path" in options


def names_table(schema: StructType) -> bool:
    """Whether these are columns of an entry, which say where its table lies."""
    return any(TABLE_PATH in (field.metadata or {}) for field in schema.fields)


def is_entry(schema: StructType, database: str, name: str) -> bool:
    """Whether these are the columns of an entry that this library made for a table.

    Tables that Spark makes of the rows of an entry have its columns with their metadata, under another name.
    """
    paths = [path for field in schema.fields if (path := (field.metadata or {}).get(TABLE_PATH)) is not None]
    return bool(paths) and paths[0].lower().endswith(f"/{database}.db/{name}".lower())


def options_of(options: Mapping[str, str], schema: StructType) -> dict[str, str]:
    """The options of a read, with the place that the columns of an entry name.

    Raises:
        InvalidInputError: neither names a table.
    """
    if "path" in options or "table" in options:
        return dict(options)
    for field in schema.fields:
        path = (field.metadata or {}).get(TABLE_PATH)
        if path is not None:
            return {**options, "path": path}
    message = f"this names no table: {_ADVICE}"
    raise InvalidInputError(message)


def target_options(options: Mapping[str, str], schema: StructType) -> dict[str, str]:
    """The options of a write, with the place that the columns of an entry name.

    Raises:
        InvalidInputError: neither names a table.
        UnsupportedFeature: the columns are those of a table that the query reads, or do not say which table is meant.
    """
    if "path" in options or "table" in options:
        return dict(options)
    for field in schema.fields:
        metadata = field.metadata or {}
        if TABLE_PATH in metadata and (_MARK in metadata or _READ_ONLY in metadata):
            feature = "this write to a table by its name in Spark's catalog"
            message = (
                f"{feature} is not supported: the rows come unchanged from another table of the lake, or the table has "
                "no column of type STRING, so that Spark does not say which table it writes; use lake.sql or lake.write"
            )
            raise UnsupportedFeature(feature, message)
    return options_of(options, schema)

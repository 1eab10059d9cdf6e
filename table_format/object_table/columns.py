"""The columns of object tables, and the schema of a new one (Java ``ObjectTable.SCHEMA`` of release 1.0)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import pyarrow as pa

from table_format.errors import InvalidOption, InvalidSchema, InvalidSchemaChange, UnsupportedFeature
from table_format.model.arrow_types import arrow_schema
from table_format.model.schema import Schema, TableSchema, columns_text
from table_format.model.types import (
    BigIntType,
    DataField,
    DataType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    VarCharType,
)
from table_format.options.kind import (
    OBJECT_LOCATION,
    OBJECT_TABLE,
    TABLE,
    TYPE,
    is_object_table,
    object_location,
    without_kind,
)
from table_format.secrets import redact

PATH: Final = "path"
_TEXT: Final = VarCharType()
_INSTANT: Final = LocalZonedTimestampType(precision=3)
_TYPES: Final[Mapping[str, DataType]] = {
    PATH: VarCharType(nullable=False),
    "parent_path": VarCharType(nullable=False),
    "name": VarCharType(nullable=False),
    "length": BigIntType(nullable=False),
    "mtime": _INSTANT,
    "atime": _INSTANT,
    "owner": _TEXT,
    "generation": IntType(),
    "content_type": _TEXT,
    "storage_class": _TEXT,
    "md5_hash": _TEXT,
    "metadata_mtime": _INSTANT,
    "metadata": MapType(key=_TEXT, value=_TEXT),
}
FIELDS: Final = tuple(DataField(number, name, kind) for number, (name, kind) in enumerate(_TYPES.items()))
ARROW: Final[pa.Schema] = arrow_schema(FIELDS)


def object_table_schema(wanted: Schema) -> Schema:
    """Return the schema of a new object table: the fixed columns, and the options that are stored.

    The option ``type`` is not stored: releases of the reference since 1.1 would list the files of the table itself
    instead of reading its rows (docs/adr, 30).

    Raises:
        InvalidSchema: columns or keys contradict those of an object table.
        InvalidOption: the location is missing or relative, or the type is another one.
    """
    location, kind = object_location(wanted.options), TYPE.read(wanted.options)
    if not location.startswith(("/", "file:/")) and "://" not in location:
        raise InvalidOption(
            OBJECT_LOCATION.key, f"'{redact(location)}' is not an absolute path or a URI such as 's3://bucket/a'"
        )
    if TYPE.key in wanted.options and kind != OBJECT_TABLE:
        raise InvalidOption(TYPE.key, f"'{kind}' contradicts '{OBJECT_LOCATION.key}', which makes an object table")
    if wanted.fields and not _has_columns(wanted.fields):
        message = (
            f"'{OBJECT_LOCATION.key}' makes an object table, which has fixed columns, so leave them out; they are "
            f"{columns_text(FIELDS)}, and not "
            f"{columns_text(wanted.fields)}"
        )
        raise InvalidSchema(message)
    if wanted.primary_keys or wanted.partition_keys:
        message = "an object table has neither a primary key nor partition columns; leave them out"
        raise InvalidSchema(message)
    options = {**without_kind(wanted.options), OBJECT_LOCATION.key: location}
    return replace(wanted, fields=FIELDS, options=options)


def check_object_columns(schema: TableSchema, before: TableSchema | None = None) -> None:
    """Refuse an object table with other columns, and changes of the columns of an object table.

    Raises:
        InvalidOption, InvalidSchemaChange: says what is fixed.
    """
    if not is_object_table(schema.options):
        return
    if before is None and not _has_columns(schema.fields):
        raise InvalidOption(OBJECT_LOCATION.key, "makes an object table, which has fixed columns; set it only there")
    if before is not None and before.fields != schema.fields:
        message = "the columns of an object table are fixed; they cannot be changed"
        raise InvalidSchemaChange(message)


def refuse_live_table(name: str, options: Mapping[str, str]) -> None:
    """Refuse an object table of the reference since 1.1, which has no rows of its own: each read lists its directory.

    Raises:
        UnsupportedFeature: it is one.
    """
    if TYPE.read(options) != TABLE and is_object_table(options) and OBJECT_LOCATION.read(options) is None:
        feature = "object tables without 'object-location'"
        message = (
            f"'{name}' is an object table without '{OBJECT_LOCATION.key}', as Paimon creates them since 1.1: it has no "
            "snapshots, and each read lists its directory. Create an object table of this directory here"
        )
        raise UnsupportedFeature(feature, message)


def _has_columns(fields: tuple[DataField, ...]) -> bool:
    given = [(field.name, field.type.with_nullable(True)) for field in fields]
    return given == [(field.name, field.type.with_nullable(True)) for field in FIELDS]

"""Schema files, ``schema/schema-<id>`` (format chapter 02; Java ``org.apache.paimon.schema.SchemaSerializer``).

Versions 1 and 2 have other option defaults. The decoder adds these defaults to the options, so that other code does not
depend on the version.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from table_format.codecs.json_members import JsonMembers
from table_format.codecs.pretty_json import dump_pretty, load_json
from table_format.codecs.type_json import field_json, parse_field
from table_format.errors import BadEncoding, InvalidSchema, LimitExceeded, UnsupportedFeature
from table_format.limits import MAX_COLUMNS
from table_format.model.schema import CURRENT_SCHEMA_VERSION, SCHEMA_VERSION_OF_0_7, TableSchema
from table_format.model.types import DataField

_MEMBERS: Final = frozenset(
    {
        "version",
        "id",
        "fields",
        "highestFieldId",
        "partitionKeys",
        "primaryKeys",
        "options",
        "comment",
        "timeMillis",
    }
)


def encode_schema(s: TableSchema) -> bytes:
    """Return the content of a schema file."""
    members: dict[str, object] = {
        "version": s.version,
        "id": s.id,
        "fields": [field_json(f) for f in s.fields],
        "highestFieldId": s.highest_field_id,
        "partitionKeys": s.partition_keys,
        "primaryKeys": s.primary_keys,
        "options": s.options,
    }
    if s.comment is not None:
        members["comment"] = s.comment
    members["timeMillis"] = s.time_millis
    return dump_pretty(members)


def decode_schema(data: bytes, *, path: str) -> TableSchema:
    """Return the schema in a file; its options include the defaults of its version.

    Raises:
        BadEncoding: the file is not a schema.
        LimitExceeded: the schema has more columns than any valid schema.
        UnsupportedFeature: the schema has a version or a type of a newer release.
    """
    members = JsonMembers(path, load_json(data, path=path))
    members.refuse_damaged_names(_MEMBERS)
    version = members.integer("version", default=1)
    if version > CURRENT_SCHEMA_VERSION:
        feature = f"schema version {version}"
        message = f"{path}: {feature} is not supported; the highest supported version is {CURRENT_SCHEMA_VERSION}"
        raise UnsupportedFeature(feature, message)
    options = _with_defaults_of(version, members.text_map("options"))
    schema = TableSchema(
        version=version,
        id=members.integer("id"),
        fields=_fields(members),
        highest_field_id=members.integer("highestFieldId"),
        partition_keys=members.texts("partitionKeys"),
        primary_keys=members.texts("primaryKeys"),
        options=MappingProxyType(options),
        comment=members.optional_text("comment"),
        time_millis=members.integer("timeMillis", default=0),
    )
    _check(schema, path)
    return schema


def _with_defaults_of(version: int, options: dict[str, str]) -> dict[str, str]:
    if version <= SCHEMA_VERSION_OF_0_7:
        options.setdefault("bucket", "1")
    if version <= 2:
        options.setdefault("file.format", "orc")
    return options


def _fields(members: JsonMembers) -> tuple[DataField, ...]:
    items = members.items("fields")
    if len(items) > MAX_COLUMNS:
        message = f"{len(items)} columns; the maximum is {MAX_COLUMNS}"
        raise LimitExceeded(members.path, message)
    try:
        return tuple(parse_field(item) for item in items)
    except InvalidSchema as e:
        raise BadEncoding(members.path, str(e)) from e
    except UnsupportedFeature as e:
        raise UnsupportedFeature(e.feature, f"{members.path}: {e}") from e


def _check(schema: TableSchema, path: str) -> None:
    _refuse_repeated("column names", schema.field_names, path)
    _refuse_repeated("column ids", [f.id for f in schema.fields], path)
    names = set(schema.field_names)
    for what, keys in (("partitionKeys", schema.partition_keys), ("primaryKeys", schema.primary_keys)):
        unknown = [key for key in keys if key not in names]
        if unknown:
            message = f"{what} names {unknown[0]!r}, which is not a column"
            raise BadEncoding(path, message)
        _refuse_repeated(what, keys, path)


def _refuse_repeated(what: str, items: Sequence[object], path: str) -> None:
    repeated = [item for item, count in Counter(items).items() if count > 1]
    if repeated:
        message = f"expected different {what}, found {repeated[0]!r} twice"
        raise BadEncoding(path, message)

"""Checks schemas and schema changes from callers before they are used.

A type or a column must be representable in schema files: it is written as JSON and read back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields as members_of
from typing import Final, TypeVar, get_args

from table_format.codecs.type_json import field_json, parse_field, parse_type, type_json
from table_format.errors import InvalidInputError, InvalidSchema, InvalidSchemaChange
from table_format.limits import MAX_NAME_BYTES
from table_format.model import arguments
from table_format.model.schema import Schema
from table_format.model.schema_change import ColumnPath, SchemaChange
from table_format.model.types import ArrayType, DataField, DataType, MapType, MultisetType, RowType

_KINDS: Final = get_args(SchemaChange)
_T = TypeVar("_T")


def checked_schema(wanted: object) -> Schema:
    """Check the schema for a new table. Return it with its collections converted to tuples and dicts.

    Raises:
        InvalidInputError: a member is invalid; the message names it with the expected and the actual value.
    """
    if not isinstance(wanted, Schema):
        arguments.refuse("schema", "a Schema (Schema.from_arrow converts an Arrow schema)", wanted)
    fields: object = wanted.fields
    if isinstance(fields, str | bytes | Mapping) or not isinstance(fields, Iterable):
        arguments.refuse("schema.fields", "a sequence of DataFields", fields)
    return Schema(
        fields=tuple(_checked_field(field) for field in fields),
        partition_keys=arguments.name_or_names(wanted.partition_keys, "schema.partition_keys"),
        primary_keys=arguments.name_or_names(wanted.primary_keys, "schema.primary_keys"),
        options=arguments.options_by_key(wanted.options, "schema.options"),
        comment=arguments.optional_text(wanted.comment, "schema.comment"),
    )


def checked_changes(changes: object) -> tuple[SchemaChange, ...]:
    """Check the schema changes of a caller: one, or a sequence.

    Raises:
        InvalidSchemaChange: a change is invalid; the message names it, and the expected and the actual value.
    """
    if isinstance(changes, _KINDS):
        listed: Sequence[object] = (changes,)
    elif isinstance(changes, Sequence) and not isinstance(changes, str | bytes):
        listed = changes
    else:
        message = f"changes: expected a SchemaChange or a sequence of them, found {arguments.shown(changes)}"
        raise InvalidSchemaChange(message)
    return tuple(_checked_change(change) for change in listed)


def _checked_change(change: object) -> SchemaChange:
    if not isinstance(change, _KINDS):
        message = f"changes: expected a SchemaChange, found {arguments.shown(change)}"
        raise InvalidSchemaChange(message)
    kind = type(change).__name__
    try:
        for member in members_of(change):
            check = _CHECKS[member.name]
            check(getattr(change, member.name), f"{kind}.{member.name}")
    except InvalidInputError as error:
        raise InvalidSchemaChange(str(error)) from error
    return change  # type: ignore[no-any-return]  # one of _KINDS


def _column_path(value: object, argument: str) -> ColumnPath:
    if isinstance(value, str):
        return arguments.text(value, argument)
    if not isinstance(value, tuple):
        arguments.refuse(argument, "the name of a column, or a tuple of names as a path to it", value)
    return tuple(arguments.text(name, argument) for name in value)


def _checked_field(field: object) -> DataField:
    if not isinstance(field, DataField):
        arguments.refuse("schema.fields", "DataFields", field)
    name = arguments.text(field.name, "the name of a column")
    _check_readable(field, lambda: parse_field(field_json(field)), f"column '{name[:MAX_NAME_BYTES]}'")
    _check_texts(field, f"column '{name[:MAX_NAME_BYTES]}'")
    _check_rows(field.type, f"column '{name[:MAX_NAME_BYTES]}'")
    return field


def _data_type(value: object, argument: str) -> DataType:
    if not isinstance(value, DataType):
        arguments.refuse(argument, "a DataType of table_format.types, such as IntType()", value)
    _check_readable(value, lambda: parse_type(type_json(value)), argument)
    _check_rows(value, argument)
    return value


def _check_rows(data_type: DataType, argument: str) -> None:
    match data_type:
        case RowType(fields=()):
            message = f"{argument}: a ROW without fields cannot be stored in a data file; give it a field"
            raise InvalidSchema(message)
        case RowType(fields=fields):
            for field in fields:
                _check_texts(field, argument)
                _check_rows(field.type, argument)
        case ArrayType(element=element) | MultisetType(element=element):
            _check_rows(element, argument)
        case MapType(key=key, value=value):
            _check_rows(key, argument)
            _check_rows(value, argument)


def _check_texts(field: DataField, argument: str) -> None:
    arguments.text(field.name, f"{argument}: name")
    arguments.optional_text(field.description, f"{argument}: description")
    arguments.optional_text(field.default_value, f"{argument}: default_value")


def _check_readable(value: _T, read_back: Callable[[], _T], argument: str) -> None:
    try:
        found = read_back()
    except (InvalidSchema, TypeError, AttributeError, ValueError, RecursionError, NotImplementedError) as error:
        message = (
            f"{argument}: expected a value that a schema file can represent, found {arguments.shown(value)}: {error}"
        )
        raise InvalidSchema(message) from error
    if found != value:
        message = f"{argument}: {arguments.shown(value)} would be read back as {arguments.shown(found)}"
        raise InvalidSchema(message)


_CHECKS: Final[Mapping[str, Callable[[object, str], object]]] = {
    "name": _column_path,
    "new_name": arguments.text,
    "key": arguments.text,
    "value": arguments.text,
    "comment": arguments.optional_text,
    "default": arguments.optional_text,
    "after": arguments.optional_text,
    "first": arguments.flag,
    "nullable": arguments.flag,
    "type": _data_type,
}
"""The checks of the members of all changes, by name; a name has the same meaning in all of them."""

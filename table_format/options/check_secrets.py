"""Keeps secrets out of what a table stores for every reader: options, comments and snapshot properties."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from table_format.errors import InvalidInputError, InvalidOption, InvalidSchema
from table_format.model.schema import TableSchema
from table_format.model.types import ArrayType, DataField, DataType, MapType, MultisetType, RowType
from table_format.secrets import Secret, holds_secret, is_secret_key

_OUT_OF_PLACE = "which the schema of a table shows to every reader; pass it in the environment of the process"


def refuse_secret(key: str, value: object) -> None:
    """Refuse a table option whose key or value indicates a secret.

    Raises:
        InvalidOption: names the key but not the value.
    """
    if isinstance(value, Secret) or is_secret_key(key):
        raise InvalidOption(key, f"names a secret, {_OUT_OF_PLACE}")
    if isinstance(value, str) and holds_secret(value):
        raise InvalidOption(key, f"its value holds a secret (a password, token or key), {_OUT_OF_PLACE}")


def refuse_secret_comments(schema: TableSchema, before: TableSchema | None = None) -> None:
    """Refuse comments that hold a secret. Comments in ``before`` are not checked again.

    Raises:
        InvalidSchema: names the column, or the table.
    """
    known = frozenset() if before is None else frozenset(text for _, text in _comments(before))
    for where, text in _comments(schema):
        if text not in known and holds_secret(text):
            message = f"the comment of {where} holds a secret (a password, token or key), {_OUT_OF_PLACE}"
            raise InvalidSchema(message)


def refuse_secret_properties(properties: Mapping[str, str]) -> None:
    """Refuse properties of a snapshot that hold a secret. A number under the key of a secret is an id or a count.

    Raises:
        InvalidInputError: names the key but not the value.
    """
    for key, value in properties.items():
        is_number = isinstance(value, str) and value.isdecimal() and len(value) < 20
        if (is_secret_key(key) and not is_number) or (isinstance(value, str) and holds_secret(value)):
            message = f"the property '{key}' holds a secret, which the snapshot shows to every reader; remove it"
            raise InvalidInputError(message)


def _comments(schema: TableSchema) -> Iterator[tuple[str, str]]:
    if isinstance(schema.comment, str):
        yield "the table", schema.comment
    for field in schema.fields:
        yield from _comments_of(field, field.name)


def _comments_of(field: DataField, column: str) -> Iterator[tuple[str, str]]:
    if isinstance(field.description, str):
        yield f"column '{column}'", field.description
    for inner in _fields_in(field.type):
        yield from _comments_of(inner, f"{column}.{inner.name}")


def _fields_in(data_type: DataType) -> Iterator[DataField]:
    match data_type:
        case RowType(fields=fields):
            yield from fields
        case ArrayType(element=element) | MultisetType(element=element):
            yield from _fields_in(element)
        case MapType(key=key, value=value):
            yield from _fields_in(key)
            yield from _fields_in(value)

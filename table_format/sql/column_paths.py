"""Spells the columns of ALTER TABLE as the table does, because SQL ignores case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from table_format.errors import InvalidInputError
from table_format.model.schema_change import (
    AddColumn,
    MoveColumn,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetComment,
    SetOption,
)
from table_format.model.types import ArrayType, DataField, DataType, MapType, RowType


def spelled_change(change: SchemaChange, fields: Sequence[DataField]) -> SchemaChange:
    """Return the change with the names of existing columns and nested fields as the table spells them.

    Names that do not exist, or that several columns have if case is ignored, stay as they are.

    Raises:
        InvalidInputError: a new name differs only in case from that of another column.
    """
    if isinstance(change, SetOption | RemoveOption | SetComment):
        return change
    written = (change.name,) if isinstance(change.name, str) else change.name
    path = _spelled_path(written, fields)
    siblings = _fields_at(path[:-1], fields)
    match change:
        case AddColumn(after=after):
            name = written[-1]
            _check_new(name, siblings)
            return replace(change, name=(*path[:-1], name), after=None if after is None else _spelled(after, siblings))
        case RenameColumn(new_name=new_name):
            _check_new(new_name, [field for field in siblings if field.name != path[-1]])
            return replace(change, name=path)
        case MoveColumn(after=after) if after is not None:
            return replace(change, name=path, after=_spelled(after, siblings))
    return replace(change, name=path)


def check_names(names: Sequence[str]) -> None:
    """Check that statements can tell the columns of a new table apart.

    Raises:
        InvalidInputError: two names differ only in case.
    """
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise _differs_in_case(name, other)


def _spelled_path(path: tuple[str, ...], fields: Sequence[DataField]) -> tuple[str, ...]:
    found: tuple[str, ...] = ()
    for name in path:
        found = (*found, _spelled(name, _fields_at(found, fields)))
    return found


def _spelled(name: str, fields: Sequence[DataField]) -> str:
    if any(field.name == name for field in fields):
        return name
    alike = [field.name for field in fields if field.name.lower() == name.lower()]
    return alike[0] if len(alike) == 1 else name


def _check_new(name: str, fields: Sequence[DataField]) -> None:
    for field in fields:
        if field.name != name and field.name.lower() == name.lower():
            raise _differs_in_case(name, field.name)


def _differs_in_case(name: str, other: str) -> InvalidInputError:
    message = f"column '{name}' differs only in case from the column '{other}'; choose another name"
    return InvalidInputError(message)


def _fields_at(path: tuple[str, ...], fields: Sequence[DataField]) -> Sequence[DataField]:
    """Return the fields of the ROW, array or map at a path; none if there is nothing."""
    for name in path:
        found = next((field.type for field in fields if field.name == name), None)
        fields = () if found is None else _fields_of(found)
    return fields


def _fields_of(data_type: DataType) -> Sequence[DataField]:
    match data_type:
        case RowType(fields=fields):
            return fields
        case ArrayType(element=element):
            return (DataField(0, "element", element),)
        case MapType(key=key, value=value):
            return DataField(0, "key", key), DataField(1, "value", value)
    return ()

"""Applies changes to a schema (format chapter 02, sections 3, 5 and 6; Java ``SchemaManager.generateTableSchema``).

Field ids are never reused: a new column gets the next id before its nested fields, and ``highest_field_id`` only grows.
The types of keys cannot change. Other columns can change to any type to which Java casts their values: files do not
change, and their values are cast when they are read. The functions are pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, assert_never

from table_format.errors import InvalidSchemaChange, UnsupportedFeature
from table_format.formats.java_casts import java_casts
from table_format.limits import MAX_COLUMNS, MAX_NAME_BYTES
from table_format.metastore.schema.option_columns import columns_bound_by_options, rename_in_options
from table_format.metastore.schema.schema_arguments import checked_changes
from table_format.model.column_names import no_such_column
from table_format.model.default_values import default_of
from table_format.model.schema import CURRENT_SCHEMA_VERSION, KEY_FIELD_PREFIX, SYSTEM_FIELD_NAMES, TableSchema
from table_format.model.schema_change import (
    AddColumn,
    AlterColumnType,
    ColumnPath,
    DropColumn,
    MoveColumn,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetColumnComment,
    SetColumnDefault,
    SetComment,
    SetNullability,
    SetOption,
    column_path,
)
from table_format.model.type_changes import may_cast
from table_format.model.types import ArrayType, DataField, DataType, MapType, MultisetType, RowType
from table_format.options.alter import (
    EXPLICIT_CASTS_DISABLED,
    NULL_TO_NOT_NULL_DISABLED,
    AlterOptions,
)
from table_format.options.declare import parse_group
from table_format.options.stored_text import stored_options

_Edit = Callable[[tuple[DataField, ...]], tuple[DataField, ...]]
_ELEMENT: Final = "element"
_VALUE: Final = "value"
_IMMUTABLE_OPTIONS: Final = frozenset({"primary-key", "partition", "path", "branch"})


@dataclass(slots=True)
class FieldIds:
    """The counter of field ids of one table."""

    highest: int

    def assign(self, data_type: DataType) -> DataType:
        """Return the type with new ids for the fields of every ROW in it, depth first."""
        match data_type:
            case RowType(fields=fields):
                return replace(data_type, fields=tuple(self.assign_field(f) for f in fields))
            case ArrayType(element=element) | MultisetType(element=element):
                return replace(data_type, element=self.assign(element))
            case MapType(key=key, value=value):
                return replace(data_type, key=self.assign(key), value=self.assign(value))
        return data_type

    def assign_field(self, field: DataField) -> DataField:
        """Return the field with a new id, and with new ids within its type."""
        self.highest += 1
        field_id = self.highest
        return replace(field, id=field_id, type=self.assign(field.type))


def apply_changes(
    schema: TableSchema, changes: Sequence[SchemaChange], *, time_millis: int | None = None
) -> TableSchema:
    """Return the schema after the changes, with the next id; the same object if nothing changes.

    Raises:
        InvalidSchemaChange: a change is not possible for the schema.
        ColumnNotFound: a change names a column that does not exist.
        InvalidOption: an option that allows or forbids changes is malformed.
    """
    changed = schema
    rules = parse_group(AlterOptions, schema.options)
    for change in checked_changes(changes):
        changed = _apply(changed, change, rules)
    if changed == schema:
        return schema
    if len(changed.fields) > MAX_COLUMNS:
        message = f"a table has at most {MAX_COLUMNS} columns, this one would have {len(changed.fields)}"
        raise InvalidSchemaChange(message)
    return replace(
        changed,
        id=schema.id + 1,
        version=CURRENT_SCHEMA_VERSION,
        time_millis=schema.time_millis if time_millis is None else time_millis,
    )


def _apply(schema: TableSchema, change: SchemaChange, rules: AlterOptions) -> TableSchema:
    match change:
        case AddColumn():
            return _add_column(schema, change, rules)
        case DropColumn(name):
            _refuse_bound(schema, name, "drop", *_all_keys(schema))
            return _edit_level(schema, name, lambda fields: _without(fields, _path(name)[-1]))
        case RenameColumn():
            return _rename_column(schema, change)
        case AlterColumnType(name, data_type):
            _refuse_bound(schema, name, "change the type of", *_all_keys(schema), options=False)
            return _edit_column(schema, name, lambda field: _with_type(field, data_type, rules), elements=True)
        case SetNullability(name, nullable):
            _refuse_bound(schema, name, "change the nullability of", schema.primary_keys, options=False)
            return _edit_column(
                schema, name, lambda field: _with_nullability(field, rules, nullable=nullable), elements=True
            )
        case SetColumnComment(name, comment):
            return _edit_column(schema, name, lambda field: replace(field, description=comment))
        case SetColumnDefault(name, default):
            return _edit_column(schema, name, lambda field: _with_default(field, default, len(_path(name))))
        case MoveColumn(name, after, first):
            return _edit_level(schema, name, lambda fields: _moved(fields, _path(name)[-1], after, first=first))
        case SetComment(comment):
            return replace(schema, comment=comment)
        case SetOption(key, value):
            _refuse_immutable(key)
            return replace(schema, options=stored_options({**schema.options, key: value}, changed=(key,)))
        case RemoveOption(key):
            _refuse_immutable(key)
            return replace(schema, options={k: v for k, v in schema.options.items() if k != key})
        case _:
            assert_never(change)


def _add_column(schema: TableSchema, change: AddColumn, rules: AlterOptions) -> TableSchema:
    *_, name = path = _path(change.name)
    check_column_name(name, top_level=len(path) == 1)
    if not change.type.nullable:
        message = f"column '{name}' must be nullable: the rows already written have no value for it"
        raise InvalidSchemaChange(message)
    ids = FieldIds(schema.highest_field_id)
    field = ids.assign_field(DataField(0, name, change.type, change.comment))

    def insert(fields: tuple[DataField, ...]) -> tuple[DataField, ...]:
        _refuse_duplicate(fields, name)
        at = _position(fields, change.after, first=change.first)
        if rules.add_before_partition and len(path) == 1 and change.after is None and not change.first:
            at = next((i for i, f in enumerate(fields) if f.name in schema.partition_keys), at)
        return (*fields[:at], field, *fields[at:])

    return replace(_edit_level(schema, change.name, insert), highest_field_id=ids.highest)


def _rename_column(schema: TableSchema, change: RenameColumn) -> TableSchema:
    *_, name = path = _path(change.name)
    _refuse_bound(schema, change.name, "rename", schema.partition_keys, options=False)
    check_column_name(change.new_name, top_level=len(path) == 1)

    def rename(fields: tuple[DataField, ...]) -> tuple[DataField, ...]:
        _find(fields, name)
        _refuse_duplicate(fields, change.new_name)
        return tuple(replace(f, name=change.new_name) if f.name == name else f for f in fields)

    renamed = _edit_level(schema, change.name, rename)
    if len(path) > 1:
        return renamed
    return replace(
        renamed,
        primary_keys=tuple(change.new_name if key == name else key for key in schema.primary_keys),
        options=rename_in_options(schema.options, name, change.new_name),
    )


def check_column_name(name: str, *, top_level: bool = True) -> None:
    """Refuse a name that is not legal for a column.

    Raises:
        InvalidSchemaChange: the name is blank, too long, or reserved.
    """
    problem = None
    if not name.strip():
        problem = "it is blank"
    elif "\0" in name:
        problem = "it holds NUL"
    elif len(name.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES:
        problem = f"it is longer than {MAX_NAME_BYTES} bytes"
    elif top_level and (name in SYSTEM_FIELD_NAMES or name.startswith(KEY_FIELD_PREFIX)):
        problem = "the format uses it for itself"
    if problem:
        message = f"column name {name!r} is not legal: {problem}"
        raise InvalidSchemaChange(message)


def _with_type(field: DataField, data_type: DataType, rules: AlterOptions) -> DataField:
    wanted = data_type.with_nullable(field.type.nullable)
    if wanted == field.type:
        return field
    problem = None
    if not may_cast(field.type, wanted, explicit=True) or not java_casts(field.type, wanted):
        problem = "there is no cast between them; add a column of the new type instead"
    elif rules.explicit_casts_disabled and not may_cast(field.type, wanted, explicit=False):
        problem = f"values need an explicit cast, which '{EXPLICIT_CASTS_DISABLED.key}' = true forbids"
    if problem:
        message = f"column '{field.name}' cannot change from {field.type} to {wanted}: {problem}"
        raise InvalidSchemaChange(message)
    changed = replace(field, type=wanted)
    default_of(changed)
    return changed


def _with_default(field: DataField, default: str | None, depth: int) -> DataField:
    if depth > 1:
        feature = "a default value of a field within a ROW"
        raise UnsupportedFeature(feature)
    changed = replace(field, default_value=default)
    default_of(changed)
    return changed


def _with_nullability(field: DataField, rules: AlterOptions, *, nullable: bool) -> DataField:
    if field.type.nullable and not nullable and rules.null_to_not_null_disabled:
        message = (
            f"column '{field.name}' cannot become NOT NULL: rows already written may hold nulls; if none does, set "
            f"'{NULL_TO_NOT_NULL_DISABLED.key}' = false first"
        )
        raise InvalidSchemaChange(message)
    return replace(field, type=field.type.with_nullable(nullable))


def _without(fields: tuple[DataField, ...], name: str) -> tuple[DataField, ...]:
    _find(fields, name)
    if len(fields) == 1:
        message = f"column '{name}' cannot be dropped: it is the last one"
        raise InvalidSchemaChange(message)
    return tuple(f for f in fields if f.name != name)


def _moved(fields: tuple[DataField, ...], name: str, after: str | None, *, first: bool) -> tuple[DataField, ...]:
    field = _find(fields, name)
    if after == name:
        message = f"column '{name}' cannot be moved after itself"
        raise InvalidSchemaChange(message)
    rest = tuple(f for f in fields if f.name != name)
    at = _position(rest, after, first=first)
    return (*rest[:at], field, *rest[at:])


def _position(fields: tuple[DataField, ...], after: str | None, *, first: bool) -> int:
    if first and after is not None:
        message = f"a column cannot be first and after '{after}'; give one of them"
        raise InvalidSchemaChange(message)
    if first:
        return 0
    if after is None:
        return len(fields)
    return fields.index(_find(fields, after)) + 1


# --- finding a column in nested types -------------------------------------------------------------------------------


def _edit_column(
    schema: TableSchema, name: ColumnPath, edit: Callable[[DataField], DataField], *, elements: bool = False
) -> TableSchema:
    """Apply ``edit`` to one column; with ``elements``, also to the elements of an array or the values of a map."""
    last = _path(name)[-1]

    def edit_one(fields: tuple[DataField, ...]) -> tuple[DataField, ...]:
        _find(fields, last)
        return tuple(edit(f) if f.name == last else f for f in fields)

    return _edit_level(schema, name, edit_one, elements=elements)


def _edit_level(schema: TableSchema, name: ColumnPath, edit: _Edit, *, elements: bool = False) -> TableSchema:
    """Apply ``edit`` to the fields of the level of the last name in the path."""
    level = _Level(_path(name), edit, elements=elements)
    return replace(schema, fields=level.within(schema.fields, 0))


def _path(name: ColumnPath) -> tuple[str, ...]:
    path = column_path(name)
    if not path:
        message = "a change must name a column; its path is empty"
        raise InvalidSchemaChange(message)
    return path


@dataclass(frozen=True, slots=True)
class _Level:
    """The path to the fields to which ``edit`` is applied; array elements and map values have their own names."""

    path: tuple[str, ...]
    edit: _Edit
    elements: bool
    """Whether the last name may be that of array elements or map values."""

    def within(self, fields: tuple[DataField, ...], depth: int) -> tuple[DataField, ...]:
        if depth == len(self.path) - 1:
            return self.edit(fields)
        name = self.path[depth]
        outer = _find(fields, name)
        inner = replace(outer, type=self._in_type(outer.type, depth + 1))
        return tuple(inner if f.name == name else f for f in fields)

    def _in_type(self, data_type: DataType, depth: int) -> DataType:
        match data_type:
            case RowType(fields=fields):
                return replace(data_type, fields=self.within(fields, depth))
            case ArrayType(element=element):
                return replace(data_type, element=self._in_element(_ELEMENT, element, data_type, depth))
            case MapType(value=value):
                return replace(data_type, value=self._in_element(_VALUE, value, data_type, depth))
        raise self._refusal(data_type, depth, f"has no field '{self.path[depth]}'")

    def _in_element(self, name: str, element: DataType, outer: DataType, depth: int) -> DataType:
        if self.path[depth] != name:
            raise self._refusal(outer, depth, f"has no '{self.path[depth]}'; use '{name}'")
        if depth < len(self.path) - 1:
            return self._in_type(element, depth + 1)
        if not self.elements:
            raise self._refusal(outer, depth, f"only the type of its '{name}' can change")
        [edited] = self.edit((DataField(0, name, element),))
        return edited.type

    def _refusal(self, outer: DataType, depth: int, problem: str) -> InvalidSchemaChange:
        message = f"column '{'.'.join(self.path[:depth])}' is {outer} and {problem}"
        return InvalidSchemaChange(message)


def _find(fields: Sequence[DataField], name: str) -> DataField:
    for field in fields:
        if field.name == name:
            return field
    raise no_such_column(name, (field.name for field in fields))


# --- what may not change --------------------------------------------------------------------------------------------


def _all_keys(schema: TableSchema) -> Iterator[tuple[str, ...]]:
    yield schema.primary_keys
    yield schema.partition_keys
    yield schema.bucket_keys


def _refuse_bound(
    schema: TableSchema, name: ColumnPath, action: str, *keys: tuple[str, ...], options: bool = True
) -> None:
    top, *nested = _path(name)
    if nested:
        return
    if any(top in group for group in keys):
        message = f"cannot {action} column '{top}': it is part of the primary key, the partition keys or the bucket key"
        raise InvalidSchemaChange(message)
    bound = columns_bound_by_options(schema.options) if options else {}
    if top in bound:
        message = f"cannot {action} column '{top}': option '{bound[top]}' names it; change the option first"
        raise InvalidSchemaChange(message)


def _refuse_duplicate(fields: Sequence[DataField], name: str) -> None:
    if any(f.name == name for f in fields):
        message = f"column '{name}' already exists"
        raise InvalidSchemaChange(message)


def _refuse_immutable(key: str) -> None:
    if key in _IMMUTABLE_OPTIONS:
        message = f"option '{key}' is fixed when the table is created"
        raise InvalidSchemaChange(message)

"""How a table follows the frames that are written to it: which schema changes a frame asks for, or why it may not.

A frame that lacks a column gets nulls, one whose type is narrower is cast; neither changes the table, so days of before
a schema change are written to the table of after it. Options follow the asset: a table changes its mode with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from table_format.errors import InvalidData
from table_format.model.row_kind import ROW_KIND_COLUMN
from table_format.model.schema import TableSchema
from table_format.model.schema_change import (
    AddColumn,
    AlterColumnType,
    SchemaChange,
    SetColumnComment,
    SetComment,
    SetOption,
)
from table_format.model.type_changes import can_widen
from table_format.model.types import DataField
from table_format.secrets import shown_option

_BUCKET: Final = "bucket"


class SchemaEvolution(StrEnum):
    """What a frame may do to the schema of its table. Dagster takes the names, so they are in lower case."""

    error = "error"
    add_columns = "add_columns"
    widen = "widen"


def changes_for(
    table: TableSchema, frame: Sequence[DataField], policy: SchemaEvolution, *, name: str, partial: bool = False
) -> tuple[SchemaChange, ...]:
    """The schema changes that make room for the frame, none when it fits.

    A ``partial`` frame names rows to delete: of the columns that are NOT NULL it needs the keys only.

    Raises:
        InvalidData: the policy, or the format, does not allow what the frame needs.
    """
    changes: list[SchemaChange] = []
    known = {field.name: field for field in table.fields}
    for field in frame:
        if field.name == ROW_KIND_COLUMN:
            continue
        current = known.get(field.name)
        if current is None:
            changes.append(_addition(field, policy, name))
        elif not can_widen(field.type, current.type):
            changes.append(_widening(current, field, policy, name))
    _refuse_missing(table, frame, name, partial=partial)
    return tuple(changes)


def option_changes(table: TableSchema, wanted: Mapping[str, str]) -> tuple[SetOption, ...]:
    """What makes the options of a table those that its asset names, the number of buckets apart: see ``other_buckets``.

    Options that the asset does not name stay as they are.
    """
    return tuple(SetOption(k, v) for k, v in wanted.items() if k != _BUCKET and table.options.get(k) != v)


def comment_changes(
    table: TableSchema, columns: Mapping[str, str], comment: str | None
) -> tuple[SetColumnComment | SetComment, ...]:
    """What makes the comments of a table and its columns those that its asset gives; others stay as they are."""
    present = {field.name: field.description for field in table.fields}
    changes = [SetColumnComment(n, text) for n, text in columns.items() if n in present and present[n] != text]
    return (*changes, *([SetComment(comment)] if comment is not None and comment != table.comment else []))


def other_buckets(table: TableSchema, wanted: Mapping[str, str], *, name: str) -> str | None:
    """What to say when a table has another number of buckets than its asset names: that would rewrite all its files."""
    found = table.options.get(_BUCKET)
    if _BUCKET not in wanted or found == wanted[_BUCKET]:
        return None
    return f"{name}: the table has bucket = {found} and keeps it; paimon/options of its asset say {wanted[_BUCKET]}"


def described(table: TableSchema, changes: Sequence[SchemaChange]) -> tuple[str, ...]:
    """The changes in words, for a log."""
    return tuple(_described(table, change) for change in changes)


def _described(table: TableSchema, change: SchemaChange) -> str:
    match change:
        case AddColumn(name=name, type=new):
            return f"+ {name} {new}"
        case AlterColumnType(name=str(name), type=new):
            return f"{name} {table.field(name).type} -> {new}"
        case SetColumnComment(name=str(name), comment=text):
            return f"comment of {name}: {text}"
        case SetComment(comment=text):
            return f"comment: {text}"
        case SetOption(key=key, value=value):
            return f"{key} = {shown_option(key, value)}"
    return str(change)


def _addition(field: DataField, policy: SchemaEvolution, name: str) -> AddColumn:
    if policy is SchemaEvolution.error:
        message = (
            f"{name}: the frame has the column {field}, which the table has not; drop it, "
            "or set schema_evolution to add_columns or widen"
        )
        raise InvalidData(message)
    return AddColumn(field.name, field.type.with_nullable(True), field.description)


def _widening(current: DataField, field: DataField, policy: SchemaEvolution, name: str) -> AlterColumnType:
    if not can_widen(current.type, field.type):
        message = (
            f"{name}: column '{field.name}' is {current.type} in the table and {field.type} in the frame, and neither "
            "holds every value of the other; cast it in the asset"
        )
        raise InvalidData(message)
    if policy is not SchemaEvolution.widen:
        message = (
            f"{name}: column '{field.name}' is {current.type} in the table and the wider {field.type} in the frame; "
            "cast it in the asset, or set schema_evolution to widen"
        )
        raise InvalidData(message)
    return AlterColumnType(field.name, field.type.with_nullable(current.type.nullable))


def _refuse_missing(table: TableSchema, frame: Sequence[DataField], name: str, *, partial: bool) -> None:
    present = {field.name for field in frame}
    missing = [f.name for f in table.fields if f.name not in present and not f.type.nullable]
    if partial:
        sequence = [key.strip() for key in table.options.get("sequence.field", "").split(",") if key.strip()]
        missing += [key for key in sequence if key not in present]
        if missing:
            message = f"{name}: the frame lacks {', '.join(missing)}; a delete needs the keys and the sequence fields"
            raise InvalidData(message)
    if missing:
        message = f"{name}: the frame lacks {', '.join(missing)}, which the table requires (NOT NULL)"
        raise InvalidData(message)

"""Schema evolution: the schema changes that a frame requires, or why they are not allowed.

Missing columns of a frame become nulls, and narrower types are cast. Neither changes the table, so old data can be
written after a schema change. The options of the table follow those of the asset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from table_format import AddColumn, AlterColumnType, SchemaChange, SetColumnComment, SetComment, SetOption, TableSchema
from table_format.engine.support import ROW_KIND_COLUMN, can_widen
from table_format.errors import InvalidData
from table_format.secrets import shown_option
from table_format.types import DataField

_BUCKET: Final = "bucket"


class SchemaEvolution(StrEnum):
    """The schema changes that a frame may cause. Dagster shows the names, so they are in lower case."""

    error = "error"
    add_columns = "add_columns"
    widen = "widen"


def changes_for(
    table: TableSchema, frame: Sequence[DataField], policy: SchemaEvolution, *, name: str, partial: bool = False
) -> tuple[SchemaChange, ...]:
    """Return the schema changes that a frame requires; none if it fits.

    A ``partial`` frame names rows to delete: of the NOT NULL columns, it needs only the keys.

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
            _refuse_other_case(field, table, name)
            changes.append(_addition(field, policy, name))
        elif not can_widen(field.type, current.type):
            changes.append(_widening(current, field, policy, name))
    _refuse_missing(table, frame, name, partial=partial)
    return tuple(changes)


def option_changes(table: TableSchema, wanted: Mapping[str, str]) -> tuple[SetOption, ...]:
    """Return the changes to the options of an asset, except the number of buckets: see ``other_buckets``.

    Options that the asset does not set stay the same.
    """
    return tuple(SetOption(k, v) for k, v in wanted.items() if k != _BUCKET and table.options.get(k) != v)


def comment_changes(
    table: TableSchema, columns: Mapping[str, str], comment: str | None, *, added: Sequence[SchemaChange] = ()
) -> tuple[SetColumnComment | SetComment, ...]:
    """Return the changes to the comments of an asset, after the ``added`` columns; other comments stay the same.

    A comment of a column that the table does not have waits for the run that adds the column.
    """
    present: dict[str, str | None] = {field.name: field.description for field in table.fields}
    present.update(
        (change.name, None) for change in added if isinstance(change, AddColumn) and isinstance(change.name, str)
    )
    changes = [SetColumnComment(n, text) for n, text in columns.items() if n in present and present[n] != text]
    return (*changes, *([SetComment(comment)] if comment is not None and comment != table.comment else []))


def other_buckets(table: TableSchema, wanted: Mapping[str, str], *, name: str) -> str | None:
    """Return a remark if the table has another number of buckets than its asset: a change would rewrite all files."""
    found = table.options.get(_BUCKET)
    if _BUCKET not in wanted or found == wanted[_BUCKET]:
        return None
    return f"{name}: the table has bucket = {found} and keeps it; paimon/options of its asset say {wanted[_BUCKET]}"


def described(table: TableSchema, changes: Sequence[SchemaChange]) -> tuple[str, ...]:
    """Describe the changes for a log."""
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


def _refuse_other_case(field: DataField, table: TableSchema, name: str) -> None:
    """Refuse a new column that SQL engines cannot tell from one of the table."""
    alike = [known for known in table.field_names if known.lower() == field.name.lower()]
    if alike:
        message = (
            f"{name}: the frame has the column {field.name}, and the table has {alike[0]}, which differs in case only; "
            "rename the column in the asset"
        )
        raise InvalidData(message)


def _addition(field: DataField, policy: SchemaEvolution, name: str) -> AddColumn:
    if policy is SchemaEvolution.error:
        message = (
            f"{name}: the frame has the column {field}, which the table does not have; drop it, "
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

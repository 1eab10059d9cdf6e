"""Finds the schema changes with which a table can store rows of another schema (Java ``SchemaMergingUtils``)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from table_format.errors import InvalidData
from table_format.model.schema_change import AddColumn, AlterColumnType
from table_format.model.type_changes import can_widen
from table_format.model.types import DataField, RowType


def changes_to_hold(
    fields: Sequence[DataField], rows: Sequence[DataField], *, fixed: Collection[str] = ()
) -> tuple[AddColumn | AlterColumnType, ...]:
    """Return the changes after which the columns can hold the rows: new columns at the end, and wider types.

    Fields of ROW types are changed in the same way. The types of the ``fixed`` columns, the keys, do not change.
    Columns are matched by name.

    >>> from table_format.model.types import BigIntType, IntType
    >>> stored, rows = [DataField(0, "a", IntType())], [DataField(0, "a", BigIntType())]
    >>> changes_to_hold(stored, rows)
    (AlterColumnType(name=('a',), type=BigIntType(nullable=True)),)

    Raises:
        InvalidData: the types of a column and of the rows have no common type.
    """
    return tuple(_changes((), fields, rows, fixed))


def _changes(
    path: tuple[str, ...], fields: Sequence[DataField], rows: Sequence[DataField], fixed: Collection[str]
) -> Iterator[AddColumn | AlterColumnType]:
    known = {field.name: field for field in fields}
    for row in rows:
        name = (*path, row.name)
        field = known.get(row.name)
        if field is None:
            yield AddColumn(name, row.type.with_nullable(True), row.description)
        elif isinstance(field.type, RowType) and isinstance(row.type, RowType):
            yield from _changes(name, field.type.fields, row.type.fields, ())
        elif row.name in fixed or can_widen(row.type, field.type):
            continue
        elif can_widen(field.type, row.type):
            yield AlterColumnType(name, row.type.with_nullable(field.type.nullable))
        else:
            stored, found = (column.type.with_nullable(True) for column in (field, row))
            message = (
                f"column '{'.'.join(name)}' is {stored}, and {found} in the rows: neither type holds all values "
                "of the other, so write.merge-schema cannot merge them; cast the column of the rows"
            )
            raise InvalidData(message)

"""Checks whether the columns of one schema can hold every value of another schema of the same table.

A table that was opened with an older schema may find files that were written with a newer one. Reading them is safe if
each column that is read can hold every value of the file. Writing the rows back is safe only if nothing in the file is
left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from table_format.model.schema import SYSTEM_FIELD_ID_START
from table_format.model.type_changes import keeps_bounds
from table_format.model.types import ArrayType, DataField, DataType, MapType, MultisetType, RowType


def narrowed_columns(written: Sequence[DataField], wanted: Sequence[DataField]) -> tuple[str, ...]:
    """Return the columns of ``wanted`` that cannot hold every value of the column with the same id in a file.

    >>> from table_format.model.types import BigIntType, IntType
    >>> narrowed_columns([DataField(0, "n", BigIntType())], [DataField(0, "n", IntType())])
    ('n',)
    >>> narrowed_columns([DataField(0, "n", IntType())], [DataField(0, "m", BigIntType())])
    ()
    """
    by_id = {field.id: field for field in written}
    return tuple(f.name for f in wanted if f.id in by_id and not holds(f.type, by_id[f.id].type, whole=False))


def dropped_columns(written: Sequence[DataField], wanted: Sequence[DataField]) -> tuple[str, ...]:
    """Return the columns of ``wanted`` that a newer schema, ``written``, no longer has, as a whole or a field in them.

    A column that was added later under the same name has another id.

    >>> from table_format.model.types import IntType
    >>> dropped_columns([DataField(2, "n", IntType())], [DataField(0, "n", IntType())])
    ('n',)
    """
    by_id = {field.id: field for field in written}
    columns = (f for f in wanted if f.id < SYSTEM_FIELD_ID_START)
    return tuple(f.name for f in columns if f.id not in by_id or not _has_fields(by_id[f.id].type, f.type))


def _has_fields(source: DataType, target: DataType) -> bool:
    """Return whether ``source`` has all fields of ``target``."""
    match source, target:
        case ArrayType(element=old), ArrayType(element=new):
            return _has_fields(old, new)
        case MultisetType(element=old), MultisetType(element=new):
            return _has_fields(old, new)
        case MapType(key=old_key, value=old), MapType(key=new_key, value=new):
            return _has_fields(old_key, new_key) and _has_fields(old, new)
        case RowType(fields=old_fields), RowType(fields=new_fields):
            by_id = {field.id: field.type for field in old_fields}
            return all(f.id in by_id and _has_fields(by_id[f.id], f.type) for f in new_fields)
    return True


def lost_columns(written: Sequence[DataField], target: Sequence[DataField]) -> tuple[str, ...]:
    """Return the columns of a file that lose values if its rows are read as ``target`` and written back.

    >>> from table_format.model.types import IntType
    >>> lost_columns([DataField(0, "a", IntType()), DataField(1, "b", IntType())], [DataField(0, "a", IntType())])
    ('b',)
    """
    by_id = {field.id: field for field in target}
    return tuple(f.name for f in written if f.id not in by_id or not holds(by_id[f.id].type, f.type, whole=True))


def holds(target: DataType, source: DataType, *, whole: bool) -> bool:
    """Return whether ``target`` holds every value of ``source``, with ``whole`` also its nulls and all its fields.

    >>> from table_format.model.types import BigIntType, IntType
    >>> holds(BigIntType(), IntType(), whole=True), holds(IntType(), BigIntType(), whole=True)
    (True, False)
    """
    if whole and source.nullable and not target.nullable:
        return False
    match source, target:
        case ArrayType(element=old), ArrayType(element=new):
            return holds(new, old, whole=whole)
        case MultisetType(element=old), MultisetType(element=new):
            return holds(new, old, whole=whole)
        case MapType(key=old_key, value=old), MapType(key=new_key, value=new):
            return holds(new_key, old_key, whole=whole) and holds(new, old, whole=whole)
        case RowType(fields=old_fields), RowType(fields=new_fields):
            by_id = {field.id: field.type for field in new_fields}
            return all(holds(by_id[f.id], f.type, whole=whole) if f.id in by_id else not whole for f in old_fields)
    return keeps_bounds(source, target)

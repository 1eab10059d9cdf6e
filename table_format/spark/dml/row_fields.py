"""Sets fields of ROW values: ``a.b = ...`` changes one field and keeps the others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

from pyspark.sql import Column
from pyspark.sql import functions as F

from table_format.errors import ColumnNotFound, InvalidInputError
from table_format.model.types import DataField, DataType, RowType
from table_format.spark.names import Names

FieldValues: TypeAlias = "dict[str, Column | FieldValues]"
"""The new values of fields by name; of a nested ROW, those of its fields."""

_PART: Final = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")


def set_field(values: FieldValues, of: DataField, path: str, value: Column, names: Names) -> None:
    """Add the value of a field, found by its path in a column, such as ``a.`b.c` ``.

    Raises:
        ColumnNotFound: there is no such field.
        InvalidInputError: the field, or one that contains it or that it contains, has a value already.
    """
    *outer, last = [quotes.replace("``", "`") if quotes else plain for quotes, plain in _PART.findall(path)]
    where, data_type = of.name, of.type
    for part in outer:
        name, data_type = _field(data_type, part, where, names)
        where = f"{where}.{name}"
        inner = values.setdefault(name, {})
        if not isinstance(inner, dict):
            raise _set_twice(where)
        values = inner
    name, _ = _field(data_type, last, where, names)
    where = f"{where}.{name}"
    if name in values:
        raise _set_twice(where)
    values[name] = value


def row_with(row: Column, data_type: DataType, values: FieldValues) -> Column:
    """Return a ROW with new values of some fields. As in Apache Paimon and Spark, a null becomes a row whose other
    fields are null.
    """
    fields = []
    for field in _fields(data_type):
        before, value = row.getField(field.name), values.get(field.name)
        found = before if value is None else row_with(before, field.type, value) if isinstance(value, dict) else value
        fields.append(found.alias(field.name))
    return F.struct(*fields)


def _field(data_type: DataType, part: str, where: str, names: Names) -> tuple[str, DataType]:
    fields = {field.name: field.type for field in _fields(data_type)}
    name = names.find(part, fields)
    if name is None:
        message = f"column '{where}' is {data_type} and has no field '{part}'"
        raise ColumnNotFound(message)
    return name, fields[name]


def _fields(data_type: DataType) -> Sequence[DataField]:
    return data_type.fields if isinstance(data_type, RowType) else ()


def _set_twice(where: str) -> InvalidInputError:
    return InvalidInputError(f"column '{where}' is set twice")

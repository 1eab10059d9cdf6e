"""Converts the conditions and values of a statement to Spark columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from table_format.codecs.filter_sql import bind_condition
from table_format.errors import ColumnNotFound, InvalidInputError
from table_format.kernels.values import values_of
from table_format.model.arguments import refuse
from table_format.model.arrow_calls import repeat
from table_format.model.column_names import no_such_column
from table_format.model.condition import Condition
from table_format.model.schema import TableSchema
from table_format.model.types import NESTED, DataField, RowType
from table_format.spark.dml.row_fields import FieldValues, row_with, set_field
from table_format.spark.names import Names, quoted
from table_format.spark.read.conditions import condition as spark_condition
from table_format.spark.read.conditions import literal
from table_format.spark.read.metadata_columns import metadata_fields
from table_format.table.changes.assignments import constant_of
from table_format.table.changes.merge_into import Delete, Insert, Update

Clause: TypeAlias = Update | Delete | Insert


@dataclass(frozen=True)
class BoundClause:
    """A clause. Without ``values`` it deletes rows. Values are not cast yet."""

    condition: Column | None
    values: Mapping[str, Column] | None


def bound_values(
    values: Mapping[str, object], schema: TableSchema, names: Names, target: str | None = None
) -> Mapping[str, Column]:
    """Return the new values of columns, by the names of the table.

    A string is an expression in Spark SQL, a ``Column`` is used as it is, and anything else is a constant. With
    ``target``, the name of the table, ``"a.b"`` sets only the field ``b`` of the column ``a``.

    Raises:
        ColumnNotFound: a column does not exist.
        InvalidInputError: a column is given twice, or a value is a function.
        InvalidData: a constant does not fit its column.
    """
    if not isinstance(values, Mapping):
        refuse("values to set", "a mapping of columns to values", values)
    bound: dict[str, Column] = {}
    of_fields: dict[str, FieldValues] = {}
    for given, value in values.items():
        name, path = _column_and_path(given, schema, names, nested=target is not None)
        if name in bound or (name in of_fields and not path):
            message = f"column '{name}' is set twice"
            raise InvalidInputError(message)
        if path:
            field_value = (
                value if isinstance(value, Column) else F.expr(value) if isinstance(value, str) else F.lit(value)
            )
            set_field(of_fields.setdefault(name, {}), schema.field(name), path, field_value, names)
        else:
            bound[name] = value_column(value, schema.field(name))
    if target is not None:
        for name, fields in of_fields.items():
            bound[name] = row_with(named(target, name), schema.field(name).type, fields)
    return bound


def _column_and_path(given: str, schema: TableSchema, names: Names, *, nested: bool) -> tuple[str, str]:
    """Return the column of a name, and the path to a field in it, which is empty for the whole column."""
    name = names.find(given, schema.field_names)
    if name is not None:
        return name, ""
    first, _, path = given.partition(".")
    name = names.find(first, schema.field_names) if nested and path else None
    if name is None:
        raise no_such_column(given, schema.field_names)
    if not isinstance(schema.field(name).type, RowType):
        message = f"column '{name}' is {schema.field(name).type} and has no field '{path}'"
        raise ColumnNotFound(message)
    return name, path


def value_column(value: object, field: DataField) -> Column:
    """Return a value of a column as a Spark column."""
    if isinstance(value, Column):
        return value
    if isinstance(value, str):
        return F.expr(value)
    if callable(value):
        message = f"column '{field.name}': functions are not supported on Spark; pass SQL text or a Column"
        raise InvalidInputError(message)
    if isinstance(field.type, NESTED):
        return F.lit(value.as_py() if isinstance(value, pa.Scalar) else value)
    (constant,) = values_of(repeat(constant_of(value, field), 1), field.type)
    return F.lit(None) if constant is None else literal(constant, field.type)


def condition_column(condition: object, fields: Sequence[DataField] | None = None) -> Column | None:
    """Return a condition as a column. It is given as Spark SQL, as a column or, with ``fields``, as a condition
    built with ``col``.
    """
    if isinstance(condition, Condition) and fields is not None:
        return spark_condition(bind_condition(condition, fields), fields)
    if condition is None or isinstance(condition, Column):
        return condition
    if isinstance(condition, str):
        return F.expr(condition)
    return refuse("condition", "a text of SQL or a Column", condition)


def named(alias: str, name: str) -> Column:
    """Return a column of a relation."""
    return F.col(f"{quoted(alias)}.{quoted(name)}")


def first_that_holds(clauses: Sequence[BoundClause]) -> Column:
    """Return the number of the first clause whose condition is true, or null."""
    found = F.lit(None).cast("int")
    for number, clause in reversed(list(enumerate(clauses))):
        holds = F.lit(True) if clause.condition is None else clause.condition
        found = F.when(holds, number).otherwise(found)
    return found


def hidden_in(texts: Iterable[object], schema: TableSchema) -> tuple[str, ...]:
    """Return the metadata columns of a table that occur anywhere in SQL texts or Spark columns."""
    shown = " ".join(str(text).lower() for text in texts if isinstance(text, str | Column))
    return tuple(name for name in metadata_fields(schema) if name in shown)


def mentions(relation: str, texts: Iterable[object]) -> bool:
    """Return whether one of the texts contains a column that is qualified with the name of a relation.

    >>> mentions("target", ["x > 1", "Target.x = 2"]), mentions("target", ["my_target.x"])
    (True, False)
    """
    pattern = re.compile(rf"(?<![\w.`]){re.escape(relation)}\s*\.", re.IGNORECASE)
    return any(pattern.search(str(text)) for text in texts if isinstance(text, str | Column))

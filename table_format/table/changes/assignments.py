"""New values of columns: constants, SQL expressions, or functions of the caller, bound to the columns of one table.

A string is SQL (``"'paid'"`` is a text, ``"paid"`` a column). Any other Python value or Arrow scalar is a constant. A
function gets the rows as a ``pyarrow.Table`` and returns one Arrow array; with two relations, the columns are named
``target.<name>`` and ``source.<name>``. All values are computed from the old rows.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

from table_format.counted import counted
from table_format.errors import InvalidData, InvalidInputError
from table_format.kernels.expression_kinds import floating, plain
from table_format.kernels.expressions import Columns, evaluate, truths
from table_format.model.arguments import refuse
from table_format.model.arrow_calls import arrow_array, nulls, repeat
from table_format.model.arrow_types import arrow_schema, arrow_type
from table_format.model.expression import TARGET, ColumnOf, Expression, columns_in
from table_format.model.schema import TableSchema
from table_format.model.types import NESTED, DataField, FloatingType
from table_format.table.rows.casts import cast_column

RowFunction: TypeAlias = Callable[[pa.Table], pa.Array | pa.ChunkedArray | pa.Scalar]
Values: TypeAlias = Mapping[str, object]
"""Column names with SQL text, ``RowFunction``, or constants."""

Relations: TypeAlias = Mapping[str, pa.RecordBatch]
Scope: TypeAlias = Mapping[str, pa.Schema]
"""The columns of each relation that values may use."""

_Bound: TypeAlias = "Expression | RowFunction | pa.Scalar"


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on rows of one or two relations."""

    expression: Expression

    def holds(self, relations: Relations) -> pa.BooleanArray:
        """Return for each row whether the condition holds; unknown counts as false."""
        return truths(self.expression, _columns(self.expression, relations), _row_count(relations))


@dataclass(frozen=True, slots=True)
class Assignments:
    """Values for some columns of a table."""

    schema: TableSchema
    values: Mapping[str, _Bound] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        """The columns that get values."""
        return frozenset(self.values)

    def applied(self, rows: pa.RecordBatch, others: Relations | None = None) -> pa.RecordBatch:
        """Return rows of the table with the new values. ``others`` are the matching rows of other relations."""
        relations = {TARGET: rows, **(others or {})}
        columns = [
            self._value(f, relations) if f.name in self.values else rows.column(f.name) for f in self.schema.fields
        ]
        return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(self.schema.fields))

    def rows_of(self, relations: Relations) -> pa.RecordBatch:
        """Return new rows of the table; columns without a value are null."""
        count = _row_count(relations)
        columns = [
            self._value(f, relations) if f.name in self.values else nulls(count, arrow_type(f.type))
            for f in self.schema.fields
        ]
        return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(self.schema.fields))

    def _value(self, column: DataField, relations: Relations) -> pa.Array:
        bound, count = self.values[column.name], _row_count(relations)
        if isinstance(bound, pa.Scalar):
            return repeat(bound, count)
        if not callable(bound):
            return _assigned(evaluate(bound, _columns(bound, relations), count), column)
        found = bound(_function_input(relations))
        if isinstance(found, pa.Scalar):
            found = repeat(found, count)
        if isinstance(found, pa.ChunkedArray):
            found = found.combine_chunks()
        if not isinstance(found, pa.Array) or len(found) != count:
            shown = counted(len(found), "value") if isinstance(found, pa.Array) else type(found).__name__
            message = (
                f"the function for column '{column.name}': expected an Arrow array of {counted(count, 'value')}, "
                f"found {shown}"
            )
            raise InvalidInputError(message)
        return cast_column(found, column.type, column.name)


def bind(values: Values, schema: TableSchema, scope: Scope) -> Assignments:
    """Bind values for columns of a table to the columns of the relations in scope.

    Raises:
        ColumnNotFound: a column does not exist.
        InvalidExpression: an expression cannot be parsed, or its type does not fit the column.
        InvalidData: a constant does not fit its column.
    """
    if not isinstance(values, Mapping):
        refuse("values to set", "a mapping of columns to values", values)
    bound: dict[str, _Bound] = {}
    fields = {column.name: column for column in schema.fields}
    # The types of values can be checked without rows. There may be thousands of columns and as many values.
    no_rows, names = _no_rows(scope), _names(scope)
    for name, value in values.items():
        column = fields.get(name) or schema.field(name)
        if isinstance(value, str):
            expression = _parsed(value, names)
            _assigned(evaluate(expression, _columns(expression, no_rows), 0), column)
            bound[name] = expression
        elif callable(value):
            bound[name] = value
        else:
            bound[name] = constant_of(value, column)
    return Assignments(schema, bound)


def _assigned(values: pa.Array, column: DataField) -> pa.Array:
    """Return values of an expression as values of a column. In SQL, ``0.1`` is a decimal, for a DOUBLE column too."""
    if isinstance(column.type, FloatingType) and pa.types.is_decimal(values.type):
        return typing.cast("pa.Array", floating(values, arrow_type(column.type)))
    return cast_column(values, column.type, column.name)


def bind_condition(text: str, scope: Scope) -> Condition:
    """Bind a condition to the relations in scope.

    Raises:
        ColumnNotFound, InvalidExpression: as for ``bind``.
    """
    condition = Condition(_parsed(text, _names(scope)))
    condition.holds(_no_rows(scope))
    return condition


def _names(scope: Scope) -> Mapping[str, Collection[str]]:
    return {relation: dict.fromkeys(columns.names) for relation, columns in scope.items()}


def _parsed(text: str, names: Mapping[str, Collection[str]]) -> Expression:
    # The SQL parser takes longer to import than the rest of the library.
    from table_format.codecs.expression_sql import parse_expression

    return parse_expression(text, names)


def constant_of(value: object, column: DataField) -> pa.Scalar:
    """Convert a Python value or an Arrow scalar to a value of a column.

    Raises:
        InvalidData: the column cannot hold it.
    """
    try:
        if isinstance(value, pa.Scalar):
            array = repeat(value, 1)
        elif isinstance(column.type, NESTED):
            array = pa.array([value], arrow_type(column.type))
        else:
            array = arrow_array([value])
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        message = f"column '{column.name}' is {column.type}, which cannot hold {value!r}: {error}"
        raise InvalidData(message) from error
    constant: pa.Scalar = cast_column(array, column.type, column.name)[0]
    return constant


def _columns(expression: Expression, relations: Relations) -> Columns:
    return {c: plain(relations[c.relation].column(c.name)) for c in columns_in(expression)}


def _no_rows(scope: Scope) -> Relations:
    return {relation: pa.RecordBatch.from_pylist([], schema=schema) for relation, schema in scope.items()}


def _row_count(relations: Relations) -> int:
    return int(next(iter(relations.values())).num_rows)


def _function_input(relations: Relations) -> pa.Table:
    if len(relations) == 1:
        return pa.Table.from_batches(list(relations.values()))
    named = {
        ColumnOf(relation, name): batch.column(name)
        for relation, batch in relations.items()
        for name in batch.schema.names
    }
    return pa.table(list(named.values()), names=[f"{column.relation}.{column.name}" for column in named])

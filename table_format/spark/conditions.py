"""A predicate of the library as a condition Spark evaluates, and can push into its own Parquet reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F

from table_format.errors import InvalidFilter
from table_format.kernels.values import array_of
from table_format.model.predicate import And, Compare, CompareOp, In, IsNull, Like, Literal, Not, Or, Predicate
from table_format.model.types import DataField, DataType, InternalValue
from table_format.spark.types import spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column


def condition(predicate: Predicate, fields: Sequence[DataField]) -> Column:
    """The predicate over columns of those names.

    Raises:
        InvalidFilter: a literal has no form Spark takes.
    """
    return _condition(predicate, {f.name: f.type for f in fields})


def _condition(predicate: Predicate, types: Mapping[str, DataType]) -> Column:
    match predicate:
        case And(parts):
            return reduce(and_, (_condition(part, types) for part in parts))
        case Or(parts):
            return reduce(or_, (_condition(part, types) for part in parts))
        case Not(part):
            return ~_condition(part, types)
        case IsNull(name):
            return _column(name).isNull()
        case In(name, values):
            return _column(name).isin([literal(value, types[name]) for value in values])
        case Like(name, pattern):
            return _column(name).like(pattern)
        case Compare(name, op, value):
            return _comparison(_column(name), op, literal(value, types[name]))
        case Literal(value):
            return F.lit(value).cast("boolean")


def _column(name: str) -> Column:
    # A dot in a column's name is no path into a struct.
    return F.col("`" + name.replace("`", "``") + "`")


def _comparison(column: Column, op: CompareOp, literal: Column) -> Column:
    match op:
        case CompareOp.EQ:
            return column == literal
        case CompareOp.NE:
            return column != literal
        case CompareOp.LT:
            return column < literal
        case CompareOp.LE:
            return column <= literal
        case CompareOp.GT:
            return column > literal
        case CompareOp.GE:
            return column >= literal
        case CompareOp.STARTS_WITH:
            return column.startswith(literal)
        case CompareOp.ENDS_WITH:
            return column.endswith(literal)
        case CompareOp.CONTAINS:
            return column.contains(literal)


def literal(value: InternalValue, data_type: DataType) -> Column:
    """An internal value of a type as a Spark literal.

    Raises:
        InvalidFilter: Spark has no such value.
    """
    try:
        python = array_of([value], data_type)[0].as_py()
    except (pa.ArrowInvalid, ValueError, OverflowError) as error:
        message = f"the literal {value!r} has no form that Spark's {data_type} takes"
        raise InvalidFilter(message) from error
    return F.lit(python).cast(spark_type(data_type))

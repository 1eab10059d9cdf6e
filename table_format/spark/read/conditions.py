"""Converts a predicate to a Spark condition, which Spark can push down to its Parquet reader."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F

from table_format.errors import InvalidFilter
from table_format.kernels.values import array_of
from table_format.model.predicate import And, Compare, CompareOp, In, IsNull, Like, Literal, Not, Or, Predicate
from table_format.model.types import (
    AnyTimestampType,
    DataField,
    DataType,
    DateType,
    InternalValue,
    LocalZonedTimestampType,
)
from table_format.spark.names import column
from table_format.spark.read.lost_days import is_lost
from table_format.spark.types import spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column


def condition(predicate: Predicate, fields: Sequence[DataField]) -> Column:
    """Convert a predicate over columns with these names.

    Raises:
        InvalidFilter: Spark cannot represent a literal.
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
            return column(name).isNull()
        case In(name, values) if any(is_lost(value, types[name]) for value in values):
            return _number(name, types[name]).isin([_number_literal(value, types[name]) for value in values])
        case In(name, values):
            return column(name).isin([literal(value, types[name]) for value in values])
        case Like(name, pattern):
            return column(name).like(pattern)
        case Compare(name, op, value) if is_lost(value, types[name]):
            return _comparison(_number(name, types[name]), op, _number_literal(value, types[name]))
        case Compare(name, op, value):
            return _comparison(column(name), op, literal(value, types[name]))
        case Literal(value):
            return F.lit(value).cast("boolean")


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


def _number(name: str, data_type: DataType) -> Column:
    """Return a date or an instant as a number, so that Spark does not pass the condition to its Parquet reader."""
    return F.unix_date(column(name)) if isinstance(data_type, DateType) else F.unix_micros(column(name))


def _number_literal(value: InternalValue, data_type: DataType) -> Column:
    found = literal(value, data_type)
    return F.unix_date(found) if isinstance(data_type, DateType) else F.unix_micros(found)


def literal(value: InternalValue, data_type: DataType) -> Column:
    """Convert an internal value of a type to a Spark literal.

    Raises:
        InvalidFilter: Spark cannot represent the value.
    """
    try:
        return _literal(value, data_type).cast(spark_type(data_type))
    except (pa.ArrowInvalid, ValueError, OverflowError) as error:
        message = f"the literal {value!r} cannot be a value of Spark's {data_type}"
        raise InvalidFilter(message) from error


def _literal(value: InternalValue, data_type: DataType) -> Column:
    if isinstance(value, int) and isinstance(data_type, AnyTimestampType):
        micros, rest = divmod(value, 1000)
        if rest:
            message = "Spark's timestamps have only microseconds"
            raise ValueError(message)
        # Spark would interpret a Python datetime as local time of the machine or of the session.
        if isinstance(data_type, LocalZonedTimestampType):
            return F.timestamp_micros(F.lit(micros).cast("bigint"))
        return F.lit(str(dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=micros)))
    if isinstance(value, int) and isinstance(data_type, DateType):
        # Spark would interpret a Python date before 15 October 1582 in the Julian calendar.
        return F.date_from_unix_date(F.lit(value))
    return F.lit(array_of([value], data_type)[0].as_py())

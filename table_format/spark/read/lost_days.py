"""Keeps conditions on the days from 5 to 14 October 1582 from Spark's Parquet reader.

By default, Spark passes the literals of a condition to this reader as ``java.sql.Date`` and ``java.sql.Timestamp``. The
calendar of these classes lacks the days, so the reader skips row groups and pages that have matching rows. Spark
evaluates the condition correctly on rows that are read. The condition is therefore written over an expression of the
column, which Spark does not pass to the reader. Timestamps without time zone are not affected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from table_format.model.types import DataType, DateType, LocalZonedTimestampType
from table_format.spark.read.jvm_plans import JavaObject

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MONTH: Final = "1582-10-"
_TYPES: Final = ("date", "timestamp")
_MICROS_PER_DAY: Final = 86_400_000_000
_FIRST_DAY: Final = -141_439
"""3 October 1582. The days are those of a time zone, so there is room on both sides."""
_LAST_DAY: Final = -141_425
"""17 October 1582."""


def in_lost_days(nodes: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a condition in Spark's JSON may name a date or an instant in these days.

    >>> in_lost_days([{"class": "...Literal", "dataType": "date", "value": "1582-10-10"}])
    True
    >>> in_lost_days([{"class": "...Literal", "dataType": "date", "value": "1582-11-10"}])
    False
    """
    # The JSON of a set lacks its values.
    return any(
        str(node["class"]).endswith("InSet")
        or (node.get("dataType") in _TYPES and str(node.get("value")).startswith(_MONTH))
        for node in nodes
    )


def is_lost(value: object, data_type: DataType) -> bool:
    """Return whether an internal value of a type is, in some time zone, in these days.

    >>> is_lost(-141_432, DateType())
    True
    """
    if not isinstance(value, int):
        return False
    if isinstance(data_type, DateType):
        return _FIRST_DAY <= value <= _LAST_DAY
    if isinstance(data_type, LocalZonedTimestampType):
        return _FIRST_DAY <= value // (1000 * _MICROS_PER_DAY) <= _LAST_DAY
    return False


def unpushed(spark: SparkSession, attribute: JavaObject, data_type: DataType) -> JavaObject:
    """Return an expression with the values of an attribute. Spark does not pass conditions on it to a reader."""
    jvm: JavaObject = spark._jvm
    expressions = jvm.org.apache.spark.sql.catalyst.expressions
    if isinstance(data_type, DateType):
        return expressions.DateFromUnixDate(expressions.UnixDate(attribute))
    if isinstance(data_type, LocalZonedTimestampType):
        return expressions.MicrosToTimestamp(expressions.UnixMicros(attribute))
    return attribute

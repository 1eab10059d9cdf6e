"""Filters of Spark prune only where they certainly mean the same."""

from __future__ import annotations

import datetime as dt

import pytest
from pyspark.sql import datasource

from table_format.model.predicate import Compare, CompareOp, Not, Predicate
from table_format.model.types import DataField, DateType, DoubleType, LocalZonedTimestampType
from table_format.spark.source.pushed_filters import predicate_of

pytestmark = pytest.mark.spark

FIELDS = (
    DataField(0, "d", DateType()),
    DataField(1, "z", LocalZonedTimestampType(6)),
    DataField(2, "f", DoubleType()),
)


@pytest.mark.parametrize(
    ("pushed", "expected"),
    [
        (datasource.EqualTo(("d",), dt.date(2020, 1, 1)), Compare("d", CompareOp.EQ, 18_262)),
        (datasource.EqualTo(("d",), dt.date(1582, 10, 20)), None),
        (datasource.Not(datasource.EqualTo(("d",), dt.date(999, 1, 1))), None),
        (datasource.In(("d",), (dt.date(2020, 1, 1), dt.date(1500, 1, 1))), None),
        (datasource.LessThan(("z",), dt.datetime(1890, 1, 1, tzinfo=dt.UTC)), None),
        (datasource.LessThan(("f",), 1.5), Compare("f", CompareOp.LT, 1.5)),
        (datasource.GreaterThan(("f",), 1.5), None),
        (datasource.Not(datasource.LessThanOrEqual(("f",), 1.5)), Not(Compare("f", CompareOp.LE, 1.5))),
        (datasource.EqualTo(("f",), float("nan")), None),
    ],
)
def test_values_that_spark_and_the_library_may_see_differently_prune_nothing(
    pushed: datasource.Filter, expected: Predicate | None
) -> None:
    assert predicate_of(pushed, FIELDS) == expected

"""Conditions of SQL as filters of scans."""

from __future__ import annotations

from datetime import date

from table_format.model.row_order import OrderedColumn, RowLimit
from table_format.model.types import (
    ArrayType,
    BigIntType,
    CharType,
    DataField,
    DateType,
    DoubleType,
    TinyIntType,
    VarCharType,
)
from table_format.spark.sql.pushed import filter_of, limit_of
from table_format.sql.conditions import Condition
from table_format.sql.first_rows import FirstRows
from table_format.table.read.filters import bound_filter

FIELDS = (
    DataField(0, "i", TinyIntType()),
    DataField(1, 'L "x"', BigIntType()),
    DataField(2, "s", VarCharType(10)),
    DataField(3, "d", DateType()),
    DataField(4, "f", DoubleType()),
    DataField(5, "c", CharType(3)),
)


def test_conditions_are_converted_to_a_filter() -> None:
    found = filter_of(
        FIELDS,
        (
            Condition("I", "IN", (1, -2)),
            Condition('l "x"', ">=", (3,)),
            Condition("s", "<>", ("it's",)),
            Condition("d", "=", (date(2026, 1, 2),)),
            Condition("f", "IS NOT NULL"),
        ),
    )
    assert found == (
        '"i" IN (1, -2) AND "L ""x""" >= 3 AND "s" <> \'it\'\'s\' AND "d" = DATE \'2026-01-02\' AND "f" IS NOT NULL'
    )
    assert bound_filter(found, FIELDS) is not None


def test_a_condition_with_another_meaning_in_spark_is_left_out() -> None:
    conditions = (
        Condition("i", "=", (300,)),
        Condition("i", "=", ("1",)),
        Condition("s", "=", (1,)),
        Condition("d", "=", ("2026-01-02",)),
        Condition("f", "=", (1,)),
        Condition("c", "=", ("x",)),
        Condition("nope", "=", (1,)),
    )
    assert filter_of(FIELDS, conditions) is None


def test_a_limit_has_the_columns_of_the_table() -> None:
    wanted = RowLimit(3, (OrderedColumn("F", descending=True),))
    assert limit_of(FIELDS, FirstRows(0, wanted, (Condition("I", "=", (1,)),))) == RowLimit(
        3, (OrderedColumn("f", descending=True),)
    )


def test_a_limit_over_rows_that_a_filter_does_not_select_exactly_is_none() -> None:
    assert limit_of(FIELDS, FirstRows(0, RowLimit(3), (Condition("f", "=", (1,)),))) is None
    assert limit_of(FIELDS, FirstRows(0, RowLimit(3, (OrderedColumn("nope"),)))) is None
    nested = (DataField(0, "a", ArrayType(BigIntType())),)
    assert limit_of(nested, FirstRows(0, RowLimit(3, (OrderedColumn("a"),)))) is None

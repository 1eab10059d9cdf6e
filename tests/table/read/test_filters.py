"""A condition made with ``col`` is taken wherever a filter text is."""

from __future__ import annotations

import re

import polars as pl
import pytest
from hypothesis import assume, given

from table_format import Table, col
from table_format.codecs.filter_sql import bind_condition, parse_filter
from table_format.errors import ColumnNotFound, InvalidFilter
from table_format.model.condition import Condition
from table_format.model.predicate import Compare, CompareOp, In
from table_format.model.types import (
    BooleanType,
    DataField,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntType,
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
    VarBinaryType,
    VarCharType,
)
from table_format.table.read.filters import filter_text
from table_format.table.system.table import SystemTable
from tests.codecs.test_condition_tree import CONDITIONS, FIELDS, meaning
from tests.support.tables import keyed, memory_warehouse, rows_of

ROWS = [(1, "a", 10), (2, "a", None), (3, "b", 30), (4, "c", 40)]


@pytest.fixture
def table() -> Table:
    table = memory_warehouse().table(partition_keys=["dt"])
    table.append(keyed(ROWS))
    return table


@pytest.mark.parametrize(
    ("condition", "text", "ids"),
    [
        (col("v") > 10, "v > 10", [3, 4]),
        ((col("dt") == "a") & col("v").is_null(), "dt = 'a' AND v IS NULL", [2]),
        (col("dt").is_in(["b", "c"]) | (col("id") == 1), "dt IN ('b', 'c') OR id = 1", [1, 3, 4]),
        (~(col("v") > 10), "NOT (v > 10)", [1]),
        (col("id").between(2, 3), "id BETWEEN 2 AND 3", [2, 3]),
        (col("dt").not_in([]), "dt NOT IN ()", [1, 2, 3, 4]),
    ],
    ids=repr,
)
def test_a_scan_by_a_condition_has_the_rows_and_the_plan_of_the_text(table, condition, text, ids):
    by_condition, by_text = table.scan(filter=condition), table.scan(filter=text)
    assert sorted(by_condition.to_arrow()["id"].to_pylist()) == ids
    assert str(by_condition.plan()) == str(by_text.plan())
    assert by_condition.count() == len(ids)


def test_datasets_and_lazy_frames_take_a_condition(table):
    scan = table.scan(filter=col("v") >= 30)
    assert sorted(scan.to_polars_lazy().filter(pl.col("id") > 3).collect()["id"]) == [4]
    assert scan.to_dataset().count_rows() == 2
    assert sorted(scan.to_duckdb().project("id").fetchall()) == [(3,), (4,)]


def test_rows_are_deleted_and_updated_by_a_condition(table):
    table.delete(col("dt") == "a")
    table.update({"v": "v + 1"}, col("v") > 30)
    assert rows_of(table) == [(3, "b", 30), (4, "c", 41)]


def test_a_stream_and_a_read_of_changes_take_a_condition(table):
    changes = table.scan(filter=col("id") > 3, options={"incremental-between": "0,1"})
    assert changes.to_arrow()["id"].to_pylist() == [4]
    stream = table.stream(filter=col("id") < 2)
    plan = stream.next_plan()
    assert stream.to_arrow(plan)["id"].to_pylist() == [1]


@pytest.mark.parametrize("name", ["files", "audit_log", "ro"])
def test_a_system_table_takes_a_condition(name):
    warehouse = memory_warehouse()
    warehouse.table(primary_keys=["id"]).append(keyed(ROWS))
    system = warehouse.catalog.load_table(f"db.t${name}")
    assert isinstance(system, SystemTable)
    column = system.fields[0].name
    found = system.scan(filter=col(column).is_not_null() & ~col(column).is_null()).to_arrow()
    assert found.num_rows == system.scan().to_arrow().num_rows > 0 or name == "ro"
    assert system.scan(filter=col(column).is_null() & col(column).is_not_null()).to_arrow().num_rows == 0


def test_an_unknown_column_has_the_same_error_in_a_text_and_a_condition(table):
    errors = []
    for condition in ("idd = 1", col("idd") == 1):
        with pytest.raises(ColumnNotFound, match="did you mean 'id'") as raised:
            table.scan(filter=condition).to_arrow()
        errors.append(str(raised.value))
    assert errors[0] == errors[1]


def test_a_filter_of_another_kind_is_refused(table):
    with pytest.raises(InvalidFilter, match=r"expected SQL text, a condition made with col\(\), or a predicate; found"):
        table.scan(filter=pl.col("id") == 1).to_arrow()


TYPED: dict[DataType, str] = {
    IntType(): "x > -5",
    DoubleType(): "x < 1.5",
    DecimalType(10, 2): "x = 1.50",
    BooleanType(): "x = TRUE",
    VarCharType(20): "x <> 'it''s'",
    VarBinaryType(20): "x = X'00ff'",
    DateType(): "x >= DATE '2026-01-02'",
    TimeType(3): "x < TIME '12:30:00.5'",
    TimestampType(6): "x <= TIMESTAMP '2026-01-02 03:04:05.000006'",
    LocalZonedTimestampType(3): "x > TIMESTAMP '2026-01-02 03:04:05+00:00'",
}


@given(CONDITIONS)
def test_the_filter_in_a_plan_can_be_used_as_a_filter(condition: Condition) -> None:
    predicate = meaning(lambda: bind_condition(condition, FIELDS))
    assume(not isinstance(predicate, str))
    shown = filter_text(predicate, FIELDS)
    assume(not re.search(r"instant (<>|[<>=]+|IN) .*\d{17}", shown))  # in UTC, the year is not between 1 and 9999
    assert repr(parse_filter(shown, FIELDS)) == repr(predicate)  # NaN is not equal to itself


@pytest.mark.parametrize("text", ["TRUE", "FALSE", "NULL", '"two words" = NULL', "NOT starts_with(\"select\", 'x')"])
def test_a_filter_in_a_plan_of_any_form_can_be_used_as_a_filter(text: str) -> None:
    predicate = parse_filter(text, FIELDS)
    assert parse_filter(filter_text(predicate, FIELDS), FIELDS) == predicate


def test_a_plan_shows_the_first_values_of_a_long_list() -> None:
    shown = filter_text(In("x", tuple(range(100_000))), [DataField(0, "x", IntType())])
    assert shown.startswith("x IN (0, 1, 2, ")
    assert shown.endswith("48, 49 and 99950 more)")


@pytest.mark.parametrize(("data_type", "text"), TYPED.items(), ids=str)
@pytest.mark.parametrize("negated", [False, True])
def test_the_text_of_a_filter_is_parsed_as_the_same_filter(data_type, text, negated):
    fields = [DataField(0, "x", data_type)]
    predicate = parse_filter(f"NOT ({text} OR x IS NULL)" if negated else text, fields)
    shown = filter_text(predicate, fields)
    assert parse_filter(shown, fields) == predicate


def test_a_value_that_python_cannot_represent_is_shown_as_it_is_stored():
    far = Compare("x", CompareOp.LT, 5_000_000)
    assert filter_text(far, [DataField(0, "x", DateType())]) == "x < 5000000"

"""A handle that was opened before its table was altered reads every value as it is, or says that it cannot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from table_format import Table
from table_format.errors import SchemaChanged
from table_format.formats import data_file_reader
from table_format.model.schema_change import AddColumn, AlterColumnType, DropColumn, RenameColumn, SchemaChange
from table_format.model.types import BigIntType, DataType, DecimalType, DoubleType, TimestampType, VarCharType
from table_format.table.read import change_plans, state_plan
from table_format.table.system.registry import open_system_table
from tests.support.stale_handles import KINDS, Model, a_row, a_table, arrow_rows
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of

BIG = (1 << 40) + 7


@pytest.fixture
def warehouse() -> Warehouse:
    return memory_warehouse()


def widened(warehouse: Warehouse, **kind: Any) -> tuple[Table, Table]:
    """A table whose column ``v`` was INT, as opened before that changed and after, with a row only BIGINT holds."""
    stale = warehouse.table(**kind)
    stale.append(keyed([(1, "a", 1)]))
    warehouse.catalog.alter_table("db.t", AlterColumnType("v", BigIntType()))
    fresh = warehouse.reopened(stale)
    fresh.append(pa.table({"id": [2], "dt": ["a"], "v": [BIG]}))
    return stale, fresh


@pytest.mark.parametrize("kind", [{}, {"primary_keys": ["id"]}, {"primary_keys": ["id"], "options": {"bucket": "-1"}}])
def test_a_value_that_does_not_fit_is_never_wrapped(warehouse: Warehouse, kind: dict[str, Any]) -> None:
    stale, fresh = widened(warehouse, **kind)
    with pytest.raises(SchemaChanged, match=r"under schema 1, and the table was opened under schema 0, .* values of v"):
        stale.scan().to_arrow()
    assert rows_of(fresh) == [(1, "a", 1), (2, "a", BIG)]
    # Columns that hold every value are shown as ever.
    assert rows_of(stale, columns=["id", "dt"]) == [(1, "a"), (2, "a")]
    assert rows_of(stale, columns=["id"], filter="dt = 'a'") == [(1,), (2,)]
    for narrowing in ("v = 7", "v < 100", "v is null"):
        with pytest.raises(SchemaChanged):
            stale.scan(columns=["id"], filter=narrowing).to_arrow()


def test_a_handle_reads_the_past_as_it_was_and_the_present_in_its_own_schema(warehouse: Warehouse) -> None:
    stale, fresh = widened(warehouse)
    fresh.create_tag("now")
    assert rows_of(stale, options={"scan.snapshot-id": "1"}) == [(1, "a", 1)]
    # A snapshot that is named is shown in its own schema, which holds everything.
    assert rows_of(stale, options={"scan.snapshot-id": "2"}) == [(1, "a", 1), (2, "a", BIG)]
    assert rows_of(stale, options={"scan.tag-name": "now"}) == [(1, "a", 1), (2, "a", BIG)]
    with pytest.raises(SchemaChanged):
        stale.scan(options={"incremental-between": "1,2"}).to_arrow()
    assert rows_of(fresh, options={"incremental-between": "1,2"}) == [(2, "a", BIG)]


def test_a_stream_stops_before_the_value_and_a_new_one_goes_on_there(warehouse: Warehouse) -> None:
    stale = warehouse.table()
    stale.append(keyed([(1, "a", 1)]))
    stream = stale.stream()
    plan = stream.next_plan()
    assert plan is not None
    assert stream.to_arrow(plan).num_rows == 1
    warehouse.catalog.alter_table("db.t", AddColumn("c", BigIntType()))
    fresh = warehouse.reopened(stale)
    fresh.append(pa.table({"id": [2], "dt": ["a"], "v": pa.array([2], pa.int32()), "c": [5]}))
    plan = stream.next_plan()
    assert plan is not None  # a column that was added is not shown
    assert stream.to_arrow(plan).to_pylist() == [{"rowkind": "+I", "id": 2, "dt": "a", "v": 2}]
    warehouse.catalog.alter_table("db.t", AlterColumnType("v", BigIntType()))
    fresh = warehouse.reopened(stale)
    fresh.append(pa.table({"id": [3], "dt": ["a"], "v": [BIG], "c": [6]}))
    position = stream.checkpoint()
    for _ in range(2):
        with pytest.raises(SchemaChanged):
            stream.next_plan()
    assert stream.checkpoint() == position
    again = fresh.stream()
    again.restore(position)
    plan = again.next_plan()
    assert plan is not None
    assert again.to_arrow(plan).to_pylist() == [{"rowkind": "+I", "id": 3, "dt": "a", "v": BIG, "c": 6}]


def test_a_branch_is_read_by_its_own_schemas(warehouse: Warehouse) -> None:
    main = warehouse.table()
    main.append(keyed([(1, "a", 1)]))
    main.create_tag("t")
    main.create_branch("b", tag="t")
    stale = warehouse.catalog.load_table("db.t$branch_b")
    warehouse.catalog.alter_table("db.t", AlterColumnType("v", BigIntType()))
    assert rows_of(stale) == [(1, "a", 1)]
    stale.append(keyed([(2, "a", 2)]))
    warehouse.catalog.alter_table("db.t$branch_b", AlterColumnType("v", BigIntType()))
    warehouse.catalog.load_table("db.t$branch_b").append(pa.table({"id": [3], "dt": ["a"], "v": [BIG]}))
    with pytest.raises(SchemaChanged):
        stale.scan().to_arrow()
    stale.compact(full=True)
    expected = [(1, "a", 1), (2, "a", 2), (3, "a", BIG)]
    assert rows_of(warehouse.catalog.load_table("db.t$branch_b")) == expected


WIDER: list[tuple[str, DataType]] = [
    ("v", BigIntType()),
    ("v", DecimalType(precision=20, scale=2)),
    ("v", DoubleType()),
    ("f", DoubleType()),
    ("d", DecimalType(precision=12, scale=4)),
    ("x", VarCharType(length=40)),
    ("x", VarCharType()),
]


@pytest.mark.parametrize(("column", "wider"), WIDER, ids=str)
@pytest.mark.parametrize("kind", ["append", "fixed"])
def test_no_type_is_narrowed_silently(warehouse: Warehouse, kind: str, column: str, wider: DataType) -> None:
    stale, model = a_table(warehouse, KINDS[kind]), Model()
    model.append(stale, range(2))
    warehouse.catalog.alter_table("db.t", AlterColumnType(column, wider))
    model.append(warehouse.reopened(stale), range(2, 4), wide=column != "v" or not isinstance(wider, DoubleType))
    others = [name for name in stale.schema.field_names if name != column]
    assert stale.scan(columns=others).to_arrow().num_rows == 4
    with pytest.raises(SchemaChanged, match=f"would lose values of {column}"):
        stale.scan(columns=[column]).to_arrow()
    model.check(warehouse.reopened(stale))


def test_timestamps_keep_their_digits(warehouse: Warehouse) -> None:
    schema = pa.schema([("id", pa.int64()), ("at", pa.timestamp("ms"))])
    stale = warehouse.table(schema=schema)
    warehouse.catalog.alter_table("db.t", AlterColumnType("at", TimestampType(precision=6)))
    fresh = warehouse.reopened(stale)
    fresh.append(pa.table({"id": [1], "at": pa.array([1_234_567], pa.timestamp("us"))}))
    with pytest.raises(SchemaChanged):
        stale.scan().to_arrow()


def test_names_are_followed_by_id(warehouse: Warehouse) -> None:
    stale = warehouse.table()
    warehouse.catalog.alter_table("db.t", RenameColumn("v", "w"))
    warehouse.catalog.alter_table("db.t", AddColumn("v", BigIntType()))
    warehouse.reopened(stale).append(pa.table({"id": [1], "dt": ["a"], "w": pa.array([5], pa.int32()), "v": [BIG]}))
    assert rows_of(stale) == [(1, "a", 5)]


@pytest.mark.parametrize("kind", ["append", "fixed"])
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("compacted", [False, True])
def test_a_column_that_was_dropped_is_not_shown_without_its_values(
    warehouse: Warehouse, kind: str, again: bool, compacted: bool
) -> None:
    stale, model = a_table(warehouse, KINDS[kind]), Model()
    model.append(stale, range(2))
    stream = stale.stream()
    assert stream.next_plan() is not None
    changes: list[SchemaChange] = [DropColumn("v"), *([AddColumn("v", BigIntType())] if again else [])]
    warehouse.catalog.alter_table("db.t", changes)
    assert [row[0] for row in rows_of(stale, columns=["v"])] == [0, 1]  # nothing was written since
    fresh = warehouse.reopened(stale)
    model.append(fresh, range(2, 4))
    if compacted:
        fresh.compact(full=True)
    others = [name for name in stale.schema.field_names if name != "v"]
    changed = {"incremental-between": "1,2"}
    assert stale.scan(columns=others, filter="n >= 0").to_arrow().num_rows == 4
    assert stale.scan(columns=others, options=changed).to_arrow().num_rows == 2
    message = "under schema 1, .* opened under schema 0, which has columns that were dropped since: v. Load"
    reads: tuple[Callable[[], object], ...] = (
        lambda: stale.scan().to_arrow(),
        lambda: stale.scan(columns=["id"], filter="v = 1").to_arrow(),
        lambda: stale.scan().aggregate({"most": ("max", "v")}),
        lambda: stale.scan().to_dataset().to_table(["v"]),
        lambda: stale.scan(options=changed).to_arrow(),
        lambda: stale.scan(columns=["id"], filter="v = 1", options=changed).to_arrow(),
        lambda: open_system_table(stale, "audit_log").scan().to_arrow(),
        stream.next_plan,
        stale.stream().next_plan,
    )
    for read in reads:
        with pytest.raises(SchemaChanged, match=message):
            read()
    assert len(stale.scan().to_dataset().to_table(others)) == 4
    assert rows_of(stale, columns=["v"], options={"scan.snapshot-id": "1"}) == [(0,), (1,)]
    model.check(fresh)


def test_a_nested_field_that_was_dropped_is_not_shown_without_its_values(warehouse: Warehouse) -> None:
    stale, model = a_table(warehouse, KINDS["append"]), Model()
    model.append(stale, range(2))
    warehouse.catalog.alter_table("db.t", [AddColumn(("s", "b"), BigIntType()), DropColumn(("s", "a"))])
    model.append(warehouse.reopened(stale), range(2, 4))
    with pytest.raises(SchemaChanged, match="dropped since: s"):
        stale.scan().to_arrow()
    assert stale.scan(columns=["id", "v"]).to_arrow().num_rows == 4


@pytest.mark.parametrize("kind", ["append", "fixed", "vectors"])
def test_columns_that_exchanged_their_names_keep_their_values(warehouse: Warehouse, kind: str) -> None:
    stale, model = a_table(warehouse, KINDS[kind]), Model()
    model.append(stale, range(2))
    swap = [RenameColumn("v", "q"), RenameColumn("seq", "v"), RenameColumn("q", "seq")]
    fresh = warehouse.catalog.alter_table("db.t", swap)
    ids = {stale.schema.field("v").id: 7, stale.schema.field("seq").id: 8}
    fresh.append(arrow_rows(fresh.schema, [{**a_row(fresh.schema, 2, wide=False), **ids}]))
    expected = {"columns": ["id", "v", "seq"], "filter": "v = 7 AND seq = 8"}
    assert rows_of(stale, **expected) == [(2, 7, 8)]
    assert rows_of(fresh, **expected) == []
    fresh.compact(full=True)
    assert rows_of(stale, **expected) == [(2, 7, 8)]


@pytest.mark.parametrize("change", ["add", "widen"])
def test_without_the_checks_values_are_lost(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    """The faults these checks close, put back."""
    for module in (state_plan, change_plans, data_file_reader):
        monkeypatch.setattr(module, "refuse_newer", lambda *_, **__: None)
    monkeypatch.setattr(Table, "current", lambda self: self)
    monkeypatch.setattr("table_format.metastore.commit.commit_check.find_misfit", lambda *_, **__: None)
    if change == "widen":
        stale, _ = widened(warehouse)
        assert rows_of(stale)[1] == (2, "a", 7)
        return
    stale = warehouse.table()
    warehouse.catalog.alter_table("db.t", AddColumn("c", BigIntType()))
    fresh = warehouse.reopened(stale)
    for number in range(2):
        fresh.append(pa.table({"id": [number], "dt": ["a"], "v": pa.array([1], pa.int32()), "c": [number]}))
    stale.compact(full=True)
    assert rows_of(fresh, columns=["c"]) == [(None,), (None,)]

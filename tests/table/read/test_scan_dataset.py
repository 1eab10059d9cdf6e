"""Scans as datasets: what engines push into them is read, and the rows are those of a scan that is filtered later."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from table_format import Table
from table_format.errors import UnsupportedFeature
from table_format.model.predicate import Compare, CompareOp, Predicate, columns_of
from table_format.table.read import scan_dataset
from tests.support.package_versions import is_at_least
from tests.support.tables import memory_warehouse

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("s", pa.string()),
        ("d", pa.date32()),
        ("n", pa.decimal128(10, 2)),
        ("t", pa.timestamp("us")),
        ("b", pa.bool_()),
        ("x", pa.float64()),
    ]
)
COUNT = 12


def rows(first: int) -> pa.Table:
    numbers = range(COUNT)
    return pa.table(
        {
            "id": [first + i for i in numbers],
            "s": [None if i % 4 == 0 else "abc"[i % 3] * (i % 2 + 1) for i in numbers],
            "d": [dt.date(2026, 1, 1 + i) for i in numbers],
            "n": [None if i % 5 == 0 else Decimal(i) / 4 for i in numbers],
            "t": [dt.datetime(2026, 1, 1, i) for i in numbers],
            "b": [None if i % 3 == 0 else i % 2 == 0 for i in numbers],
            "x": [float("nan") if i % 6 == 0 else i / 2 for i in numbers],
        },
        schema=SCHEMA,
    )


@pytest.fixture(params=["keyed", "append"])
def table(request: pytest.FixtureRequest) -> Table:
    made = memory_warehouse().table(schema=SCHEMA, primary_keys=["id"] if request.param == "keyed" else [])
    for first in (0, 6, 100):
        made.append(rows(first))
    return made


Plans = list[tuple[Sequence[str], Predicate | None]]


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> Plans:
    """The columns and the predicate of every plan that a dataset makes."""
    noted: Plans = []
    planned = scan_dataset.state_plan

    def plan(*arguments: Any, **named: Any) -> object:
        noted.append(arguments[2:4])
        return planned(*arguments, **named)

    monkeypatch.setattr(scan_dataset, "state_plan", plan)
    return noted


CONDITIONS_OF_DUCKDB = {
    "id < 3": {"id"},
    "s IN ('a', 'bb') AND id > 2": {"s", "id"},
    "s NOT IN ('a', 'b')": {"s"},
    "s IS NULL OR s = 'cc'": {"s"},
    "d = DATE '2026-01-03' AND x > 1": {"d"},
    "n >= 1.5 AND t < TIMESTAMP '2026-01-01 05:00:00'": {"n", "t"},
    "NOT (id > 2 OR s = 'a')": {"id", "s"},
    "b AND id > 1": {"id"},
    "s LIKE 'b%'": set(),
    "x > 2": set(),
    "id BETWEEN 3 AND 5 OR id = 103": {"id"},
}


@pytest.mark.parametrize("condition", CONDITIONS_OF_DUCKDB)
def test_duckdb_pushes_columns_and_conditions(table: Table, plans: Plans, condition: str) -> None:
    found = table.scan().to_duckdb().filter(condition).project("id").fetchall()
    all_rows = table.scan().to_arrow()
    assert sorted(found) == sorted(duckdb.from_arrow(all_rows).filter(condition).project("id").fetchall())
    [(columns, predicate)] = plans
    assert len(columns) < len(SCHEMA)
    pushed = set() if predicate is None else columns_of(predicate)
    if is_at_least(duckdb, 2):  # older releases push fewer conditions
        assert pushed >= CONDITIONS_OF_DUCKDB[condition]


ID, S, X = pl.col("id"), pl.col("s"), pl.col("x")
CONDITIONS_OF_POLARS = {
    "a comparison": (ID < 3, {"id"}),
    "mirrored": (pl.lit(3) > ID, {"id"}),
    "a list": (S.is_in(["a", "bb"]) & (ID > 2), {"s", "id"}),
    "not in a list": (~S.is_in(["a", "b"]), {"s"}),
    "a list with a null": (S.is_in(["a", None]), set()),
    "nulls": (S.is_null() | (S == "cc"), {"s"}),
    "no nulls": (S.is_not_null() & (S != "a"), {"s"}),
    "a date": ((pl.col("d") == dt.date(2026, 1, 3)) & (X > 1), {"d"}),
    "a time": (pl.col("t") < dt.datetime(2026, 1, 1, 5), {"t"}),
    "a decimal": (pl.col("n") >= Decimal("1.50"), {"n"}),
    "between": (ID.is_between(3, 5) | ID.is_between(3, 103, closed="right"), {"id"}),
    "a boolean": (pl.col("b"), {"b"}),
    "not a boolean": (~pl.col("b"), {"b"}),
    "a prefix": (S.str.starts_with("b"), {"s"}),
    "a floating number, where NaN is the largest": (X > 2, set()),
    "a function": (S.str.len_chars() > 1, set()),
}


@pytest.mark.parametrize("name", CONDITIONS_OF_POLARS)
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_polars_pushes_columns_and_conditions(table: Table, plans: Plans, name: str, engine: Any) -> None:
    condition, pushed = CONDITIONS_OF_POLARS[name]
    found = table.scan().to_polars_lazy().filter(condition).select("id").collect(engine=engine)
    assert found.sort("id").equals(table.scan().to_polars().filter(condition).select("id").sort("id"))
    [(columns, predicate)] = plans
    assert set(columns) <= {"id", *condition.meta.root_names()}
    if is_at_least(pl, 2) and is_at_least(pa, 26):  # older releases push fewer conditions
        assert (set() if predicate is None else columns_of(predicate)) >= pushed


def test_polars_takes_no_more_rows_than_it_needs(table: Table) -> None:
    lazy = table.scan(columns=["id", "s"]).to_polars_lazy()
    assert lazy.head(2).collect().shape == (2, 2)
    assert lazy.select(pl.len()).collect().item() == table.scan().count()
    joined = lazy.join(table.scan(columns=["id"]).to_polars_lazy().filter(ID > 5), on="id")
    assert set(joined.select("id").collect().to_series()) == {i for i in table.scan().to_polars()["id"] if i > 5}


READS: dict[str, Callable[[Any], int]] = {
    "pyarrow": lambda scan: pa.table(scan).num_rows,
    "polars": lambda scan: pl.DataFrame(scan).height,
    "pandas": lambda scan: len(scan.to_pandas()),
    "a reader": lambda scan: pa.RecordBatchReader.from_stream(scan).read_all().num_rows,
    "duckdb": lambda scan: duckdb.sql("SELECT * FROM scan").arrow().read_all().num_rows,
}


@pytest.mark.parametrize("engine", READS)
def test_a_scan_is_an_arrow_stream(table: Table, engine: str) -> None:
    scan = table.scan(columns=["id", "s"], filter="id < 8")
    assert READS[engine](scan) == scan.to_arrow().num_rows > 0


def test_a_scan_with_a_filter_columns_or_a_limit_is_a_dataset_of_its_rows(table: Table, plans: Plans) -> None:
    some = table.scan(columns=["s"], filter="id < 8").to_duckdb()
    expected = table.scan(columns=["s"], filter="id < 8 AND s = 'bb'").to_arrow().num_rows
    assert len(some.filter("s = 'bb'").fetchall()) == expected > 0
    first = table.scan(columns=["s"], order_by="id", limit=3).to_duckdb()
    assert len(first.fetchall()) == 3
    # A condition is tested on the first rows: it does not choose which rows these are.
    assert len(first.filter("s IS NULL").fetchall()) < 3


def test_a_dataset_stays_at_its_snapshot(table: Table) -> None:
    relation, before = table.scan().to_duckdb(), table.scan().count()
    table.append(rows(1000))
    assert relation.aggregate("count(*)").fetchall() == [(before,)]
    changes = table.scan(options={"incremental-between": "1,2"}).to_duckdb()
    assert changes.aggregate("count(*)").fetchall() == [(COUNT,)]


def test_arrow_reads_a_dataset(table: Table, plans: Plans) -> None:
    dataset = table.scan().to_dataset()
    assert dataset.count_rows(filter=pc.field("id") >= 100) == COUNT
    assert plans == [(("id",), Compare("id", CompareOp.GE, 100))]
    doubled = dataset.to_table(columns={"twice": pc.field("id") * 2}, filter=pc.field("id") == 100)
    assert doubled.to_pydict() == {"twice": [200]}
    assert dataset.head(3, columns=["s"]).shape == (3, 1)
    assert sum(batch.num_rows for batch in dataset.to_batches(columns=["id"])) == table.scan().count()
    for refused in (dataset.get_fragments, lambda: dataset.partition_expression, lambda: dataset.filter(pc.field("b"))):
        with pytest.raises(UnsupportedFeature):
            refused()


def test_an_empty_table_is_an_empty_dataset() -> None:
    empty = memory_warehouse().table(schema=SCHEMA)
    assert empty.scan().to_duckdb().filter("id > 1").fetchall() == []
    assert empty.scan().to_polars_lazy().collect().shape == (0, len(SCHEMA))


def test_system_tables_are_frames_and_streams_too() -> None:
    warehouse = memory_warehouse()
    warehouse.table(schema=SCHEMA).append(rows(0))
    snapshots = warehouse.catalog.load_table("db.t$snapshots").scan(columns=["snapshot_id"])
    assert snapshots.to_polars_lazy().collect().rows() == [(1,)]
    assert pa.table(snapshots).to_pydict() == {"snapshot_id": [1]}

"""The distinct values of a column are those of its rows. Files whose statistics tell them are not read."""

from __future__ import annotations

import random
from datetime import date, timedelta
from typing import Any

import pyarrow as pa
import pytest

from table_format import AddColumn, Table
from table_format.model.types import IntType
from table_format.table.read.changed_values import changed_values
from table_format.table.read.distinct_values import all_values
from tests.support.tables import Warehouse, memory_warehouse

EVENTS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("day", pa.date32()),
        ("note", pa.string()),
        ("size", pa.float64()),
    ]
)
FIRST = date(2026, 1, 1)
ONE_FILE_FOR_EACH_COMMIT = {"write-only": "true"}


def day(number: int | None) -> date | None:
    return None if number is None else FIRST + timedelta(days=number)


def rows(*values: tuple[int, int | None, str | None]) -> pa.Table:
    ids, days, notes = zip(*values, strict=True)
    sizes = [float(number) for number in ids]
    return pa.table({"id": ids, "day": [day(d) for d in days], "note": notes, "size": sizes}, schema=EVENTS)


def found(table: Table, column: str) -> set[Any]:
    now = table.current()
    values = all_values(now.facts, column, now.latest_snapshot()).to_pylist()
    assert len(values) == len(set(values))
    return set(values)


def without_data_files(warehouse: Warehouse, table: Table) -> Table:
    """The table, whose data files are deleted."""
    for path in warehouse.files(table):
        if "bucket-" in path and path.endswith(".parquet"):
            warehouse.io.delete(f"{table.store.paths.root}/{path}")
    return table


def test_a_file_with_one_value_is_not_read() -> None:
    warehouse = memory_warehouse()
    table = warehouse.table(schema=EVENTS, options=ONE_FILE_FOR_EACH_COMMIT)
    table.append(rows((1, 0, "a"), (2, 0, "a")))
    table.append(rows((3, 1, None)))
    before = table.latest_snapshot()
    table.append(rows((4, None, "a long text beyond the statistics"), (5, 7, None)))
    assert found(table, "note") == {"a", None, "a long text beyond the statistics"}
    table.append(rows((6, 8, "b")))
    without_data_files(warehouse, table.copy({}))
    last = table.current().snapshots()[-1:]
    assert set(changed_values(table.current().facts, "day", before, last).to_pylist()) == {day(8)}


def test_a_file_whose_days_are_all_known_is_not_read() -> None:
    warehouse = memory_warehouse()
    table = warehouse.table(schema=EVENTS, options=ONE_FILE_FOR_EACH_COMMIT)
    for number in (0, 1, 2):
        table.append(rows((number, number, None)))
    table.append(rows((3, None, "null")))
    table.append(rows((4, 0, "x"), (5, 1, "x"), (6, 2, "x")))
    table.append(rows((7, 1, "x"), (8, 2, "x"), (9, None, "x")))
    assert found(without_data_files(warehouse, table), "day") == {day(0), day(1), day(2), None}


def test_a_column_that_a_file_does_not_have_is_null_in_it() -> None:
    warehouse = memory_warehouse()
    table = warehouse.table(schema=EVENTS)
    table.append(rows((1, 0, "a")))
    wider = warehouse.catalog.alter_table(str(table.identifier), AddColumn("late", IntType()))
    assert found(without_data_files(warehouse, wider), "late") == {None}


@pytest.mark.parametrize("keys", [[], ["id"]], ids=["append table", "primary key"])
def test_a_value_of_deleted_rows_is_not_found(keys: list[str]) -> None:
    options = {"deletion-vectors.enabled": "true"}
    table = memory_warehouse().table(schema=EVENTS, primary_keys=keys, options=options)
    table.append(rows((1, 0, "a"), (2, 0, "a")))
    table.append(rows((3, 1, "b")))
    table.delete("note = 'a'")
    assert (found(table, "note"), found(table, "day")) == ({"b"}, {day(1)})


def test_zeros_are_told_apart() -> None:
    table = memory_warehouse().table(schema=EVENTS)
    table.append(pa.table({"id": [1, 2], "day": [None] * 2, "note": [None] * 2, "size": [0.0, -0.0]}, schema=EVENTS))
    assert sorted(map(str, all_values(table.facts, "size", table.latest_snapshot()).to_pylist())) == ["-0.0", "0.0"]


@pytest.mark.parametrize("seed", range(8))
def test_the_values_are_those_of_a_scan(seed: int) -> None:
    chance = random.Random(seed)
    keys = chance.choice([[], ["id"]])
    options = {
        "deletion-vectors.enabled": chance.choice(["true", "false"]),
        "file.format": chance.choice(["parquet", "orc", "avro"]),
        "metadata.stats-mode": chance.choice(["truncate(2)", "full", "counts", "none"]),
    }
    table = memory_warehouse().table(schema=EVENTS, primary_keys=keys, options=options)
    for _ in range(12):
        first = chance.randrange(6)
        numbers = [chance.choice([first, first + chance.randrange(3), None]) for _ in range(chance.randrange(1, 4))]
        text = chance.choice(["a", "abc", "abcdef", None])
        table.append(rows(*((chance.randrange(20), number, text) for number in numbers)))
        if chance.random() < 0.3:
            table.current().delete(f"id < {chance.randrange(8)}")
        for column in ("day", "note", "size", "id"):
            scanned = table.current().scan(columns=[column]).to_arrow().column(0).to_pylist()
            assert found(table, column) == set(scanned), column

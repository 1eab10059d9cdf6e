"""The values of a column that commits concern: what differs between two states is always among them."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from table_format import Table
from table_format.errors import ColumnNotFound, SnapshotExpired
from table_format.model.snapshot import Snapshot
from table_format.table.read.changed_values import changed_values
from table_format.table.read.distinct_values import all_values
from tests.support.tables import memory_warehouse

ORDERS = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), ("day", pa.string()), ("amount", pa.int32()), ("note", pa.string())]
)


def rows(*values: tuple[int, str | None, int | None, str | None]) -> pa.Table:
    columns: list[list[Any]] = [list(column) for column in zip(*values, strict=True)] if values else [[], [], [], []]
    return pa.table(dict(zip(ORDERS.names, columns, strict=True)), schema=ORDERS)


def changed(
    table: Table, before: Snapshot | None, *, watched: tuple[str, ...] | None = None, column: str = "day"
) -> set[Any]:
    after = 0 if before is None else before.id
    now = table.current()
    snapshots = [s for s in now.snapshots() if s.id > after]
    return set(changed_values(now.facts, column, before, snapshots, watched=watched).to_pylist())


def state(table: Table) -> dict[int, dict[str, Any]]:
    return {row["id"]: row for row in table.scan().to_arrow().to_pylist()}


def test_an_upsert_concerns_the_old_and_the_new_value() -> None:
    table = memory_warehouse().table(schema=ORDERS, primary_keys=["id"])
    table.append(rows((1, "mon", 1, None), (2, "tue", 1, None), (3, "wed", 1, None)))
    before = table.latest_snapshot()
    table.append(rows((1, "fri", 1, None)))
    assert changed(table, before) == {"mon", "fri"}


def test_a_delete_concerns_the_value_that_only_the_earlier_state_has() -> None:
    table = memory_warehouse().table(schema=ORDERS, primary_keys=["id"])
    table.append(rows((1, "mon", 1, None), (2, "tue", 1, None)))
    before = table.latest_snapshot()
    deleted = rows((1, None, None, None)).append_column("_row_kind", pa.array(["-D"]))
    table.append(deleted)
    assert changed(table, before) == {"mon"}


def test_only_watched_columns_count() -> None:
    table = memory_warehouse().table(schema=ORDERS, primary_keys=["id"])
    table.append(rows((1, "mon", 1, "a"), (2, "tue", 1, "a"), (3, "wed", 1, "a")))
    before = table.latest_snapshot()
    table.append(rows((1, "mon", 1, "b"), (2, "tue", 2, "a"), (3, "wed", 1, "a")))
    assert changed(table, before) == {"mon", "tue", "wed"}
    assert changed(table, before, watched=("amount",)) == {"tue"}


def test_a_compaction_concerns_nothing() -> None:
    table = memory_warehouse().table(schema=ORDERS, primary_keys=["id"])
    for day in ("mon", "tue", "wed"):
        table.append(rows((1, day, 1, None)))
    before = table.latest_snapshot()
    assert table.compact(full=True)
    assert changed(table, before) == set()


def test_rows_that_wait_for_a_compaction_count_when_it_shows_them() -> None:
    options = {"merge-engine": "first-row", "write-only": "true"}
    table = memory_warehouse().table(schema=ORDERS, primary_keys=["id"], options=options)
    table.append(rows((1, "mon", 1, None)))
    hidden = table.latest_snapshot()
    assert state(table) == {}
    table.copy({"write-only": "false"}).compact(full=True)
    assert set(state(table)) == {1}
    assert changed(table, hidden) == {"mon"}


def test_values_of_a_partition_column_need_no_data_file() -> None:
    warehouse = memory_warehouse()
    table = warehouse.table(schema=ORDERS, partition_keys=["day"])
    table.append(rows((1, "mon", 1, None), (2, None, 1, None)))
    before = table.latest_snapshot()
    table.append(rows((1, "tue", 1, None)))
    table.overwrite(rows(), partition={"day": "mon"})
    for path in warehouse.files(table):
        if path.endswith((".parquet", ".orc", ".avro")) and "bucket-" in path:
            warehouse.io.delete(f"{table.store.paths.root}/{path}")
    assert changed(table, before) == {"tue", "mon"}
    assert set(all_values(table.facts, "day", table.latest_snapshot()).to_pylist()) == {"tue", None}


def test_an_append_table_shows_what_was_added_removed_and_marked_as_deleted() -> None:
    options = {"deletion-vectors.enabled": "true"}
    table = memory_warehouse().table(schema=ORDERS, options=options)
    table.append(rows((1, "mon", 1, None)))
    table.append(rows((2, "tue", 1, None)))
    before = table.latest_snapshot()
    table.append(rows((3, "wed", 1, None)))
    assert changed(table, before) == {"wed"}
    before = table.latest_snapshot()
    table.delete("id = 2")
    assert changed(table, before) == {"tue"}
    before = table.latest_snapshot()
    table.overwrite(rows((9, "sun", 1, None)))
    assert changed(table, before) >= {"mon", "wed", "sun"}


@pytest.mark.parametrize("column", ["day", "note"])
def test_rows_that_were_marked_as_deleted_count_after_a_compaction_has_removed_them(column: str) -> None:
    options = {"deletion-vectors.enabled": "true"}
    table = memory_warehouse().table(schema=ORDERS, partition_keys=["day"], options=options)
    table.append(rows((1, "mon", 1, "mon"), (2, "tue", 1, "tue"), (3, "tue", 1, "tue")))
    before = table.latest_snapshot()
    table.delete("id = 2")
    table.compact(full=True)
    assert changed(table, before, column=column) == {"tue"}


def test_a_snapshot_that_was_expired_is_named() -> None:
    warehouse = memory_warehouse()
    table = warehouse.table(schema=ORDERS, primary_keys=["id"])
    for number in range(4):
        table.append(rows((number, "mon", 1, None)))
    first, *later = table.snapshots()
    table.expire_snapshots(retain_max=1, retain_min=1, older_than_ms=1 << 60, retain_floor_ms=0)
    with pytest.raises(SnapshotExpired, match="snapshot 1"):
        changed_values(warehouse.reopened(table).facts, "day", first, later)


def test_a_column_that_does_not_exist_is_named() -> None:
    table = memory_warehouse().table(schema=ORDERS, primary_keys=["id"])
    with pytest.raises(ColumnNotFound, match="month"):
        changed_values(table.facts, "month", None, ())


KINDS: tuple[tuple[tuple[str, ...], dict[str, str]], ...] = (
    (("id",), {"bucket": "2"}),
    (("id",), {"bucket": "-1"}),
    (("id",), {"bucket": "2", "deletion-vectors.enabled": "true"}),
    (("id",), {"bucket": "1", "merge-engine": "partial-update"}),
    (("id",), {"bucket": "1", "changelog-producer": "lookup"}),
    (("id", "amount"), {"bucket": "2"}),
    (("id",), {"bucket": "-2"}),
    ((), {}),
    ((), {"deletion-vectors.enabled": "true"}),
)


@pytest.mark.parametrize(("keys", "options"), KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_no_difference_between_two_states_is_overlooked(
    keys: tuple[str, ...], options: dict[str, str], seed: int
) -> None:
    """After random writes, deletes, overwrites and compactions, against a comparison of all rows."""
    dice = random.Random(seed)
    table = memory_warehouse().table(schema=ORDERS, primary_keys=keys, options=options)
    days = ["mon", "tue", "wed", "thu", "fri", None]
    for _ in range(4):
        before, was = table.latest_snapshot(), all_rows(table)
        for _ in range(dice.randint(1, 3)):
            written = rows(
                *{
                    (number, amount): (number, dice.choice(days), amount, None)
                    for number, amount in ((dice.randrange(12), dice.randrange(2)) for _ in range(dice.randint(1, 4)))
                }.values()
            )
            match dice.randrange(8):
                case 0 | 1:
                    table.compact(full=True)
                case 2:
                    table.overwrite(written)
                case 3 | 4 if "merge-engine" not in options:
                    table.delete(f"id in ({dice.randrange(12)}, {dice.randrange(12)}, {dice.randrange(12)})")
                    if dice.random() < 0.5:
                        table.compact(full=True)
                case _:
                    table.append(written)
        now = all_rows(table)
        differ = {row[1] for row in (was - now) + (now - was)}
        assert differ <= changed(table, before)
        assert differ <= changed(table, before, watched=("amount", "note"))


def all_rows(table: Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in table.scan().to_arrow().to_pylist())

"""The marts that follow changes equal a computation over all orders, whatever happened to the orders."""

from collections import Counter
from decimal import Decimal
from random import Random
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from assets import order_funnel, orders, table_health, user_ltv
from assets.mart import SOLD
from table_format import Table
from table_format.model.schema import Schema
from tests.support.dagster_project import Project

pytestmark = [pytest.mark.dagster, pytest.mark.filterwarnings("ignore::dagster.BetaWarning")]

COLUMNS = pa.schema(
    [
        ("order_id", pa.int64()),
        ("user_id", pa.int64()),
        ("status", pa.string()),
        ("amount", pa.decimal128(12, 2)),
        ("order_date", pa.string()),
        ("lsn", pa.int64()),
        ("_row_kind", pa.string()),
    ]
)
STATES = ("created", "paid", "shipped", "cancelled")


def a_table_of_orders(project: Project) -> Table:
    catalog = project.lakehouse.catalog()
    catalog.create_database("dwd", ignore_if_exists=True)
    metadata = orders.metadata_by_key[dg.AssetKey(["dwd", "orders"])]
    columns = COLUMNS.remove(COLUMNS.get_field_index("_row_kind"))
    schema = Schema.from_arrow(columns, primary_keys=["order_id"], options=metadata["paimon/options"])
    return catalog.create_table("dwd.orders", schema)


def some_changes(random: Random, lsn: int) -> pa.Table:
    rows = [
        {
            "order_id": order,
            "user_id": random.randrange(4),
            "status": random.choice(STATES),
            "amount": Decimal(random.randrange(10_000)) / 100,
            "order_date": f"2026-01-0{1 + order % 3}",
            "lsn": lsn,
            "_row_kind": random.choice(["+I", "+I", "+I", "-D"]),
        }
        for order in random.sample(range(12), 5)
    ]
    return pa.Table.from_pylist(rows, schema=COLUMNS)


def recomputed(project: Project) -> tuple[dict[int, tuple[int, Decimal]], Counter[tuple[str, str]]]:
    values: dict[int, tuple[int, Decimal]] = {}
    funnel: Counter[tuple[str, str]] = Counter()
    for row in project.rows("dwd.orders"):
        funnel[row["order_date"], row["status"]] += 1
        if row["status"] in SOLD:
            count, revenue = values.get(row["user_id"], (0, Decimal(0)))
            values[row["user_id"]] = (count + 1, revenue + row["amount"])
    return values, funnel


def found(project: Project) -> tuple[dict[int, tuple[int, Decimal]], dict[tuple[str, str], int]]:
    users = {r["user_id"]: (r["orders"], r["revenue"]) for r in project.rows("mart.user_ltv") if r["orders"]}
    funnel = {(r["order_date"], r["status"]): r["orders"] for r in project.rows("mart.order_funnel") if r["orders"]}
    return users, funnel


def test_the_marts_are_right_after_changes_deletes_compactions_rollbacks_and_overwrites(project: Project) -> None:
    table, random = a_table_of_orders(project), Random(5)
    for step in range(9):
        table.append(some_changes(random, lsn=step))
        if step == 4:
            table.rollback_to(table.latest_snapshot().id - 2)
        if step == 6:
            table.compact(full=True)
        if step == 7:
            table.overwrite(some_changes(random, lsn=step).filter(pa.array([True, False, True, False, True])))
            table.compact()  # which records the changes
        for mart in (user_ltv, order_funnel):
            assert project.run(mart).success
        assert found(project) == recomputed(project)


def test_the_health_of_every_table_is_a_row_of_each_hour(project: Project) -> None:
    a_table_of_orders(project).append(some_changes(Random(1), lsn=1))
    for _ in range(2):
        assert project.run(table_health).success
    rows: list[dict[str, Any]] = project.rows("ops.table_health")
    names = Counter(row["table_name"] for row in rows)
    assert names == {"dwd.orders": 2, "ops.table_health": 1}  # the second run measures the table of the first as well
    assert all(row["live_files"] >= 1 for row in rows)

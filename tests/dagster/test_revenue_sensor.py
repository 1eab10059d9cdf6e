"""The revenue of a day is recomputed when events change its orders, in any order of arrival."""

from __future__ import annotations

import random
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from assets.feed import FeedPlan, FeedTable
from assets.feed.delivery import delivered_events
from assets.mart import SOLD
from definitions import defs
from sensors import revenue_of_changed_days
from table_format import Schema, Table
from tests.support.dagster_project import Project, project

__all__ = ["project"]

pytestmark = [pytest.mark.dagster, pytest.mark.filterwarnings("ignore::dagster.BetaWarning")]

PLAN = FeedPlan(events_per_day=60, late_share=0.2, delete_share=0.2)
ARRIVALS = 7
ORDERS = pa.schema(
    [
        pa.field("order_id", pa.int64(), nullable=False),
        ("user_id", pa.int64()),
        ("status", pa.string()),
        ("amount", pa.int64()),
        ("order_date", pa.string()),
        ("lsn", pa.int64()),
    ]
)


def arrived(index: int, days: set[int]) -> pa.Table:
    """What the day's run upserts: of each order that the day touches, its last event of all the days there are."""
    touched = set(delivered_events(PLAN, FeedTable.ORDERS, index)["order_id"].to_pylist())
    last: dict[int, dict[str, Any]] = {}
    for day in sorted(days | {index}):
        for event in delivered_events(PLAN, FeedTable.ORDERS, day).to_pylist():
            key = event["order_id"]
            if key in touched and event["lsn"] > last.get(key, {"lsn": -1})["lsn"]:
                last[key] = event
    return pa.Table.from_pylist(
        [
            {
                "order_id": key,
                "lsn": event["lsn"],
                "_row_kind": "-D" if event["op"] == "d" else "+I",
                **({} if event["op"] == "d" else _row(event)),
            }
            for key, event in last.items()
        ],
        schema=ORDERS.append(pa.field("_row_kind", pa.string())),
    )


def _row(event: dict[str, Any]) -> dict[str, Any]:
    day = pc.strftime(pa.array([event["created_ms"]], pa.timestamp("ms")), "%Y-%m-%d")[0].as_py()
    return {"user_id": event["user_id"], "status": event["status"], "amount": event["cents"], "order_date": day}


def revenue(orders: Table) -> dict[str, tuple[Any, ...]]:
    """The mart, computed from all orders by other code than the asset's."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in orders.scan().to_arrow().to_pylist():
        found.setdefault(row["order_date"], []).append(row)
    sold = {day: [row for row in rows if row["status"] in SOLD] for day, rows in found.items()}
    return {
        day: (
            len(sold[day]),
            len({row["user_id"] for row in sold[day]}),
            sum(row["amount"] for row in sold[day]),
            sum(row["status"] == "cancelled" for row in rows),
        )
        for day, rows in found.items()
    }


@pytest.mark.parametrize("seed", range(2))
def test_every_day_whose_revenue_an_arrival_changes_is_requested(project: Project, seed: int) -> None:
    catalog = project.lakehouse.catalog()
    catalog.create_database("dwd")
    options = {"bucket": "2", "sequence.field": "lsn"}
    orders = catalog.create_table("dwd.orders", Schema.from_arrow(ORDERS, ["order_id"], (), options))
    cursor: str | None = None
    computed: dict[str, tuple[Any, ...]] = {}
    several_days = 0
    order = random.Random(seed).sample([*range(ARRIVALS), *range(2)], ARRIVALS + 2)
    for position, index in enumerate(order):
        orders.append(arrived(index, set(order[:position])))
        if position % 3 == 1:
            orders.compact(full=True)
        now = revenue(orders)
        requested, cursor = tick(project, cursor)
        # The runs it requests: the sensor waits for them before it requests more.
        for day in requested:
            computed.pop(day, None)
            if day in now:
                computed[day] = now[day]
        assert computed == now
        several_days += len(requested) > 1
    assert several_days > 2


def tick(project: Project, cursor: str | None) -> tuple[set[str], str | None]:
    """The days that one tick requests, in runs that succeed."""
    context = dg.build_sensor_context(
        instance=project.instance, cursor=cursor, definitions=defs, resources={"lakehouse": project.lakehouse}
    )
    with context:
        data = revenue_of_changed_days.evaluate_tick(context)
    days: set[str] = set()
    for request in data.run_requests:
        project.instance.create_run_for_job(
            succeeded, tags={"dagster/run_key": request.run_key}, status=dg.DagsterRunStatus.SUCCESS
        )
        if request.partition_key:
            days.add(request.partition_key)
            continue
        start, end = (request.tags[f"dagster/asset_partition_range_{which}"] for which in ("start", "end"))
        daily = defs.resolve_asset_graph().get(dg.AssetKey(["mart", "daily_revenue"])).partitions_def
        assert daily is not None
        days |= set(daily.get_partition_keys_in_range(dg.PartitionKeyRange(start, end)))
    return days, data.cursor


@dg.job
def succeeded() -> None: ...


def test_automation_is_on() -> None:
    running = {sensor.name for sensor in defs.sensors or () if sensor.default_status is dg.DefaultSensorStatus.RUNNING}
    assert {"automation", "external_snapshots", "foreign_commits", "revenue_of_changed_days"} <= running

"""The rows that the shop's tables have to hold: computed from the feed alone, without the library, Spark or Dagster."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from assets.feed import FeedTable, json_lines
from assets.feed.plan import KEY_COLUMN, FeedPlan
from assets.mart import SOLD


def source_now(plan: FeedPlan, table: FeedTable, days: int) -> dict[int, dict[str, Any]]:
    """The rows of the source after the first ``days`` were delivered: of each key the event with the greatest lsn."""
    key, last = KEY_COLUMN[table], {}
    for index in range(days):
        for event in map(json.loads, json_lines(plan, table, index)):
            identifier = (event["after"] or event["before"])[key]
            if identifier not in last or event["lsn"] > last[identifier]["lsn"]:
                last[identifier] = event
    return {identifier: {**e["after"], "lsn": e["lsn"]} for identifier, e in last.items() if e["op"] != "d"}


def moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, tz=UTC)


def expected_orders(plan: FeedPlan, days: int) -> list[dict[str, Any]]:
    """``dwd.orders`` by key."""
    return [
        {
            "order_id": row["order_id"],
            "user_id": row["user_id"],
            "status": row["status"],
            "amount": Decimal(row["amount"]),
            "created_at": moment(row["created_at"]),
            "updated_at": moment(row["updated_at"]),
            "coupon": row.get("coupon"),
            "lsn": row["lsn"],
            "order_date": moment(row["created_at"]).date().isoformat(),
        }
        for _, row in sorted(source_now(plan, FeedTable.ORDERS, days).items())
    ]


def expected_revenue(plan: FeedPlan, days: int, shown: list[str]) -> list[dict[str, Any]]:
    """``mart.daily_revenue`` of the days ``shown``."""
    sales: dict[str, list[dict[str, Any]]] = {}
    for row in expected_orders(plan, days):
        sales.setdefault(row["order_date"], []).append(row)
    return [
        {
            "dt": day,
            "orders": sum(row["status"] in SOLD for row in sales.get(day, [])),
            "customers": len({row["user_id"] for row in sales.get(day, []) if row["status"] in SOLD}),
            "revenue": sum((row["amount"] for row in sales.get(day, []) if row["status"] in SOLD), Decimal("0.00")),
            "cancelled": sum(row["status"] == "cancelled" for row in sales.get(day, [])),
        }
        for day in shown
    ]


def expected_values(plan: FeedPlan, days: int) -> dict[int, tuple[int, Decimal]]:
    """Orders sold to each user and their revenue, as in ``mart.user_ltv``."""
    values: dict[int, tuple[int, Decimal]] = {}
    for row in expected_orders(plan, days):
        if row["status"] in SOLD:
            count, revenue = values.get(row["user_id"], (0, Decimal(0)))
            values[row["user_id"]] = (count + 1, revenue + row["amount"])
    return values


def expected_funnel(plan: FeedPlan, days: int) -> Counter[tuple[str, str]]:
    """Orders by day and status, as in ``mart.order_funnel``."""
    return Counter((row["order_date"], row["status"]) for row in expected_orders(plan, days))

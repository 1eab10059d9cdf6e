"""The change feed: always the same bytes, with all declared faults, and without losing events."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest

from assets.feed import FeedPlan, FeedTable, json_lines, source_columns
from assets.feed.delivery import events_of_day
from assets.feed.plan import KEY_COLUMN, MAX_LATE_DAYS, start_of_day_ms

DAYS = 12
PLAN = FeedPlan(events_per_day=400, seed=3)


def landed(table: FeedTable, plan: FeedPlan = PLAN, days: int = DAYS) -> list[list[dict[str, Any]]]:
    return [[json.loads(line) for line in json_lines(plan, table, day)] for day in range(days)]


def last_rows(days: list[list[dict[str, Any]]], key: str) -> dict[int, dict[str, Any]]:
    """What the source holds in the end: the event with the greatest lsn of each key, deletes taken away."""
    last: dict[int, dict[str, Any]] = {}
    for event in (event for day in days for event in day):
        identifier = (event["after"] or event["before"])[key]
        if identifier not in last or event["lsn"] > last[identifier]["lsn"]:
            last[identifier] = event
    return {identifier: event["after"] for identifier, event in last.items() if event["op"] != "d"}


@pytest.mark.parametrize("table", list(FeedTable))
def test_a_day_always_has_the_same_bytes(table: FeedTable) -> None:
    alone = list(json_lines(PLAN, table, 9))
    list(json_lines(FeedPlan(events_per_day=400, seed=4), table, 9))
    list(json_lines(PLAN, table, 2))
    events_of_day.cache_clear()
    assert list(json_lines(PLAN, table, 9)) == alone


def test_another_seed_gives_another_shop() -> None:
    assert list(json_lines(PLAN, FeedTable.ORDERS, 0)) != list(
        json_lines(FeedPlan(events_per_day=400, seed=4), FeedTable.ORDERS, 0)
    )


def test_every_event_of_a_day_is_delivered_within_the_maximum_delay() -> None:
    for table in FeedTable:
        happened = set(events_of_day(PLAN, table, 5)["lsn"].to_pylist())
        delivered = {event["lsn"] for day in landed(table)[5 : 5 + MAX_LATE_DAYS + 1] for event in day}
        assert happened <= delivered


def test_the_feed_has_late_duplicate_and_disordered_events_deletes_and_hot_keys() -> None:
    days = landed(FeedTable.ORDERS)
    late = sum(event["ts_ms"] < start_of_day_ms(day) for day, events in enumerate(days) for event in events)
    lsns = Counter(event["lsn"] for events in days for event in events)
    disordered = sum(a["lsn"] > b["lsn"] for events in days for a, b in pairwise(events))
    operations = Counter(event["op"] for events in days for event in events)
    customers = Counter(event["after"]["user_id"] for events in days for event in events if event["op"] == "c")
    assert 0.01 < late / lsns.total() < 0.05
    assert 0.005 < sum(count - 1 for count in lsns.values()) / lsns.total() < 0.02
    assert disordered > 20
    assert operations["d"] > 5
    assert customers.most_common(1)[0][1] > 10 * customers.total() / len(customers)


def test_without_faults_the_feed_is_in_order_and_complete() -> None:
    plan = FeedPlan(events_per_day=400, late_share=0, duplicate_share=0, disorder_share=0, delete_share=0)
    for table in FeedTable:
        for day, events in enumerate(landed(table, plan, days=4)):
            assert [event["lsn"] for event in events] == events_of_day(plan, table, day)["lsn"].to_pylist()
            assert all(event["op"] != "d" for event in events)


def test_the_status_of_an_order_changes_in_the_right_order() -> None:
    order = {"created": 0, "cancelled": 1, "paid": 1, "shipped": 2}
    lives: dict[int, list[tuple[int, str]]] = {}
    for event in (event for day in landed(FeedTable.ORDERS) for event in day):
        if event["after"]:
            lives.setdefault(event["after"]["order_id"], []).append((event["lsn"], event["after"]["status"]))
    for life in lives.values():
        steps = [order[status] for _, status in sorted(set(life))]
        assert steps == sorted(set(steps))


def test_nothing_happens_to_a_user_after_the_delete() -> None:
    plan = FeedPlan(events_per_day=400, delete_share=0.5)
    events = [event for day in landed(FeedTable.USERS, plan) for event in day]
    deleted = {event["before"]["user_id"]: event["lsn"] for event in events if event["op"] == "d"}
    changed = [(event["after"]["user_id"], event["lsn"]) for event in events if event["after"]]
    assert len(deleted) > 10
    assert all(lsn < deleted.get(user, lsn + 1) for user, lsn in changed)


def test_the_schema_changes_on_the_eighth_day_and_its_rows_need_the_wider_amount() -> None:
    days = landed(FeedTable.ORDERS)
    assert "coupon" not in source_columns(PLAN, FeedTable.ORDERS, 6)
    for day, events in enumerate(days):
        rows = [event["after"] for event in events if event["after"]]
        assert all(("coupon" in row) == (day >= 7) for row in rows)
        too_wide = [row for row in rows if Decimal(row["amount"]) >= Decimal(10) ** 8]
        assert bool(too_wide) == (day >= 7)


def test_a_delete_contains_only_the_key() -> None:
    for table in FeedTable:
        deletes = [event for day in landed(table) for event in day if event["op"] == "d"]
        assert all(event["after"] is None and list(event["before"]) == [KEY_COLUMN[table]] for event in deletes)


def test_the_final_state_does_not_depend_on_faults_of_delivery() -> None:
    smooth = FeedPlan(events_per_day=400, seed=3, late_share=0, duplicate_share=0, disorder_share=0)
    # Events of the last days may still be under way, so both end on a day when nothing is.
    for table in FeedTable:
        key = KEY_COLUMN[table]
        horizon = start_of_day_ms(DAYS - MAX_LATE_DAYS - 1)
        rough = [[e for e in day if e["ts_ms"] < horizon] for day in landed(table)]
        clean = [[e for e in day if e["ts_ms"] < horizon] for day in landed(table, smooth)]
        found, expected = last_rows(rough, key), last_rows(clean, key)
        for row in (*found.values(), *expected.values()):
            row.pop("coupon", None)  # a late event is delivered with the columns of the day it arrives
        assert found == expected


def test_a_feed_too_small_for_a_day_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 20"):
        FeedPlan(events_per_day=3)

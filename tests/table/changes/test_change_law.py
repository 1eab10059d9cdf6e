"""A law of changes: a state, with what a stream or a batch shows to have changed since, is the later state.

For random histories of upserts, deletes, compactions and overwrites by this library's own writer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from table_format import Table
from table_format.table.system.audit_log import AuditLogTable
from tests.support.tables import keyed, memory_warehouse

State = dict[tuple[int, str], int | None]

KEYS = st.integers(0, 6)
ROWS = st.lists(st.tuples(KEYS, st.sampled_from(["a", "b"]), st.none() | st.integers(0, 3)), min_size=1, max_size=8)
UPSERT = st.tuples(st.just("upsert"), ROWS)
DELETE = st.tuples(st.just("delete"), st.lists(KEYS, min_size=1, max_size=3))
COMPACT = st.tuples(st.just("compact"), st.booleans())
OVERWRITE = st.tuples(st.just("overwrite"), ROWS)
HISTORY = st.lists(st.one_of(UPSERT, UPSERT, DELETE, COMPACT), min_size=2, max_size=8)


def made(history: Iterable[tuple[str, Any]], options: dict[str, str]) -> Table:
    partitions = ["dt"]
    table = memory_warehouse().table(primary_keys=["id", "dt"], partition_keys=partitions, options=options)
    for operation, argument in history:
        match operation:
            case "upsert":
                table.append(keyed(argument))
            case "delete":
                table.delete(f"id in ({', '.join(map(str, argument))})")
            case "compact":
                table.compact(full=argument)
            case "overwrite":
                table.overwrite(keyed(argument))
    return table


def state_at(table: Table, snapshot_id: int) -> State:
    if snapshot_id == 0:
        return {}
    return folded({}, [("+I", *row) for row in values(table.scan(options={"scan.snapshot-id": str(snapshot_id)}))])


def values(scan: Any) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in scan.to_arrow().columns), strict=True))


def folded(state: State, changes: Iterable[tuple[Any, ...]]) -> State:
    """The state after changes, in their order."""
    found = dict(state)
    for kind, key, date, value in changes:
        if kind in ("+I", "+U"):
            found[key, date] = value
        else:
            found.pop((key, date), None)
    return found


common = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])


@common
@given(HISTORY, st.integers(1, 2), st.integers(2, 4), st.data())
def test_changes_between_two_snapshots_lead_from_one_state_to_the_other(
    history: list[tuple[str, Any]], buckets: int, trigger: int, data: st.DataObject
) -> None:
    table = made(history, {"bucket": str(buckets), "num-sorted-run.compaction-trigger": str(trigger)})
    latest = table.facts.snapshots.latest_id() or 0
    start = data.draw(st.integers(0, latest))
    end = data.draw(st.integers(start, latest))
    for mode in ("delta", "diff") if start else ("delta",):
        options = {"incremental-between": f"{start},{end}", "incremental-between-scan-mode": mode}
        changes = values(AuditLogTable(table).scan(options=options))
        assert folded(state_at(table, start), changes) == state_at(table, end), mode


@common
@given(st.lists(st.one_of(UPSERT, DELETE, COMPACT, OVERWRITE), min_size=2, max_size=8), st.data())
def test_a_stream_leads_from_any_state_to_every_later_one(history: list[tuple[str, Any]], data: st.DataObject) -> None:
    table = made(history, {"bucket": "1", "num-sorted-run.compaction-trigger": "3"})
    latest = table.facts.snapshots.latest_id() or 0
    if latest == 0:
        return
    start = data.draw(st.integers(1, latest))
    options = {"scan.mode": "from-snapshot-full", "scan.snapshot-id": str(start), "streaming-read-overwrite": "true"}
    stream = table.stream(options=options)
    state: State = {}
    while (plan := stream.next_plan()) is not None:
        assert plan.snapshot is not None
        rows = stream.to_arrow(plan)
        state = folded(state, zip(*(column.to_pylist() for column in rows.columns), strict=True))
        assert state == state_at(table, plan.snapshot.id)
    assert state == state_at(table, latest)

"""Converts events to delivered files: the log order of a day, and the faults of delivery.

The ``lsn`` of an event is its position among all events of its table. Its file, and the position in the file, may
differ from this order. Events arrive up to ``MAX_LATE_DAYS`` late, a duplicate up to a day after its original.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa

from assets.feed.chance import Ints, between, chance
from assets.feed.orders import order_events
from assets.feed.plan import (
    DAY_MS,
    KEY_COLUMN,
    LIFECYCLE_DAYS,
    MAX_LATE_DAYS,
    FeedPlan,
    FeedTable,
    source_columns,
    start_of_day_ms,
)
from assets.feed.users import user_events

_LSN_PER_DAY: Final = 1_000_000_000
_JITTER_MS: Final = 1_800_000
_BATCH_ROWS: Final = 10_000


def delivered_events(plan: FeedPlan, table: FeedTable, index: int) -> pa.Table:
    """Return the events in the file of one day, in the order of the file.

    >>> events = delivered_events(FeedPlan(events_per_day=100), FeedTable.USERS, 0)
    >>> events.equals(delivered_events(FeedPlan(events_per_day=100), FeedTable.USERS, 0))
    True
    """
    arrivals: list[pa.Table] = []
    for source in range(max(0, index - MAX_LATE_DAYS - 1), index + 1):
        events = events_of_day(plan, table, source)
        lsn = events["lsn"].to_numpy()
        late = _late_days(plan, table, lsn)
        repeated = chance(plan.seed, f"{table}/repeated", lsn)
        repeat_day = source + late + between(0, 2, chance(plan.seed, f"{table}/repeat day", lsn))
        first = source + late == index
        again = (repeated < plan.duplicate_share) & (repeat_day == index)
        arrivals += [
            _placed(plan, table, events.filter(pa.array(first)), index, late=late[first], again=False),
            _placed(plan, table, events.filter(pa.array(again)), index, late=late[again], again=True),
        ]
    together = pa.concat_tables(arrivals)
    return together.sort_by([("place", "ascending"), ("lsn", "ascending")]).drop_columns(["place"])


@lru_cache(maxsize=16)
def events_of_day(plan: FeedPlan, table: FeedTable, index: int) -> pa.Table:
    """Return the events of one table on one day, in order, numbered by ``lsn``."""
    if table is FeedTable.USERS:
        events = user_events(plan, index)
    else:
        lives = [order_events(plan, born) for born in range(max(0, index - LIFECYCLE_DAYS), index + 1)]
        events = pa.concat_tables(lives)
    when = events["ts_ms"].to_numpy()
    today = (when >= start_of_day_ms(index)) & (when < start_of_day_ms(index + 1))
    events = events.filter(pa.array(today)).sort_by([("ts_ms", "ascending"), (KEY_COLUMN[table], "ascending")])
    return events.append_column("lsn", pa.array(index * _LSN_PER_DAY + np.arange(events.num_rows, dtype=np.int64) + 1))


def _late_days(plan: FeedPlan, table: FeedTable, lsn: Ints) -> Ints:
    is_late = chance(plan.seed, f"{table}/is late", lsn) < plan.late_share
    return np.where(is_late, between(1, MAX_LATE_DAYS + 1, chance(plan.seed, f"{table}/late", lsn)), 0)


def _placed(plan: FeedPlan, table: FeedTable, events: pa.Table, index: int, *, late: Ints, again: bool) -> pa.Table:
    """Add ``place``, the sort key in the file: log order, except for late, duplicate and out-of-order events."""
    lsn = events["lsn"].to_numpy()
    when = events["ts_ms"].to_numpy()
    anywhere = start_of_day_ms(index) + between(0, DAY_MS, chance(plan.seed, f"{table}/place/{again}", lsn))
    jitter = between(-_JITTER_MS, _JITTER_MS, chance(plan.seed, f"{table}/jitter", lsn))
    disordered = chance(plan.seed, f"{table}/is disordered", lsn) < plan.disorder_share
    in_order = when + np.where(disordered, jitter, 0)
    place = anywhere if again else np.where(late > 0, anywhere, in_order)
    return events.append_column("place", pa.array(place, pa.int64()))


def json_lines(plan: FeedPlan, table: FeedTable, index: int) -> Iterator[str]:
    """Yield the lines of the file of one day, as a change-capture connector writes them: JSON objects, amounts as text.

    >>> line = next(json_lines(FeedPlan(events_per_day=100), FeedTable.USERS, 0))
    >>> sorted(json.loads(line))
    ['after', 'before', 'lsn', 'op', 'source', 'ts_ms']
    """
    key = KEY_COLUMN[table]
    columns = tuple(source_columns(plan, table, index))
    source = {"db": "shop", "table": str(table)}
    for batch in delivered_events(plan, table, index).to_batches(max_chunksize=_BATCH_ROWS):
        for event in batch.to_pylist():
            row = _row_after(event)
            is_delete = event["op"] == "d"
            envelope = {
                "op": event["op"],
                "ts_ms": event["ts_ms"],
                "lsn": event["lsn"],
                "source": source,
                "before": {key: event[key]} if is_delete else None,
                "after": None if is_delete else {column: row[column] for column in columns},
            }
            yield json.dumps(envelope, separators=(",", ":"))


def _row_after(event: dict[str, Any]) -> dict[str, Any]:
    row = {**event, "created_at": event["created_ms"], "updated_at": event["ts_ms"]}
    if "cents" in event:
        row["amount"] = f"{event['cents'] // 100}.{event['cents'] % 100:02d}"
    return row

"""Choosing the partition column of a primary key table (docs/partitioning.md)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format import Table
from table_format.table.system.audit_log import AuditLogTable
from tests.support.tables import keyed, memory_warehouse, rows_of

Row = tuple[int, str, int]
Change = tuple[str, Row]

# What a source does to its own table, in which `id` alone is the key: set a row, or delete it.
VALUES = st.none() | st.tuples(st.sampled_from("abc"), st.integers(0, 9))
ACTIONS = st.lists(st.tuples(st.integers(0, 4), VALUES), min_size=1, max_size=15)


def change_feed(actions: list[tuple[int, tuple[str, int] | None]]) -> tuple[list[Change], dict[int, Row]]:
    """The complete feed of changes, each update as -U and +U, and the rows of the source in the end."""
    rows: dict[int, Row] = {}
    feed: list[Change] = []
    for key, values in actions:
        before = rows.pop(key, None)
        if values is None:
            feed += [("-D", before)] if before else []
            continue
        rows[key] = (key, *values)
        feed += [("-U", before), ("+U", rows[key])] if before else [("+I", rows[key])]
    return feed, rows


def by_event_time(**options: str) -> Table:
    given_options = {"changelog-producer": "input", **{k.replace("_", "-"): v for k, v in options.items()}}
    return memory_warehouse().table(primary_keys=["dt", "id"], partition_keys=["dt"], options=given_options)


def written(table: Table, feed: list[Change], size: int) -> None:
    for start in range(0, len(feed), size):
        batch = feed[start : start + size]
        table.append(keyed([row for _, row in batch], _row_kind=pa.array([kind for kind, _ in batch])))


@settings(deadline=None, max_examples=15)
@given(ACTIONS, st.integers(1, 5), st.sampled_from(["2", "-1"]))
def test_by_event_time_a_complete_feed_keeps_one_row_for_each_key(actions: list[Any], size: int, buckets: str) -> None:
    feed, expected = change_feed(actions)
    table = by_event_time(bucket=buckets)
    written(table, feed, size)
    assert rows_of(table) == sorted(expected.values(), key=repr)
    table.compact(full=True)
    assert rows_of(table) == sorted(expected.values(), key=repr)


def test_the_changelog_carries_on_what_takes_the_row_out_of_its_old_partition() -> None:
    table = by_event_time()
    written(table, [("+I", (1, "a", 1)), ("-U", (1, "a", 1)), ("+U", (1, "b", 2))], 1)
    span = {"incremental-between": "0,3", "incremental-between-scan-mode": "changelog"}
    changes = AuditLogTable(table).scan(options=span).to_arrow().to_pylist()
    assert [(c["rowkind"], c["id"], c["dt"]) for c in changes] == [("+I", 1, "a"), ("-U", 1, "a"), ("+U", 1, "b")]
    assert rows_of(table) == [(1, "b", 2)]


def test_without_the_row_before_an_update_the_old_partition_keeps_it() -> None:
    table = by_event_time()
    written(table, [("+I", (1, "a", 1)), ("+U", (1, "b", 2))], 1)
    assert rows_of(table) == [(1, "a", 1), (1, "b", 2)]


def test_by_creation_time_upserts_are_enough() -> None:
    table = memory_warehouse().table(primary_keys=["dt", "id"], partition_keys=["dt"])
    written(table, [("+I", (1, "created", 1)), ("+I", (1, "created", 2)), ("+I", (2, "later", 1))], 1)
    assert rows_of(table) == [(1, "created", 2), (2, "later", 1)]

"""Laws of whatever the write side leaves behind, for tables of every mode and random histories.

A compaction never changes a read. Where there are deletion vectors, the rows they leave are the merged rows. After an
expiry everything on disk is reachable, and everything that is reachable is on disk.
"""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from table_format import Table
from tests.support.matrix import tries
from tests.support.reachable import check_files
from tests.support.tables import keyed, memory_warehouse, rows_of
from tests.table.read.test_changelog_law import changelog_of, strictly_folded

KEYS = {"primary_keys": ["id", "dt"], "partition_keys": ["dt"]}
MARKS = {"deletion-vectors.enabled": "true"}
INDEXES = {"file-index.bloom-filter.columns": "id,v", "file-index.bloom-filter.v.items": "50"}
MERGING = {"deletion-vectors.merge-on-read": "true"}
MODES: dict[str, dict[str, str]] = {
    "merge on read": {},
    "copy on write": {"changelog-producer": "full-compaction", "full-compaction.delta-commits": "1"},
    "merge on write": MARKS,
    "wide marks": {**MARKS, "deletion-vectors.bitmap64": "true"},
    "lookup": {"changelog-producer": "lookup"},
    "lookup and marks": {"changelog-producer": "lookup", **MARKS},
    "input": {"changelog-producer": "input"},
    "sums": {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum", "ignore-delete": "true"},
    "partial rows and marks": {"merge-engine": "partial-update", "ignore-delete": "true", **MARKS},
    "first row": {"merge-engine": "first-row", "ignore-delete": "true"},
    "dynamic buckets": {"bucket": "-1", "dynamic-bucket.target-row-num": "3"},
    "dynamic buckets and marks": {"bucket": "-1", "dynamic-bucket.target-row-num": "3", **MARKS},
    "merge on write and indexes": {**MARKS, **INDEXES},
    "lookup and indexes": {"changelog-producer": "lookup", **INDEXES},
    "append and indexes": {**INDEXES, "file-index.bloom-filter.id.items": "200", "target-file-size": "1 b"},
    "append": {},
    "append and marks": {**MARKS, "deletion-vector.index-file.target-size": "40 b"},
}


def new_table(mode: str, further: dict[str, str] | None = None) -> Table:
    chosen = {**MODES[mode], **(further or {})}
    if mode.startswith("append"):
        return memory_warehouse().table(partition_keys=["dt"], options=chosen)
    options = {"bucket": "1", "num-sorted-run.compaction-trigger": "3", **chosen}
    return memory_warehouse().table(**KEYS, options=options)


def do_something(table: Table, chance: random.Random) -> None:
    rows = [(chance.randrange(9), chance.choice("ab"), chance.randrange(4)) for _ in range(chance.randint(1, 8))]
    deletes = not table.schema.primary_keys or table.options.merge.obstacle_to_delete is None
    what = chance.random()
    if what < 0.2 and deletes and "ignore-delete" not in table.options.raw:
        table.delete(f"id in ({chance.randrange(9)}, {chance.randrange(9)})")
    elif what < 0.3:
        table.overwrite(keyed(rows))
    else:
        table.append(keyed(rows))


def merged(table: Table) -> list[tuple[Any, ...]]:
    """All rows, those of level 0 too."""
    marks = table.schema.primary_keys and "deletion-vectors.enabled" in table.options.raw
    return rows_of(table, options=MERGING if marks else None)


def check_compaction(table: Table, chance: random.Random) -> None:
    before = merged(table)
    table.compact(full=chance.random() < 0.5)
    after = merged(table)
    if table.options.raw.get("merge-engine") != "first-row":  # of which a reader sees what was compacted
        assert after == before
    table.compact(full=True)
    assert merged(table) == after or table.options.raw.get("merge-engine") == "first-row"
    assert rows_of(table) == merged(table)
    if table.schema.primary_keys:
        keys = [row[:2] for row in rows_of(table)]
        assert len(keys) == len(set(keys))


@pytest.mark.parametrize("mode", MODES)
def test_compaction_changes_no_read_and_expiry_leaves_what_is_reachable(mode: str) -> None:
    chance = random.Random(mode)
    table = new_table(mode)
    table.append(keyed([(1, "a", 1)]))
    states: dict[int, list[tuple[Any, ...]]] = {}
    for step in range(tries(3, many=4)):
        for _ in range(chance.randint(1, 3)):
            do_something(table, chance)
        check_compaction(table, chance)
        latest = table.snapshots()[-1].id
        states[latest] = rows_of(table)
        if chance.random() < 0.4:
            table.create_tag(f"t{step}")
        if chance.random() < 0.3 and table.tags():
            table.delete_tag(chance.choice(sorted(table.tags())))
        count = chance.randint(1, 4)
        table.expire_snapshots(retain_min=count, retain_max=count, older_than_ms=1 << 60, retain_floor_ms=0)
        check_files(table)
        assert not table.remove_orphan_files(older_than_ms=1 << 60, dry_run=True, nobody_else_writes=True).files
        for number, rows in states.items():
            if table.facts.snapshots.exists(number):
                assert rows_of(table, options={"scan.snapshot-id": str(number)}) == rows


@pytest.mark.parametrize("seed", range(tries(2, many=4)))
@pytest.mark.parametrize("options", [{}, MARKS], ids=["merge on read", "merge on write"])
def test_changes_that_come_as_they_happened_fold_to_every_state(options: dict[str, str], seed: int) -> None:
    chance = random.Random(seed)
    table = memory_warehouse().table(**KEYS, options={"bucket": "2", "changelog-producer": "input", **options})
    state: dict[tuple[int, str], int | None] = {}
    for _ in range(5):
        table.append(happened(state, chance))
        if chance.random() < 0.5:
            table.compact(full=True)
    told: dict[tuple[int, str], int | None] = {}
    changes = changelog_of(table)
    for snapshot in table.snapshots():
        told = strictly_folded(told, changes.get(snapshot.id, []))
        at = {"scan.snapshot-id": str(snapshot.id), **(MERGING if options else {})}
        assert {row[:2]: row[2] for row in rows_of(table, options=at)} == told
    assert told == state


def happened(state: dict[tuple[int, str], int | None], chance: random.Random) -> pa.Table:
    """Changes as a database tells them, each key once, and their effect on the state."""
    kinds, rows = [], []
    for key in chance.sample([(i, p) for i in range(6) for p in "ab"], 5):
        before, value = state.get(key), chance.randrange(9)
        if key not in state:
            kinds, rows, state[key] = [*kinds, "+I"], [*rows, (*key, value)], value
        elif chance.random() < 0.4:
            kinds, rows = [*kinds, "-D"], [*rows, (*key, before)]
            del state[key]
        else:
            kinds, rows, state[key] = [*kinds, "-U", "+U"], [*rows, (*key, before), (*key, value)], value
    return keyed(rows, _row_kind=pa.array(kinds))

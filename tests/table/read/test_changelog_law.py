"""A law of changelogs: the changes of snapshots 1 to n lead to the state at n, with every changelog producer.

For random histories of upserts, deletes, compactions and overwrites by this library's own writer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from table_format import Table
from table_format.model.snapshot import CommitKind
from tests.support.tables import keyed, memory_warehouse
from tests.table.changes.test_change_law import COMPACT, DELETE, ROWS, UPSERT, State, folded, state_at

HISTORY = st.lists(st.one_of(UPSERT, UPSERT, DELETE, COMPACT), min_size=2, max_size=8)
GROWTH = st.lists(st.one_of(st.tuples(st.just("upsert"), ROWS), COMPACT), min_size=2, max_size=8)
FULL = {"changelog-producer": "full-compaction"}
SUM = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}

common = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])


def made(history: Iterable[tuple[str, Any]], options: dict[str, str]) -> Table:
    table = memory_warehouse().table(
        primary_keys=["id", "dt"],
        partition_keys=["dt"],
        options={"bucket": "1", "num-sorted-run.compaction-trigger": "3", **options},
    )
    for operation, argument in history:
        match operation:
            case "upsert":
                table.append(keyed(argument))
            case "delete":
                table.delete(f"id in ({', '.join(map(str, argument))})")
            case "compact":
                table.compact(full=argument)
    return table


def changelog_of(table: Table) -> dict[int, list[tuple[Any, ...]]]:
    """The changes by snapshot, each with its kind in front, in their order."""
    stream = table.stream(options={"scan.mode": "from-snapshot", "scan.snapshot-id": "1"})
    found = {}
    while (plan := stream.next_plan()) is not None:
        assert plan.snapshot is not None
        found[plan.snapshot.id] = rows_of(stream.to_arrow(plan))
    return found


def rows_of(rows: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in rows.columns), strict=True))


def strictly_folded(state: State, changes: Iterable[tuple[Any, ...]]) -> State:
    """The state after changes, of which each takes back what is there and adds what is not."""
    found = dict(state)
    for kind, key, date, value in changes:
        if kind in ("+I", "+U"):
            assert (key, date) not in found
            found[key, date] = value
        else:
            assert found.pop((key, date)) == value
    return found


@common
@given(HISTORY)
def test_the_input_changelog_leads_to_every_state(history: list[tuple[str, Any]]) -> None:
    table = made(history, {"changelog-producer": "input"})
    changes = changelog_of(table)
    state: State = {}
    for snapshot in table.snapshots():
        assert snapshot.changelog_record_count == len(changes.get(snapshot.id, ()))
        state = folded(state, changes.get(snapshot.id, ()))
        assert state == state_at(table, snapshot.id)


@common
@given(HISTORY, st.booleans(), st.sampled_from([{}, {"full-compaction.delta-commits": "1"}]))
def test_the_changelog_of_full_compactions_leads_to_what_they_make(
    history: list[tuple[str, Any]], deduplicates: bool, options: dict[str, str]
) -> None:
    check_full(made(history, {**FULL, "changelog-producer.row-deduplicate": str(deduplicates).lower(), **options}))


@common
@given(GROWTH, st.sampled_from([SUM, {"merge-engine": "partial-update"}, {"sequence.field": "v"}]))
def test_so_it_does_for_every_merge_engine(history: list[tuple[str, Any]], options: dict[str, str]) -> None:
    check_full(made(history, {**FULL, **options}))


@common
@given(HISTORY, st.booleans(), st.sampled_from([{}, {"deletion-vectors.enabled": "true"}, {"sequence.field": "v"}]))
def test_the_changelog_by_lookup_leads_to_every_state(
    history: list[tuple[str, Any]], deduplicates: bool, options: dict[str, str]
) -> None:
    row_deduplicate = {"changelog-producer.row-deduplicate": str(deduplicates).lower()}
    check_lookup(made(history, {"changelog-producer": "lookup", **row_deduplicate, **options}))


@common
@given(
    GROWTH,
    st.sampled_from([SUM, {"merge-engine": "partial-update"}, {"merge-engine": "first-row"}]),
    st.booleans(),
)
def test_so_it_does_with_every_merge_engine(
    history: list[tuple[str, Any]], engine: dict[str, str], marks: bool
) -> None:
    vectors = {"deletion-vectors.enabled": "true"} if marks and "first-row" not in engine.values() else {}
    check_lookup(made(history, {"changelog-producer": "lookup", **engine, **vectors}))


def check_lookup(table: Table) -> None:
    changes = changelog_of(table)
    state: State = {}
    for snapshot in table.snapshots():
        found = changes.get(snapshot.id, [])
        assert snapshot.changelog_record_count == len(found)
        state = strictly_folded(state, found)
        if snapshot.commit_kind is CommitKind.COMPACT:
            assert state == state_at(table, snapshot.id)


def check_full(table: Table) -> None:
    table.compact(full=True)
    changes = changelog_of(table)
    state: State = {}
    for snapshot in table.snapshots():
        found = changes.get(snapshot.id, [])
        assert snapshot.changelog_record_count == len(found)
        assert not found or snapshot.commit_kind is CommitKind.COMPACT
        state = strictly_folded(state, found)
    assert state == state_at(table, table.snapshots()[-1].id if table.snapshots() else 0)


def test_an_update_that_changes_nothing_is_told_unless_it_is_asked_not_to_be() -> None:
    for deduplicates, expected in (("false", ["-U", "+U"]), ("true", [])):
        options = {"full-compaction.delta-commits": "1", "changelog-producer.row-deduplicate": deduplicates}
        table = made([("upsert", [(1, "a", 5)]), ("upsert", [(1, "a", 5)])], {**FULL, **options})
        assert [kind for kind, *_ in changelog_of(table).get(4, [])] == expected


def test_columns_may_be_left_out_of_the_comparison() -> None:
    options = {
        "full-compaction.delta-commits": "1",
        "changelog-producer.row-deduplicate": "true",
        "changelog-producer.row-deduplicate-ignore-fields": "v",
    }
    table = made([("upsert", [(1, "a", 5)]), ("upsert", [(1, "a", 6)])], {**FULL, **options})
    assert changelog_of(table).get(4, []) == []


def test_a_key_that_comes_and_goes_between_two_full_compactions_is_not_told() -> None:
    table = made([("upsert", [(1, "a", 1), (2, "a", 2)]), ("delete", [2]), ("compact", True)], FULL)
    assert changelog_of(table) == {3: [("+I", 1, "a", 1)]}


def test_the_input_changelog_has_every_row_in_key_order_and_files_as_asked() -> None:
    options = {
        "changelog-producer": "input",
        "changelog-file.prefix": "log-",
        "changelog-file.format": "avro",
        "changelog-file.compression": "snappy",
        "changelog-file.stats-mode": "none",
    }
    table = made([("upsert", [(2, "a", 1), (1, "a", 2), (2, "a", 3)])], options)
    assert changelog_of(table) == {1: [("+I", 1, "a", 2), ("+I", 2, "a", 1), ("+I", 2, "a", 3)]}
    (snapshot,) = table.snapshots()
    manifests = table.facts.manifests
    (entry,) = (e for manifest in manifests.changelog_manifests(snapshot) for e in manifests.read(manifest))
    assert entry.file.file_name.startswith("log-")
    assert entry.file.file_name.endswith(".avro")
    assert (entry.file.level, entry.file.row_count, entry.file.delete_row_count) == (0, 3, 0)
    assert entry.file.value_stats.null_counts == (None, None, None)
    (data,) = table.facts.manifests.delta_entries(snapshot)
    assert data.file.file_name.endswith(".parquet")
    assert data.file.row_count == 2


@pytest.mark.parametrize("producer", ["input", "full-compaction", "lookup"])
def test_an_overwrite_has_no_changelog_and_leaves_no_file_of_one(producer: str) -> None:
    warehouse = memory_warehouse()
    options = {"changelog-producer": producer, "bucket": "1"}
    if producer == "full-compaction":
        options["full-compaction.delta-commits"] = "1"
    table = warehouse.table(primary_keys=["id"], options=options)
    table.overwrite(keyed([(1, "a", 1)]))
    assert [s.changelog_record_count for s in table.snapshots()] == [0]
    assert not [name for name in warehouse.files(table) if "changelog-" in name]


def test_expiry_deletes_changelog_files_with_their_snapshots() -> None:
    warehouse = memory_warehouse()
    table = warehouse.table(primary_keys=["id"], options={"changelog-producer": "input", "bucket": "1"})
    for value in range(4):
        table.append(keyed([(1, "a", value)]))
    table.expire_snapshots(retain_max=1, retain_min=1, older_than_ms=2**62, retain_floor_ms=0)
    assert len([name for name in warehouse.files(table) if "changelog-" in name]) == 1

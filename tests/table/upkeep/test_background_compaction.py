"""Commits that wait for their compaction, commits that do not, and compactions that run beside a stream of writes."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from table_format import Table
from table_format.errors import CorruptionError
from table_format.model.snapshot import CommitKind
from table_format.options.table_options import TableOptions
from tests.support.compaction import AtOnce, OnDemand, data_files, kinds, levels
from tests.support.matrix import tries
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of

MARKS = {"deletion-vectors.enabled": "true"}
FIRST_ROW = {"merge-engine": "first-row"}
LOOKUP = {"changelog-producer": "lookup"}
LATER = {"lookup-wait": "false"}
LOOKING_UP = [MARKS, FIRST_ROW, LOOKUP]


def a_table(warehouse: Warehouse, *options: Mapping[str, str], trigger: int = 5) -> Table:
    given = {"bucket": "1", "num-sorted-run.compaction-trigger": str(trigger)}
    for more in options:
        given |= more
    return warehouse.table(primary_keys=["id"], options=given)


def no_leak(warehouse: Warehouse, table: Table) -> None:
    named, found = data_files(table, warehouse.files(table))
    assert found == named


# --- lookup-wait ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", LOOKING_UP)
def test_by_default_a_row_is_readable_right_after_its_commit(mode: Mapping[str, str]) -> None:
    table = a_table(memory_warehouse(), mode)
    for i in range(4):
        made = table.append(keyed([(i, "a", i)]))
        assert [s.commit_kind for s in made] == [CommitKind.APPEND, CommitKind.COMPACT]
        assert rows_of(table) == [(k, "a", k) for k in range(i + 1)]
        assert mode is not LOOKUP or made[-1].changelog_record_count == 1


@pytest.mark.parametrize("mode", [MARKS, FIRST_ROW])
def test_without_waiting_a_row_is_readable_after_the_compaction(mode: Mapping[str, str]) -> None:
    warehouse = memory_warehouse()
    table = a_table(warehouse, mode, LATER)
    for i in range(3):
        assert len(table.append(keyed([(i, "a", i)]))) == 1
        assert rows_of(table) == []
    (made,) = table.compact()
    assert made.commit_kind is CommitKind.COMPACT
    assert rows_of(table) == [(k, "a", k) for k in range(3)]
    no_leak(warehouse, table)


def test_without_waiting_the_changelog_comes_with_the_compaction() -> None:
    table = a_table(memory_warehouse(), LOOKUP, LATER)
    for v in range(3):
        table.append(keyed([(1, "a", v)]))
        assert rows_of(table) == [(1, "a", v)]
    table.compact()
    assert [s.changelog_record_count for s in table.snapshots()] == [0, 0, 0, 1]


@pytest.mark.parametrize("mode", LOOKING_UP)
def test_a_write_waits_after_all_when_too_many_runs_have_gathered(mode: Mapping[str, str]) -> None:
    table = a_table(memory_warehouse(), mode, LATER, {"num-sorted-run.stop-trigger": "4"}, trigger=3)
    for i in range(14):
        table.append(keyed([(i, "a", i)]))
        assert len(levels(table)) <= 5
    assert kinds(table).startswith("AAAAAACA")


def test_commits_may_be_made_to_wait() -> None:
    table = a_table(memory_warehouse(), MARKS, LATER, {"commit.force-compact": "true"})
    table.append(keyed([(1, "a", 1)]))
    assert rows_of(table) == [(1, "a", 1)]


def test_gentle_lookups_move_level_0_up_when_enough_has_gathered() -> None:
    gentle = {"lookup-compact": "gentle", "lookup-compact.max-interval": "4"}
    table = a_table(memory_warehouse(), MARKS, gentle, trigger=4)
    table.append(keyed([(i, "a", 0) for i in range(3000)]))
    table.compact(full=True)
    seen = []
    for v in range(1, 9):
        table.append(keyed([(1, "a", v)]))
        seen.append(next(row[2] for row in rows_of(table) if row[0] == 1))
    # Four runs are due for a compaction whatever is on level 0: the large one and three, then two and two.
    assert seen == [0, 0, 3, 3, 5, 5, 7, 7]


# --- beside a stream ------------------------------------------------------------------------------------------------


def test_what_a_compaction_makes_is_committed_with_a_later_write() -> None:
    warehouse, later = memory_warehouse(), OnDemand()
    table = a_table(warehouse, MARKS, LATER)
    write, commit = table.new_write("s", compactor=later), table.new_commit("s")
    made = []
    for i in range(1, 4):
        made.append(len(commit.commit(write.write(keyed([(i, "a", i)])), identifier=i)))
    assert made == [1, 1, 1]
    assert rows_of(table) == []
    assert later.run() == 1
    assert rows_of(table) == []
    assert len(commit.commit(write.write(keyed([(4, "a", 4)])), identifier=4)) == 2
    # The compaction was begun after the first commit.
    assert rows_of(table) == [(1, "a", 1)]
    assert len(commit.commit(write.finish(), identifier=5)) == 1
    assert rows_of(table) == [(i, "a", i) for i in range(1, 5)]
    no_leak(warehouse, table)


def test_one_that_is_done_at_once_is_committed_with_the_next_write() -> None:
    table, at_once = a_table(memory_warehouse(), MARKS, LATER), AtOnce()
    write, commit = table.new_write("s", compactor=at_once), table.new_commit("s")
    for i in range(1, 5):
        commit.commit(write.write(keyed([(1, "a", i)])), identifier=i)
        assert rows_of(table) == ([(1, "a", i - 1)] if i > 1 else [])
    assert kinds(table) == "AACACAC"
    assert [s.commit_identifier for s in table.snapshots()] == [1, 2, 2, 3, 3, 4, 4]


def test_commits_that_wait_do_so_beside_an_executor_as_well() -> None:
    table, later = a_table(memory_warehouse(), MARKS), OnDemand()
    write, commit = table.new_write("s", compactor=later), table.new_commit("s")
    for i in range(1, 4):
        commit.commit(write.write(keyed([(1, "a", i)])), identifier=i)
        assert rows_of(table) == [(1, "a", i)]
    assert later.waiting == []


def test_a_table_that_merges_on_read_waits_only_when_too_many_runs_have_gathered() -> None:
    warehouse, later = memory_warehouse(), OnDemand()
    table = a_table(warehouse, {"num-sorted-run.stop-trigger": "4"}, trigger=3)
    write, commit = table.new_write("s", compactor=later), table.new_commit("s")
    for i in range(1, 20):
        commit.commit(write.write(keyed([(i % 4, "a", i)])), identifier=i)
        assert len(levels(table)) <= 5
    assert kinds(table).startswith("AAAAAACA")
    commit.commit(write.finish(), identifier=20)
    assert rows_of(table) == [(0, "a", 16), (1, "a", 17), (2, "a", 18), (3, "a", 19)]
    no_leak(warehouse, table)


@pytest.mark.parametrize("ran", [False, True])
def test_abort_leaves_nothing_of_a_compaction_under_way(ran: bool) -> None:
    warehouse, later = memory_warehouse(), OnDemand()
    table = a_table(warehouse, MARKS, LATER)
    write, commit = table.new_write("s", compactor=later), table.new_commit("s")
    commit.commit(write.write(keyed([(i, "a", 1) for i in range(50)])), identifier=1)
    later.run()
    commit.commit(write.write(keyed([(i, "a", 2) for i in range(30)])), identifier=2)
    if ran:
        later.run()
    write.abort()
    no_leak(warehouse, table)
    table.compact()
    assert rows_of(table) == sorted([(i, "a", 2 if i < 30 else 1) for i in range(50)], key=repr)


@pytest.mark.parametrize("mode", [{}, MARKS, LOOKUP])
@pytest.mark.parametrize("ran", [False, True])
def test_a_compaction_in_vain_is_discarded_and_the_stream_goes_on(mode: Mapping[str, str], ran: bool) -> None:
    warehouse, later = memory_warehouse(), OnDemand()
    table = a_table(warehouse, mode, LATER if mode else {}, trigger=2)
    write, commit = table.new_write("s", compactor=later), table.new_commit("s")
    for i in range(1, 4):
        commit.commit(write.write(keyed([(i, "a", i), (0, "a", i)])), identifier=i)
    if ran:
        later.run()
    table.compact(full=True)
    for i in range(4, 6):
        commit.commit(write.write(keyed([(i, "a", i), (0, "a", i)])), identifier=i)
    commit.commit(write.finish(), identifier=6)
    table.compact()
    assert rows_of(table) == [(0, "a", 5), *((i, "a", i) for i in range(1, 6))]
    no_leak(warehouse, table)


def test_new_files_of_others_do_not_disturb_a_compaction_under_way() -> None:
    warehouse, later = memory_warehouse(), OnDemand()
    table = a_table(warehouse, MARKS, LATER)
    write, commit = table.new_write("s", compactor=later), table.new_commit("s")
    commit.commit(write.write(keyed([(1, "a", 1)])), identifier=1)
    table.append(keyed([(2, "a", 2)]))
    commit.commit(write.write(keyed([(3, "a", 3)])), identifier=2)
    later.run()
    assert len(commit.commit(write.write(keyed([(4, "a", 4)])), identifier=3)) == 2
    assert rows_of(table) == [(1, "a", 1)]


def test_what_a_compaction_fails_of_is_raised_by_the_next_write() -> None:
    warehouse, later = memory_warehouse(), OnDemand()
    table = a_table(warehouse, MARKS, LATER)
    write, commit = table.new_write("s", compactor=later), table.new_commit("s")
    commit.commit(write.write(keyed([(1, "a", 1)])), identifier=1)
    (path,) = (name for name in warehouse.files(table) if "bucket-" in name)
    warehouse.io.delete(f"{table.store.paths.root}/{path}")
    later.run()
    with pytest.raises(CorruptionError, match="data-"):
        write.write(keyed([(2, "a", 2)]))


def test_threads_compact_beside_a_stream_and_nothing_is_lost() -> None:
    warehouse = memory_warehouse()
    table = warehouse.table(primary_keys=["id"], options={"bucket": "3", **MARKS, **LATER})
    expected: dict[int, int] = {}
    with ThreadPoolExecutor(2) as pool:
        write, commit = table.new_write("s", compactor=pool), table.new_commit("s")
        for i in range(1, 30):
            rows = {(i * 7 + n) % 50: i for n in range(10)}
            commit.commit(write.write(keyed([(k, "a", v) for k, v in rows.items()])), identifier=i)
            expected |= rows
        commit.commit(write.finish(), identifier=30)
    table.compact()
    assert rows_of(table) == sorted(((k, "a", v) for k, v in expected.items()), key=repr)
    no_leak(warehouse, table)


# --- laws -----------------------------------------------------------------------------------------------------------

STEP = st.one_of(
    st.tuples(st.just("write"), st.lists(st.tuples(st.integers(0, 12), st.integers(0, 9)), min_size=1, max_size=6)),
    st.tuples(st.just("write"), st.lists(st.tuples(st.integers(0, 12), st.integers(0, 9)), min_size=1, max_size=6)),
    st.tuples(st.just("run"), st.none()),
    st.tuples(st.just("job"), st.booleans()),
    st.tuples(st.just("other"), st.integers(20, 30)),
    st.tuples(st.just("restart"), st.booleans()),
)
MODES = [
    {},
    MARKS,
    LOOKUP,
    {**LOOKUP, **MARKS},
    {"force-lookup": "true", "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
    {"full-compaction.delta-commits": "3", "changelog-producer": "full-compaction"},
    {"compaction.force-up-level-0": "true", "compaction.force-rewrite-all-files": "true"},
    {**MARKS, "lookup-compact": "gentle"},
    {"compaction.optimization-interval": "1 h"},
    {"compaction.total-size-threshold": "4 kb"},
    {"compaction.incremental-size-threshold": "4 kb"},
]


@settings(deadline=None, max_examples=tries(20, many=40), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STEP, min_size=3, max_size=14), st.sampled_from(MODES), st.booleans(), st.booleans())
def test_rows_are_those_of_a_table_that_is_never_compacted(
    history: list[tuple[str, Any]], mode: dict[str, str], waits: bool, at_once: bool
) -> None:
    warehouse = memory_warehouse()
    looks_up = TableOptions.parse(mode).compacts_by_lookup
    table = a_table(warehouse, mode, LATER if looks_up and not waits else {}, trigger=3)
    engine = {key: value for key, value in mode.items() if key == "merge-engine" or key.startswith("fields.")}
    plain = warehouse.table("plain", primary_keys=["id"], options={"bucket": "1", "write-only": "true", **engine})
    executor: AtOnce | OnDemand = AtOnce() if at_once else OnDemand()
    write, commit, identifier = table.new_write("s", compactor=executor), table.new_commit("s"), 0
    for step, argument in history:
        identifier += 1
        match step:
            case "write":
                rows = keyed([(k, "a", v) for k, v in argument])
                plain.append(rows)
                commit.commit(write.write(rows), identifier=identifier)
            case "run" if isinstance(executor, OnDemand):
                executor.run()
            case "job":
                table.compact(full=argument)
            case "other":
                plain.append(keyed([(argument, "b", argument)]))
                table.append(keyed([(argument, "b", argument)]))
            case "restart":
                if argument:
                    commit.commit(write.finish(), identifier=identifier)
                else:
                    write.abort()
                write = table.new_write("s", compactor=executor)
        if not table.options.skips_level_0:
            assert rows_of(table) == rows_of(plain)
    commit.commit(write.finish(), identifier=identifier + 1)
    if table.options.skips_level_0:
        table.compact(full=True)
    assert rows_of(table) == rows_of(plain)
    no_leak(warehouse, table)

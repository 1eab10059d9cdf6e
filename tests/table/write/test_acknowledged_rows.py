"""No statement loses what was acknowledged: an upsert that waits on level 0, rows without a bucket, others' changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format import Delete, Insert, Table, Update
from table_format.errors import KeyPlacesChanged, RowsChanged
from table_format.metastore.commit import commit_check
from table_format.model.snapshot import CommitKind
from table_format.runtime import Runtime
from table_format.table.changes import row_actions, whole_state
from table_format.table.write import hand_over, rebase
from table_format.table.write.table_write import TableWrite
from tests.support import acknowledged
from tests.support.acknowledged import KINDS, failing_compaction
from tests.support.compaction import HOUR_MS, MovableClock
from tests.support.decoded_once import decoded_once
from tests.support.matrix import tries
from tests.support.moving_keys import moving, with_runtime
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of

MARKS = {"bucket": "1", "deletion-vectors.enabled": "true"}
HIDING = [MARKS, {**MARKS, "changelog-producer": "lookup"}, {**MARKS, "bucket": "-1"}, {"bucket": "-2"}]


@pytest.fixture(autouse=True, scope="module")
def _decoded_once() -> Iterator[None]:
    """Each of the two clients reads what the other has written."""
    with decoded_once():
        yield


@pytest.fixture
def memory() -> Warehouse:
    return memory_warehouse()


def dropped(warehouse: Warehouse, table: Table, rows: pa.Table) -> None:
    """An upsert whose compaction meets that of another client: the rows are committed, and wait on level 0."""
    messages = table.new_write().write(rows)
    warehouse.reopened(table).compact(full=True)
    assert table.new_commit().commit(messages)[0].commit_kind is CommitKind.APPEND


def counting(warehouse: Warehouse, options: dict[str, str]) -> Table:
    """A counter that was raised to 20, which readers cannot see yet."""
    table = warehouse.table(primary_keys=["id"], options=options)
    table.append(keyed([(1, "a", 5), (2, "a", 5)]))
    table.append(keyed([(1, "a", 10)]))
    table.compact()
    dropped(warehouse, table, keyed([(1, "a", 20)]))
    assert (1, "a", 20) not in rows_of(table)
    return table


@pytest.mark.parametrize("options", HIDING)
@pytest.mark.parametrize(
    ("change", "value"),
    [
        (lambda t: t.update({"v": "v + 1"}, "id = 1"), 21),
        (lambda t: t.update({"v": "v + 1"}), 21),
        (lambda t: t.update({"v": "v + 1"}, "v = 20"), 21),
        (lambda t: t.merge(keyed([(1, "a", 3)]), "id", when_matched=Update({"v": "target.v + source.v"})), 23),
        (lambda t: t.merge(keyed([(1, "a", 3)]), "id", when_matched=Delete("target.v = 20")), None),
        (lambda t: t.delete("v = 20"), None),
        (lambda t: t.delete("v = 10"), 20),
        (lambda t: (t.update({"v": "v + 1"}, "id = 1"), t.update({"v": "v + 1"}, "id = 1")), 22),
        (lambda t: (t.delete("id = 1"), t.merge(keyed([(1, "a", 3)]), "id", when_not_matched=Insert())), 3),
    ],
)
def test_a_statement_sees_an_upsert_whose_compaction_was_dropped(
    memory: Warehouse, options: dict[str, str], change: Callable[[Table], Any], value: int | None
) -> None:
    table = counting(memory, options)
    change(table)
    table.compact(full=True)
    assert {row[0]: row[2] for row in rows_of(table)}.get(1) == value


@pytest.mark.parametrize("options", [HIDING[0], HIDING[1], {**MARKS, "merge-engine": "first-row"}])
def test_the_next_compaction_shows_an_upsert_whose_compaction_was_dropped(
    memory: Warehouse, options: dict[str, str]
) -> None:
    if "first-row" in options.values():
        options = {key: value for key, value in options.items() if "vectors" not in key}
    table = memory.table(primary_keys=["id"], options=options)
    table.append(keyed([(1, "a", 10)]))
    table.copy({"write-only": "true"}).append(keyed([(1, "a", 10)]))
    dropped(memory, table, keyed([(2, "a", 20)]))
    assert [row[0] for row in rows_of(table)] == [1]
    table.append(keyed([(3, "a", 30)]))
    assert [row[0] for row in rows_of(table)] == [1, 2, 3]


def test_an_upsert_that_failed_to_compact_is_told_once_by_the_changelog(memory: Warehouse) -> None:
    table = memory.table(primary_keys=["id"], options={**MARKS, "changelog-producer": "lookup"})
    table.append(keyed([(1, "a", 10)]))
    with failing_compaction():
        table.append(keyed([(1, "a", 20)]))
    table.update({"v": "v + 1"}, "id = 1")
    stream = table.stream(options={"scan.mode": "from-snapshot", "scan.snapshot-id": "1"})
    told = []
    while (plan := stream.next_plan()) is not None:
        rows = stream.to_arrow(plan)
        told += zip(*(column.to_pylist() for column in rows.columns), strict=True)
    assert told == [("+I", 1, "a", 10), ("-U", 1, "a", 10), ("+U", 1, "a", 21)]


def test_postponed_rows_are_given_their_buckets_before_a_statement_only_where_it_looks(memory: Warehouse) -> None:
    options = {"bucket": "-2"}
    table = memory.table(primary_keys=["id", "dt"], partition_keys=["dt"], options=options)
    table.append(keyed([(1, "a", 1)]))
    assert not table.update({"v": "v + 1"}, "dt = 'b'").snapshots
    assert len(table.snapshots()) == 1
    assert table.update({"v": "v + 1"}, "dt = 'a'").updated == 1
    assert [s.commit_kind for s in table.snapshots()] == [CommitKind.APPEND, CommitKind.COMPACT, CommitKind.APPEND]


# --- two clients ------------------------------------------------------------------------------------------------------


def overtaken(table: Table, by: Callable[[], object], where: str = "id = 1", times: int = 1) -> list[int]:
    """An UPDATE that others overtake while it computes its values; how often it was carried out."""
    attempts: list[int] = []

    def values(rows: pa.Table) -> pa.Array:
        attempts.append(rows.num_rows)
        if len(attempts) <= times:
            by()
        return pa.array([value + 1 for value in rows.column("v").to_pylist()], pa.int32())

    table.update({"v": values}, where)
    return attempts


@pytest.mark.parametrize(
    "options",
    [{"bucket": "1"}, MARKS, {"bucket": "-1"}, {"bucket": "-2"}, {"bucket": "1", "merge-engine": "partial-update"}],
)
def test_of_two_updates_of_one_row_both_take_effect(memory: Warehouse, options: dict[str, str]) -> None:
    table = memory.table(primary_keys=["id"], options=options)
    other = memory.reopened(table)
    table.append(keyed([(1, "a", 5), (2, "a", 5)]))
    assert len(overtaken(table, lambda: other.update({"v": "v + 1"}, "id = 1"))) == 2
    table.compact(full=True)
    assert rows_of(table) == [(1, "a", 7), (2, "a", 5)]


def test_a_change_of_other_keys_is_no_reason_to_begin_again(memory: Warehouse) -> None:
    table = memory.table(primary_keys=["id"], options={"bucket": "1"})
    other = memory.reopened(table)
    table.append(keyed([(i, "a", 0) for i in range(9)]))
    # One whose key range does not meet the statement's, and one whose range does.
    assert len(overtaken(table, lambda: other.update({"v": "7"}, "id = 8"), "id < 4")) == 1
    assert len(overtaken(table, lambda: other.append(keyed([(0, "a", 9), (8, "a", 9)])), "id = 4 OR id = 5")) == 1
    assert rows_of(table) == [(i, "a", {0: 9, 8: 9, 4: 1, 5: 1}.get(i, 1 if i < 4 else 0)) for i in range(9)]


@pytest.mark.parametrize(
    ("act", "left"),
    [
        (lambda t: t.delete("id = 1"), []),
        (lambda t: t.overwrite(keyed([(1, "a", 70)])), [(1, "a", 71)]),
        (lambda t: t.truncate(), []),
        (lambda t: t.append(keyed([(1, "a", 30)])), [(1, "a", 31)]),
        (lambda t: t.compact(full=True), [(1, "a", 6)]),
    ],
)
def test_an_update_rests_on_what_others_left(memory: Warehouse, act: Callable[[Table], Any], left: list[Any]) -> None:
    table = memory.table(primary_keys=["id"], options=MARKS)
    table.append(keyed([(1, "a", 5)]))
    overtaken(table, lambda: act(memory.reopened(table)))
    assert rows_of(table) == left


def test_a_merge_inserts_no_key_that_another_has_inserted(memory: Warehouse) -> None:
    table = memory.table(primary_keys=["id"], options={"bucket": "1"})
    other = memory.reopened(table)
    is_first = True

    def values(rows: pa.Table) -> pa.Array:
        nonlocal is_first
        if is_first:
            is_first = False
            other.append(keyed([(1, "a", 10)]))
        return rows.column("v").combine_chunks()

    clauses = {"when_matched": Update({"v": "target.v + source.v"})}
    new = Insert({"id": "source.id", "dt": "source.dt", "v": values})
    table.merge(keyed([(1, "a", 1)]), "id", when_not_matched=new, **clauses)
    assert rows_of(table) == [(1, "a", 11)]


def test_a_statement_that_is_overtaken_each_time_gives_up_and_leaves_nothing() -> None:
    memory = memory_warehouse(MovableClock())
    table = memory.table(primary_keys=["id"], options=MARKS)
    other = memory.reopened(table)
    table.append(keyed([(1, "a", 0)]))
    with pytest.raises(RowsChanged, match=r"gave up after 30 attempts.*run the statement again"):
        overtaken(table, lambda: other.append(keyed([(1, "a", 0)])), times=row_actions.MAX_ATTEMPTS_BY_KEY)
    assert rows_of(table) == [(1, "a", 0)]


def test_a_statement_whose_snapshot_was_expired_is_carried_out_again() -> None:
    clock = MovableClock()
    memory = memory_warehouse(clock)
    table = memory.table(primary_keys=["id"], options={"bucket": "1"})
    other = memory.reopened(table)
    table.append(keyed([(1, "a", 5), (2, "a", 5)]))

    def act() -> None:
        for value in (5, 6):
            other.append(keyed([(2, "a", value)]))
            clock.ms += 3 * HOUR_MS
        assert other.expire_snapshots(retain_max=1, retain_min=1).snapshot_ids

    assert len(overtaken(table, act)) == 2
    assert rows_of(table) == [(1, "a", 6), (2, "a", 6)]


@pytest.mark.parametrize("options", [MARKS, {"bucket": "2"}])
def test_every_acknowledged_increment_of_clients_side_by_side_counts_once(
    memory: Warehouse, options: dict[str, str]
) -> None:
    table = memory.table(primary_keys=["id"], options=options)
    table.append(keyed([(1, "a", 0)]))

    def increment(_number: int) -> int:
        client, done = memory.reopened(table), 0
        for _ in range(3):
            try:
                done += client.update({"v": "v + 1"}, "id = 1").updated
            except RowsChanged:
                continue
        return done

    with ThreadPoolExecutor(4) as pool:
        acknowledged_increments = sum(pool.map(increment, range(4)))
    table.compact(full=True)
    assert rows_of(table) == [(1, "a", acknowledged_increments)]
    assert acknowledged_increments >= 3


def test_placed_rows_may_land_beside_others_whose_keys_are_different(tmp_path: Path) -> None:
    warehouse = with_runtime(memory_warehouse(), Runtime(cache_directory=str(tmp_path)))
    table = moving(warehouse)
    table.append(keyed([(i, "a", 0) for i in range(4)]))
    first = table.new_write().write(keyed([(0, "b", 1), (3, "b", 1)]))
    second = table.new_write().write(keyed([(1, "c", 2), (2, "c", 2), (9, "a", 2)]))
    third = table.new_write().write(keyed([(2, "d", 3)]))
    table.new_commit().commit(first)
    table.new_commit().commit(second)
    with pytest.raises(KeyPlacesChanged):
        table.new_commit().commit(third)
    assert rows_of(table) == [(0, "b", 1), (1, "c", 2), (2, "c", 2), (3, "b", 1), (9, "a", 2)]


@pytest.mark.parametrize("options", [{"bucket": "1"}, MARKS, {"bucket": "-1"}])
@pytest.mark.parametrize("where", [None, "id = 2"])
def test_an_upsert_that_a_statement_overtook_is_refused_or_written_again(
    memory: Warehouse, options: dict[str, str], where: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows have the sequence numbers of the statement's, and could lose against them."""
    table = memory.table(primary_keys=["id"], options=options)
    other = memory.reopened(table)
    table.append(keyed([(i, "a", 10) for i in range(3)]))
    messages = table.new_write().write(keyed([(2, "a", 20)]))
    other.update({"v": "v + 1"}, where)
    with pytest.raises(RowsChanged, match="write the rows again"):
        table.new_commit().commit(messages)
    real, overtaken = TableWrite.write, []

    def slow(self: TableWrite, data: Any) -> Any:
        written = real(self, data)
        if self._facts is table.facts and not overtaken:
            overtaken.append(other.update({"v": "v + 1"}, where))
        return written

    monkeypatch.setattr(TableWrite, "write", slow)
    table.append(keyed([(2, "a", 20)]))
    assert overtaken
    table.compact(full=True)
    assert rows_of(table)[2] == (2, "a", 20)


def test_a_statement_on_other_keys_lets_an_upsert_pass(memory: Warehouse) -> None:
    table = memory.table(primary_keys=["id"], options={"bucket": "1"})
    table.append(keyed([(i, "a", 10) for i in range(4)]))
    messages = table.new_write().write(keyed([(0, "a", 20), (3, "a", 20)]))
    assert memory.reopened(table).update({"v": "v + 1"}, "id = 1 OR id = 2").snapshot is not None
    table.new_commit().commit(messages)
    assert [row[2] for row in rows_of(table)] == [20, 11, 11, 20]


# --- any history ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KINDS)
def test_no_history_of_two_clients_loses_an_acknowledged_row(name: str) -> None:
    for seed in range(tries(1, many=2)):
        acknowledged.run(name, seed)


def _ordinary_reads(facts: Any, where: Any) -> Any:
    return row_actions.Scan(facts, None, where)


def _nothing(*_arguments: Any, **_named: Any) -> None:
    return None


MUTANTS: dict[str, tuple[Any, str, Any, str]] = {
    "statements read what readers see": (row_actions, "whole_state", _ordinary_reads, "marks"),
    "statements do not see postponed rows": (whole_state, "_rows_wait", lambda *_: False, "postponed"),
    "no commit compares keys": (commit_check, "find_key_change", _nothing, "plain"),
    "upserts do not say where their numbers come from": (
        hand_over,
        "_with_numbers_base",
        lambda message, _: message,
        "lookup",
    ),
    "keys are always different": (rebase, "_share_a_key", lambda *_: False, "plain"),
}


def _fails(kind: str, seed: int) -> bool:
    try:
        acknowledged.run(kind, seed, steps=20)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("name", MUTANTS)
def test_histories_find_the_fault_when_it_is_put_back(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, attribute, fault, kind = MUTANTS[name]
    monkeypatch.setattr(module, attribute, fault)
    assert any(_fails(kind, seed) for seed in range(20))

"""Writers of one machine that met a conflict get their turn, and nothing but speed rests on it."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event, Thread, get_ident

import pytest

from table_format import Table, load_catalog
from table_format.model.commit import CommitMessage
from table_format.runtime import Runtime
from table_format.table.rows.input import Rows
from table_format.table.write import turns
from table_format.table.write.table_write import TableWrite
from table_format.table.write.turns import WriterTurns
from tests.support.compaction import MovableClock
from tests.support.moving_keys import index_content, moving, places_of, rows, with_runtime
from tests.support.tables import DATABASE, disk_warehouse, memory_warehouse, rows_of

WRITERS = 8
WRITES = 2


def entered(taken: WriterTurns, *, alone: bool) -> bool:
    """Whether another writer gets its turn before it runs out of patience."""
    clock = taken.runtime.clock
    before_ms = clock.monotonic_ms()

    def enter() -> None:
        with taken.taken(alone=alone):
            pass

    thread = Thread(target=enter)
    thread.start()
    thread.join()
    return clock.monotonic_ms() - before_ms < turns.PATIENCE_MS


@pytest.fixture
def taken(tmp_path: Path) -> WriterTurns:
    return WriterTurns(Runtime(clock=MovableClock()), tmp_path / "table")


@pytest.mark.parametrize(("held", "wanted", "enters"), [(0, 0, True), (0, 1, False), (1, 0, False), (1, 1, False)])
def test_first_attempts_go_side_by_side_and_later_ones_alone(
    taken: WriterTurns, held: int, wanted: int, enters: bool
) -> None:
    with taken.taken(alone=bool(held)):
        assert entered(taken, alone=bool(wanted)) is enters
    assert entered(taken, alone=True)


def test_who_waits_for_a_turn_holds_up_those_who_come_later(tmp_path: Path) -> None:
    waits, goes_on = Event(), Event()

    class Waiting(MovableClock):
        def sleep_ms(self, duration_ms: int) -> None:
            waits.set()
            goes_on.wait()

    taken = WriterTurns(Runtime(clock=MovableClock()), tmp_path)
    second = WriterTurns(Runtime(clock=Waiting()), tmp_path)
    with taken.taken(alone=False):
        thread = Thread(target=lambda: entered(second, alone=True))
        thread.start()
        waits.wait()
        assert not entered(taken, alone=False)
    goes_on.set()
    thread.join()
    assert entered(taken, alone=True)


def test_a_writer_that_writes_while_it_writes_does_not_wait_for_itself(taken: WriterTurns) -> None:
    before_ms = taken.runtime.clock.monotonic_ms()
    with taken.taken(alone=True), taken.taken(alone=True), taken.taken(alone=False):
        assert taken.runtime.clock.monotonic_ms() == before_ms


def test_a_turn_ends_with_an_error(taken: WriterTurns) -> None:
    with pytest.raises(KeyError), taken.taken(alone=True):
        raise KeyError
    assert entered(taken, alone=True)


def test_without_a_place_for_locks_all_write_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    taken = WriterTurns(Runtime(clock=MovableClock()), tmp_path / "file")
    with taken.taken(alone=True):
        assert entered(taken, alone=True)


def test_only_tables_whose_keys_move_take_turns(tmp_path: Path) -> None:
    warehouse = with_runtime(memory_warehouse(), Runtime(cache_directory=str(tmp_path)))
    assert WriterTurns.of(warehouse.table("plain", primary_keys=["id"]).facts).directory is None
    assert WriterTurns.of(moving(warehouse).facts).directory is not None


def test_eight_writers_that_move_the_same_keys_all_get_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the second attempt at the latest: it has the machine to itself."""
    monkeypatch.setattr(turns, "PATIENCE_MS", 10**9)
    options = {"local-cache.dir": str(tmp_path / "cache")}
    warehouse = disk_warehouse(tmp_path / "warehouse")
    moving(warehouse)
    attempts: Counter[int] = Counter()
    numbers: dict[int, int] = {}
    write_rows = TableWrite.write

    def counted(self: TableWrite, data: Rows) -> tuple[CommitMessage, ...]:
        attempts[numbers[get_ident()]] += 1
        return write_rows(self, data)

    monkeypatch.setattr(TableWrite, "write", counted)
    begin = Barrier(WRITERS)
    acknowledged: list[tuple[int, list[tuple[int, str, int]]]] = []

    def write(number: int) -> None:
        catalog = load_catalog({"warehouse": str(tmp_path / "warehouse"), **options})
        table = catalog.load_table(f"{DATABASE}.t")
        assert isinstance(table, Table)
        begin.wait()
        for turn in range(WRITES):
            numbers[get_ident()] = number * WRITES + turn
            written = [(key, f"p{number}", number * WRITES + turn) for key in range(turn, turn + 4)]
            (snapshot, *_) = table.append(rows(*written))
            acknowledged.append((snapshot.id, written))

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))
    assert len(attempts) == WRITERS * WRITES
    assert max(attempts.values()) <= 2
    # What is there is what the commits say in their order, and no key is in two partitions.
    expected = {row[0]: row for _, written in sorted(acknowledged) for row in written}
    table = load_catalog({"warehouse": str(tmp_path / "warehouse"), **options}).load_table(f"{DATABASE}.t")
    assert isinstance(table, Table)
    assert rows_of(table) == sorted(expected.values())
    assert index_content(table) == places_of(table)

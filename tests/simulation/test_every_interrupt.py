"""Every call of every operation is interrupted once, before and after its effect, and the process lives on.

What holds after the interrupt: the table reads as before or as after the operation, and every file that a snapshot
names exists. The same table object then does the operation again under the same user and identifier, and it has taken
effect once. What the interrupt left behind is gone once orphans were cleaned, and nothing else is. The same holds when
the clean-up after the interrupt is itself interrupted.

Of all calls every ``INTERRUPT_STEP``-th is struck, from another one on for each operation, and all around the creation
of a snapshot; with 1 it is every call.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from table_format import Table
from table_format.errors import AlreadyExistsError, CorruptionError, NotFoundError
from table_format.io.memory import MemoryFileIO
from table_format.metastore.commit.publications import Publications
from tests.simulation import test_every_call_of_history as history
from tests.simulation.interrupting_io import Interrupting, Strike
from tests.simulation.remembered import Remembered
from tests.simulation.test_every_call import (
    BEFORE,
    OPERATIONS,
    USER,
    Operation,
    StillClock,
    check_changelog,
    check_orphans,
    copy_of,
    opened,
    read_snapshot,
    rows,
    state,
    world,
)

STEP = int(os.environ.get("INTERRUPT_STEP", "97"))

UPSERTED = [(1, "a", 11), (2, "a", 20), (3, "b", 30), (4, "b", 40)]
MARKS = {"deletion-vectors.enabled": "true"}
SMALL_BUCKETS = {"bucket": "-1", "dynamic-bucket.target-row-num": "1"}


def upsert(table: Table) -> object:
    return table.append(rows((1, "a", 11), (4, "b", 40)), commit_user=USER, identifier=1)


def compact_in_full(table: Table) -> object:
    return table.compact(full=True)


def upsert_and_compact(table: Table) -> object:
    return upsert(table), compact_in_full(table)


MORE_OPERATIONS = [
    Operation("rescale", lambda t: t.rescale(3), BEFORE),
    Operation("sort", lambda t: t.compact(order_by=["v"]), BEFORE, keyed=False),
    Operation("sort of marked files", lambda t: t.compact(order_by=["v"]), BEFORE, keyed=False, options=MARKS),
    Operation("sort of dynamic buckets", lambda t: t.compact(order_by=["v", "k"]), BEFORE, options=SMALL_BUCKETS),
    Operation("compaction of marked files", compact_in_full, BEFORE, keyed=False, options=MARKS),
    Operation("upsert into dynamic buckets", upsert, UPSERTED, options=SMALL_BUCKETS),
    Operation(
        "upsert that moves keys",
        lambda t: t.append(rows((1, "b", 11), (4, "b", 40)), commit_user=USER, identifier=1),
        [(1, "b", 11), (2, "a", 20), (3, "b", 30), (4, "b", 40)],
        options={"bucket": "-1"},
        keys=("k",),
    ),
    Operation(
        "upsert of postponed rows",
        upsert_and_compact,
        UPSERTED,
        options={"bucket": "-2", "postpone.default-bucket-num": "2"},
        prepare=compact_in_full,
    ),
    Operation(
        "first rows",
        upsert_and_compact,
        [*BEFORE, (4, "b", 40)],
        options={"merge-engine": "first-row"},
        prepare=compact_in_full,
    ),
    Operation("delete of keys", lambda t: t.delete("k <= 2", commit_user=USER, identifier=1), [(3, "b", 30)]),
    Operation(
        "update of keys",
        lambda t: t.update({"v": "v + 1"}, "k = 3", commit_user=USER, identifier=1),
        [(1, "a", 10), (2, "a", 20), (3, "b", 31)],
    ),
    Operation("truncation", lambda t: t.truncate(), []),
    Operation("analysis", lambda t: t.analyze(), BEFORE),
    Operation(
        "overwrite of the table",
        lambda t: t.overwrite(rows((7, "a", 70)), commit_user=USER, identifier=1),
        [(7, "a", 70)],
        options={"dynamic-partition-overwrite": "false"},
    ),
]


def log_of(run: Callable[[Interrupting], object], start: MemoryFileIO) -> list[str]:
    """The calls of an operation that nothing interrupts."""
    store = Interrupting(copy_of(start))
    run(store)
    return store.log


def strikes(log: Sequence[str], *, offset: int) -> list[Strike]:
    """Calls to be struck: every ``STEP``-th, before or after its effect, and all around the creation of a snapshot."""
    chosen = [
        Strike(number // 2, takes_effect=bool(number % 2))
        for number in range(2 * len(log))
        if (number + offset) % STEP == 0
    ]
    for number, call in enumerate(log):
        if call.startswith("create ") and "/snapshot/snapshot-" in call:
            chosen += [Strike(number, takes_effect=False), Strike(number, takes_effect=True)]
            chosen += [
                Strike(number + further, takes_effect=False) for further in (1, 3) if number + further < len(log)
            ]
    return sorted(set(chosen), key=lambda strike: (strike.call, strike.takes_effect))


def interrupted_run(operation: Operation, store: Interrupting, chosen: Sequence[Strike] = (), kind: int = 0) -> Table:
    """Run the operation on a table that was opened before and is used afterwards."""
    table = opened(store)
    with store.interrupted(chosen, kind=kind):
        operation.run(table)
    return table


@Remembered
def kept_snapshots(store: Any) -> tuple[int, ...]:
    table = opened(store)
    return tuple(s.id for s in table.snapshots() if not table.facts.snapshots.is_expiring(s.id))


def check_kept_snapshots(memory: MemoryFileIO) -> None:
    """Every snapshot can be read, but those that an expiry has announced to delete."""
    for snapshot_id in kept_snapshots(memory):
        read_snapshot(memory, snapshot_id)


def check_lives_on(operation: Operation, start: MemoryFileIO, chosen: Sequence[Strike], kind: int) -> bool:
    """Interrupt an operation and continue. Return whether all interrupts happened."""
    memory = copy_of(start)
    store = Interrupting(memory)
    table = interrupted_run(operation, store, chosen, kind)
    struck = store.struck
    try:
        assert state(memory) in (sorted(BEFORE), sorted(operation.after))
        check_kept_snapshots(memory)
        operation.run(table)
        assert state(memory) == sorted(operation.after)
        check_orphans(memory)
        check_kept_snapshots(memory)
        if "changelog-producer" in operation.options and not operation.name.startswith("expiry"):
            check_changelog(memory)
    except BaseException as error:
        error.add_note(f"{operation.name}, interrupted at {', '.join(struck)}: {chosen}")
        raise
    return len(struck) == len(chosen)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.parametrize("operation", [*OPERATIONS, *MORE_OPERATIONS], ids=lambda o: o.name)
def test_an_operation_survives_an_interrupt_at_any_call(operation: Operation) -> None:
    start = world(operation)
    chosen = strikes(log_of(partial(interrupted_run, operation), start), offset=len(operation.name))
    assert chosen or operation.name == "tag"  # which takes only a few calls
    for number, strike in enumerate(chosen):
        check_lives_on(operation, start, (strike,), number)


@pytest.mark.parametrize("operation", [*OPERATIONS, *MORE_OPERATIONS], ids=lambda o: o.name)
def test_an_operation_survives_an_interrupt_of_the_clean_up_after_an_interrupt(operation: Operation) -> None:
    start = world(operation)
    chosen = strikes(log_of(partial(interrupted_run, operation), start), offset=len(operation.name))
    for number, strike in enumerate(chosen if STEP == 1 else chosen[:: len(chosen) // 2 or 1]):
        # Nobody calls the store any more when the clean-up has ended.
        again = 0
        while check_lives_on(operation, start, (strike, Strike(again, takes_effect=bool(number % 2))), number):
            again += 1 if STEP == 1 else again + 1


@pytest.mark.parametrize("operation", history.OPERATIONS, ids=lambda o: o.name)
def test_an_operation_on_history_survives_an_interrupt_at_any_call(operation: history.Operation) -> None:
    start = MemoryFileIO(StillClock())
    operation.prepare(start)

    def run(store: Interrupting, chosen: Sequence[Strike] = (), kind: int = 0) -> Table:
        table = history.opened(store)
        with store.interrupted(chosen, kind=kind):
            operation.run(table)
        return table

    for number, strike in enumerate(strikes(log_of(run, start), offset=len(operation.name))):
        memory = copy_of(start)
        store = Interrupting(memory)
        table = run(store, (strike,), number)
        assert history.keys_of(memory) in operation.between, store.struck
        history.check_everything_is_there(memory, except_tags=operation.ends)
        with suppress(AlreadyExistsError, NotFoundError):  # it took effect before the interrupt
            operation.run(table)
        assert history.keys_of(memory) == operation.after, store.struck
        history.check_everything_is_there(memory)


FAULTS = {
    "an abort that does not ask": (Publications, "named_files", lambda _: frozenset()),
    "a publication that is noted when it is answered": (Publications, "begin", lambda *_: None),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_interrupt_shows_a_fault_that_is_put_back(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    operation = next(o for o in OPERATIONS if o.name == "compaction of append files")
    start = world(operation)
    chosen = strikes(log_of(partial(interrupted_run, operation), start), offset=0)
    monkeypatch.setattr(*FAULTS[fault])

    def sweep() -> None:
        for number, strike in enumerate(chosen):
            check_lives_on(operation, start, (strike,), number)

    with pytest.raises((AssertionError, CorruptionError)):
        sweep()

"""A process that dies in the middle of a call leaves a part: a temporary file, half a file, half a directory deleted.

Every changing call of every operation fails this way once. Then the operation is done again and orphans are cleaned,
and nothing is left on disk that nothing reaches: no hidden file and no draft of a branch either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from table_format import Table
from table_format.errors import AlreadyExistsError, NotFoundError
from table_format.io.memory import MemoryFileIO
from table_format.io.paths import base_name, sibling, temporary_name
from tests.simulation import test_every_call as on_rows
from tests.simulation import test_every_call_of_history as on_history
from tests.simulation.failing_io import Crash, Mode, OneFailure

FUTURE = 1 << 60


@dataclass(frozen=True)
class Case:
    """What is done, to a table as it is after what."""

    name: str
    start: Callable[[], MemoryFileIO]
    run: Callable[[Table], object]


def history_before(operation: on_history.Operation) -> MemoryFileIO:
    memory = MemoryFileIO(on_rows.StillClock())
    operation.prepare(memory)
    return memory


CASES = [
    *(Case(o.name, lambda o=o: on_rows.world(o), o.run) for o in on_rows.OPERATIONS),
    *(Case(o.name, lambda o=o: history_before(o), o.run) for o in on_history.OPERATIONS),
]


class DiesWithin(OneFailure):
    """FileIO over a memory store; the process dies within the changing call of a number."""

    def __init__(self, inner: MemoryFileIO, number: int) -> None:
        super().__init__(inner, number, Mode.CRASH_BEFORE, changes_only=True)
        self._memory = inner
        self._number = number

    def _call(self, verb: str, *arguments: Any) -> Any:
        if not self._is_dead and self.calls == self._number:
            self._leave_part(verb, *arguments)
        return super()._call(verb, *arguments)

    def _leave_part(self, verb: str, path: str, data: bytes = b"") -> None:
        if verb in ("create", "overwrite"):
            self._memory.create(sibling(path, temporary_name(base_name(path), "7f60")), data[: len(data) // 2])
        elif verb == "open_output":
            self._memory.create(path, b"half")
        elif verb == "delete_tree":
            for child in self._memory.list(path)[:1]:
                self._memory.delete_tree(f"{path}/{child.name}")
        elif verb == "make_directory":
            self._memory.make_directory(path)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cleaning_finds_whatever_a_death_within_a_call_leaves(case: Case) -> None:
    start = case.start()
    number = 0
    while True:
        memory = on_rows.copy_of(start)
        store = DiesWithin(memory, number)
        with suppress(Crash):
            case.run(on_history.opened(store))
        if not store._is_dead:
            break
        with suppress(AlreadyExistsError, NotFoundError):  # it had taken effect
            case.run(on_history.opened(memory))
        on_history.opened(memory).remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True)
        try:
            on_rows.check_reachable(memory)
            assert [*hidden_below(memory, "/w")] == []
        except AssertionError as error:
            error.add_note(f"death within call {number}")
            raise
        number += 1
    assert number > 0


def test_a_young_draft_stays_as_a_whole() -> None:
    memory = MemoryFileIO(on_rows.StillClock())
    table = on_history.new_table(memory)
    draft = table.store.paths.branch_draft("7f60")
    names = {f"{draft}/schema/schema-0", f"{draft}/schema/.schema-1.7f60.tmp", f"{draft}/.x/deep/.y"}
    for path in sorted(names):
        memory.create(path, b"?")
    now_ms = table.store.runtime.clock.now_ms()
    assert table.remove_orphan_files(older_than_ms=now_ms, nobody_else_writes=True).paths == ()
    assert set(table.remove_orphan_files(older_than_ms=now_ms + 1, nobody_else_writes=True).paths) == names
    assert memory.status(draft) is None


def hidden_below(memory: MemoryFileIO, directory: str) -> Iterator[str]:
    """Every hidden file and directory."""
    for child in memory.list_hidden(directory):
        yield f"{directory}/{child.name}"
    for child in memory.list(directory):
        if child.is_directory:
            yield from hidden_below(memory, f"{directory}/{child.name}")

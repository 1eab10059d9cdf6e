"""A check is not made again where its store looks the same, and is made again where anything that it asked differs."""

from __future__ import annotations

from typing import Any

import pytest

from table_format.errors import TableFormatError
from table_format.io.memory import MemoryFileIO
from tests.simulation.drawn import copied, drawn_runtime
from tests.simulation.remembered import LookingIO, Remembered
from tests.simulation.test_damaged_history import history, keys_of, opened
from tests.simulation.test_every_call import StillClock


def store() -> MemoryFileIO:
    memory = MemoryFileIO(StillClock())
    memory.create("/w/a", b"1")
    memory.create("/w/.hidden", b"2")
    memory.make_directory("/w/d")
    return memory


def all_answers(looking: Any, directory: str = "/w") -> tuple[object, ...]:
    """Everything that can be asked about a directory and its files."""
    try:
        content: bytes | None = looking.read(f"{directory}/a")
        with looking.open_input(f"{directory}/a") as source:
            content = source.read()
    except FileNotFoundError:
        content = None
    listed = (*looking.list(directory), *looking.list_hidden(directory))
    return (content, looking.status(f"{directory}/d"), *listed, looking._clock.now_ms())


def test_the_same_answers_give_the_same_verdict_without_another_run() -> None:
    check = Remembered(all_answers)
    first = check(store(), "/w")
    assert first == all_answers(LookingIO(store()))
    assert check(store(), "/w") == first
    assert check.runs == 1
    check(store(), "/elsewhere")
    assert check.runs == 2


CHANGES = {
    "other bytes": lambda m: m.overwrite("/w/a", b"3"),
    "a file that is gone": lambda m: m.delete("/w/a"),
    "a new file": lambda m: m.create("/w/b", b""),
    "a hidden file": lambda m: m.create("/w/.b", b""),
    "a directory that is gone": lambda m: m.delete_empty_directory("/w/d"),
    "a directory in place of a file": lambda m: (m.delete("/w/a"), m.make_directory("/w/a")),
    "another time": lambda m: m._clock.sleep_ms(1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_any_other_answer_is_another_verdict(change: str) -> None:
    check = Remembered(all_answers)
    check(store(), "/w")
    memory = store()
    CHANGES[change](memory)
    if change == "a directory in place of a file":
        with pytest.raises(IsADirectoryError):
            check(memory, "/w")
        return
    assert check(memory, "/w") == all_answers(LookingIO(memory))
    assert check.runs == 2


def test_each_file_that_a_snapshot_needs_is_missed_after_the_check_was_remembered() -> None:
    start = history(())
    expected = keys_of(start)
    runs = keys_of.runs
    assert keys_of(copied(start, start._clock)) == expected
    assert keys_of.runs == runs
    needed = 0
    for path in list(start._files):
        memory = copied(start, start._clock)
        memory.delete(path)
        try:
            found = opened(memory).scan().to_arrow(threads=1).column("k").to_pylist()
        except TableFormatError as error:
            needed += 1
            with pytest.raises(type(error)):
                keys_of(memory)
        else:
            assert keys_of(memory) == tuple(sorted(found))
    assert needed > 5


def test_a_check_that_changes_the_store_is_refused() -> None:
    with pytest.raises(AttributeError):
        Remembered(lambda looking: looking.delete("/w/a"))(store())


def test_what_a_check_raises_is_raised_again_and_found_mended() -> None:
    def check(looking: Any) -> bytes:
        return looking.read("/w/a")

    remembered, memory = Remembered(check), store()
    memory.delete("/w/a")
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            remembered(memory)
    memory.create("/w/a", b"5")
    assert remembered(memory) == b"5"


def test_processes_of_one_history_draw_different_ids_and_those_of_a_copy_the_same() -> None:
    memory = store()
    first = drawn_runtime(memory, memory._clock).ids.uuid()
    one, other = copied(memory, StillClock()), copied(memory, StillClock())
    second = [drawn_runtime(each, each._clock).ids.uuid() for each in (one, other)]
    assert second[0] == second[1] != first

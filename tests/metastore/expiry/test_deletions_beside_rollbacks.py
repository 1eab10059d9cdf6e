"""A table is rolled back, and written again, before each call of what looks for unneeded files: it finds no damage."""

from __future__ import annotations

import pytest

from table_format.io.memory import MemoryFileIO
from tests.simulation.test_every_call import FUTURE, copy_of
from tests.simulation.test_every_call_of_history import four_snapshots, keys, opened, row
from tests.support.acting_io import ActingIO


@pytest.mark.parametrize("commits", [0, 5])
def test_orphan_files_are_found_beside_a_rollback(commits: int) -> None:
    start = MemoryFileIO()
    four_snapshots(start)

    def roll_back(memory: MemoryFileIO) -> None:
        opened(memory).rollback_to(1)
        for number in range(commits):  # their snapshots have the ids of those that were removed
            opened(memory).append(row(10 + number, 1))

    for number in range(10_000):
        memory = copy_of(start)
        store = ActingIO(memory, number, lambda memory=memory: roll_back(memory))
        table = opened(store)
        store.watch()
        table.remove_orphan_files(older_than_ms=FUTURE, dry_run=True, nobody_else_writes=True)
        if store.calls <= number:
            break
        assert keys(opened(memory)) == (1, *range(10, 10 + commits))
    assert number > 10

"""A drop that fails or dies at any of its calls leaves a table that reads, or none; and it can be done again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from table_format.catalog.filesystem import FileSystemCatalog
from table_format.errors import NotFoundError
from table_format.io.memory import MemoryFileIO
from tests.simulation.failing_io import Crash, Mode, OneFailure
from tests.simulation.test_every_call import copy_of
from tests.simulation.test_every_call_of_history import catalog_on, keys, long_branch, opened
from tests.support.acting_io import ActingIO

DROPS: dict[str, Callable[[FileSystemCatalog], None]] = {
    "table": lambda catalog: catalog.drop_table("db.t"),
    "database": lambda catalog: catalog.drop_database("db", cascade=True),
}


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("what", DROPS)
def test_a_drop_happens_or_leaves_a_table_that_reads(what: str, mode: Mode) -> None:
    start = MemoryFileIO()
    long_branch(start)
    expected = keys(opened(start))
    number = 0
    while True:
        memory = copy_of(start)
        store = OneFailure(memory, number, mode)
        with suppress(Crash, OSError):
            DROPS[what](catalog_on(store))
        if catalog_on(memory).table_exists("db.t"):
            assert keys(opened(memory)) == expected, f"call {number}"
            assert keys(opened(memory, "db.t$branch_b")) == (1, 2, 11, 12, 13), f"call {number}"
        with suppress(NotFoundError):
            DROPS[what](catalog_on(memory))
        assert [*memory.list("/w/db.db"), *memory.list_hidden("/w/db.db"), *memory.list_hidden("/w")] == [], number
        if store.calls <= number:
            return
        number += 1


@pytest.mark.parametrize("mode", Mode)
def test_a_rename_happens_or_does_not(mode: Mode) -> None:
    start = MemoryFileIO()
    long_branch(start)
    expected = keys(opened(start))
    number = 0
    while True:
        memory = copy_of(start)
        store = OneFailure(memory, number, mode)
        with suppress(Crash, OSError):
            catalog_on(store).rename_table("db.t", "db.new")
        names = catalog_on(memory).list_tables("db")
        assert len(names) == 1
        assert keys(opened(memory, f"db.{names[0]}")) == expected
        if store.calls <= number:
            assert names == ("new",)
            return
        number += 1


@pytest.mark.parametrize("other", ["drop", "rename"])
@pytest.mark.parametrize("change", ["drop", "rename"])
def test_a_table_that_another_process_drops_or_renames_meanwhile_is_not_found(change: str, other: str) -> None:
    start = MemoryFileIO()
    long_branch(start)

    def act(store: object, name: str, new_name: str) -> None:
        catalog = catalog_on(store)
        catalog.drop_table("db.t") if name == "drop" else catalog.rename_table("db.t", new_name)

    refused = 0
    for number in range(1_000):
        memory = copy_of(start)

        def others(memory: MemoryFileIO = memory) -> None:
            with suppress(NotFoundError):  # the change was faster
                act(memory, other, "db.other")

        store = ActingIO(memory, number, others)
        store.watch()
        try:
            act(store, change, "db.new")
        except NotFoundError:
            refused += 1
            assert catalog_on(memory).list_tables("db") == (() if other == "drop" else ("other",))
        assert not catalog_on(memory).table_exists("db.t")
        if store.calls <= number:
            break
    assert refused


def test_what_a_killed_drop_has_left_is_not_seen_and_goes_with_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = MemoryFileIO()
    long_branch(memory)
    memory.create("/w/db.db/.dropped-t.7f60.tmp/schema/schema-0", b"?")
    memory.create("/w/db.db/.dropped-u.7f60.tmp/schema/schema-0", b"?")
    catalog = catalog_on(memory)
    assert catalog.list_tables("db") == ("t",)
    catalog.drop_table("db.t")
    catalog.drop_table("db.t")
    assert [child.name for child in memory.list_hidden("/w/db.db")] == [".dropped-u.7f60.tmp"]
    catalog.drop_database("db")
    assert memory.list("/w") == []

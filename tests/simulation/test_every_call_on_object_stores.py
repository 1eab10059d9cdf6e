"""Operations that move or delete a directory, on a store without directories: each call fails once, in every mode.

There the operations are not one step. A table is there or not, and what is read is right; a branch that was left half
made can be deleted and made again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from table_format.catalog.filesystem import FileSystemCatalog
from table_format.errors import (
    AlreadyExistsError,
    BranchNotFound,
    ConflictError,
    CorruptionError,
    NotFoundError,
    TableFormatError,
    UnsupportedFeature,
)
from table_format.io.memory import MemoryFileIO
from table_format.model.schema import Schema
from table_format.model.schema_change import AddColumn
from table_format.model.types import IntType
from table_format.table.table import Table
from tests.simulation.failing_io import Crash, FailingObjectStore, Mode
from tests.simulation.test_every_call import StillClock, copy_of
from tests.simulation.test_every_call_of_history import (
    SCHEMA,
    catalog_on,
    check_everything_is_there,
    four_snapshots,
    keys,
    long_branch,
    opened,
    row,
)

DROPS: dict[str, Callable[[FileSystemCatalog], None]] = {
    "table": lambda catalog: catalog.drop_table("db.t"),
    "database": lambda catalog: catalog.drop_database("db", cascade=True),
}


def object_store(memory: MemoryFileIO, number: int | None = None, mode: Mode = Mode.ERROR_BEFORE) -> FailingObjectStore:
    return FailingObjectStore(memory, number, mode)


def table_with_two_schemas(memory: MemoryFileIO) -> None:
    long_branch(memory)
    catalog_on(memory).alter_table("db.t", AddColumn("x", IntType()))


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("what", DROPS)
def test_a_failed_drop_leaves_the_rows_or_no_table_and_a_new_table_starts_empty(what: str, mode: Mode) -> None:
    start = MemoryFileIO()
    table_with_two_schemas(start)
    expected = keys(opened(start))
    number = 0
    while True:
        memory = copy_of(start)
        store = object_store(memory, number, mode)
        with suppress(Crash, OSError):
            DROPS[what](catalog_on(store))
        sound = object_store(memory)
        with suppress(NotFoundError, CorruptionError):  # an older schema is gone already: an error, never other rows
            assert keys(opened(sound)) == expected, f"call {number}"
        check_new_table_is_empty(sound)
        with suppress(NotFoundError):
            DROPS[what](catalog_on(sound))
        if what == "database":
            assert catalog_on(sound).list_databases() == ()
        else:
            assert [*memory.list("/w/db.db"), *memory.list_hidden("/w/db.db")] == [], number
        if store.calls <= number:
            return
        number += 1


def check_new_table_is_empty(store: Any) -> None:
    """The table is still there, or its name is refused until the drop is repeated, or a new table is empty."""
    catalog = catalog_on(store)
    with suppress(AlreadyExistsError):
        catalog.create_database("db")
    with suppress(AlreadyExistsError, ConflictError):
        created = catalog.create_table("db.t", Schema.from_arrow(SCHEMA, primary_keys=["k"], options={"bucket": "1"}))
        assert keys(created) == ()
        created.append(row(5, 5))
        assert keys(created) == (5,)


BRANCHES: dict[str, tuple[Callable[[MemoryFileIO], None], Callable[[Table], object], str]] = {
    "creation": (four_snapshots, lambda t: t.create_branch("n", tag="t4"), "n"),
    "creation of an empty one": (four_snapshots, lambda t: t.create_branch("n"), "n"),
    "deletion": (long_branch, lambda t: t.delete_branch("b"), "b"),
}


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("what", BRANCHES)
def test_a_branch_left_half_made_can_be_deleted_and_harms_no_other(what: str, mode: Mode) -> None:
    prepare, run, name = BRANCHES[what]
    start = MemoryFileIO(StillClock())
    prepare(start)
    expected = keys(opened(start))
    number = 0
    while True:
        memory = copy_of(start)
        store = object_store(memory, number, mode)
        with suppress(Crash, OSError, TableFormatError):
            run(opened(store))
        sound = object_store(memory)
        assert keys(opened(sound)) == expected
        with suppress(BranchNotFound):
            opened(sound).delete_branch(name)
        opened(sound).expire_snapshots(retain_min=1, retain_max=1)
        assert keys(opened(sound)) == expected
        check_everything_is_there(memory)
        if store.calls <= number:
            return
        number += 1


def test_tables_and_branches_are_not_renamed() -> None:
    memory = MemoryFileIO()
    long_branch(memory)
    sound = object_store(memory)
    with pytest.raises(UnsupportedFeature, match=r"cannot rename table 'db\.t': an object store .* copy every file"):
        catalog_on(sound).rename_table("db.t", "db.u")
    with pytest.raises(UnsupportedFeature, match="cannot rename branch 'b': an object store"):
        opened(sound).rename_branch("b", "c")
    assert keys(opened(sound)) == (1, 2, 3)
    assert keys(opened(sound, "db.t$branch_b")) == (1, 2, 11, 12, 13)


def test_remains_of_a_dropped_table_are_named_until_the_drop_is_repeated() -> None:
    memory = MemoryFileIO()
    long_branch(memory)
    # Announced, schemas deleted, and one more file: then the process dies.
    store = object_store(memory, 0)
    while catalog_on(object_store(memory)).table_exists("db.t"):
        store = object_store(memory, store.calls + 1, Mode.CRASH_AFTER)
        with suppress(Crash):
            catalog_on(store).drop_table("db.t")
    wanted = Schema.from_arrow(SCHEMA, primary_keys=["k"], options={"bucket": "1"})
    with pytest.raises(ConflictError, match=r"/w/db\.db/t was dropped, but not all of its files .* drop it again"):
        catalog_on(object_store(memory)).create_table("db.t", wanted)
    catalog_on(object_store(memory)).drop_table("db.t")
    assert keys(catalog_on(object_store(memory)).create_table("db.t", wanted)) == ()

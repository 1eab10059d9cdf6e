"""A table is dropped, renamed, or created again before each call of a change of it: nothing of the change stays there.

The change is done before, refused because the table or branch is gone, or done to the table that has the name now.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from table_format import RenameColumn, Schema
from table_format.errors import ConflictError, NotFoundError
from table_format.io.memory import MemoryFileIO
from tests.simulation.test_every_call import copy_of
from tests.simulation.test_every_call_of_history import SCHEMA, catalog_on, keys, long_branch, opened, row
from tests.support.acting_io import ActingIO

RENAMED = RenameColumn("v", "w")
CHANGES: dict[str, Callable[[Any], object]] = {
    "schema": lambda io: catalog_on(io).alter_table("db.t", RENAMED),
    "schema of a branch": lambda io: catalog_on(io).alter_table("db.t$branch_b", RENAMED),
    "new branch": lambda io: opened(io).create_branch("c", tag="later"),
    "other name of a branch": lambda io: opened(io).rename_branch("b", "c"),
    "end of a branch": lambda io: opened(io).delete_branch("b"),
    "new tag": lambda io: opened(io).create_tag("new"),
    "other snapshot of a tag": lambda io: opened(io).replace_tag("base"),
    "rollback": lambda io: opened(io).rollback_to(1),
    "rollback to a tag": lambda io: opened(io).rollback_to("base"),
    "fast-forward": lambda io: opened(io).fast_forward("b"),
}
DONE = {"rollback": ((1, 2), (1,)), "rollback to a tag": ((1, 2),), "fast-forward": ((1, 2, 11, 12, 13),)}
"""The keys of the table after changes of its rows. A rollback removes one snapshot after the other."""


def drop(memory: MemoryFileIO) -> None:
    catalog_on(memory).drop_table("db.t")


def rename(memory: MemoryFileIO) -> None:
    catalog_on(memory).rename_table("db.t", "db.new")


def create_again(memory: MemoryFileIO) -> None:
    drop(memory)
    new = catalog_on(memory).create_table("db.t", Schema.from_arrow(SCHEMA, ["k"], options={"bucket": "2"}))
    new.append(row(7, 7))


def delete_branch(memory: MemoryFileIO) -> None:
    with suppress(NotFoundError):  # the change has done it, or has given it another name
        opened(memory).delete_branch("b")


def sweep(change: str, act: Callable[[MemoryFileIO], None], check: Callable[[MemoryFileIO], None]) -> None:
    """Do a change while somebody acts before each of its calls in turn."""
    start = MemoryFileIO()
    long_branch(start)
    refused = 0
    for number in range(10_000):
        memory = copy_of(start)
        store = ActingIO(memory, number, partial(act, memory))
        store.watch()
        try:
            CHANGES[change](store)
        except (NotFoundError, ConflictError):
            refused += 1
        if store.calls <= number:
            break
        check(memory)
    assert refused


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_beside_a_drop_brings_no_table_back(change: str) -> None:
    def is_gone(memory: MemoryFileIO) -> None:
        assert catalog_on(memory).list_tables("db") == ()
        assert not [path for path in memory._files if re.search("/(schema|tag|snapshot)-", path)]

    sweep(change, drop, is_gone)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_beside_a_rename_leaves_no_table_under_the_old_name(change: str) -> None:
    def is_renamed(memory: MemoryFileIO) -> None:
        assert catalog_on(memory).list_tables("db") == ("new",)
        assert keys(opened(memory, "db.new")) in ((1, 2, 3), *DONE.get(change, ()))

    sweep(change, rename, is_renamed)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_beside_a_new_table_of_the_name_gives_it_nothing_of_the_old(change: str) -> None:
    def is_new(memory: MemoryFileIO) -> None:
        table = opened(memory)
        assert keys(table) == (7,)
        assert set(table.branches()) <= {"c"}
        for name in table.tags():
            assert table.scan(options={"scan.tag-name": name}).to_arrow()["k"].to_pylist() == [7]
        assert table.verify().is_healthy

    sweep(change, create_again, is_new)


@pytest.mark.parametrize("change", ["schema of a branch", "other name of a branch", "end of a branch"])
def test_a_change_of_a_branch_that_is_deleted_meanwhile_is_told_so_and_brings_it_not_back(change: str) -> None:
    def has_no_half_branch(memory: MemoryFileIO) -> None:
        for name in opened(memory).branches():
            assert keys(opened(memory, f"db.t$branch_{name}")) == (1, 2, 11, 12, 13)

    sweep(change, delete_branch, has_no_half_branch)

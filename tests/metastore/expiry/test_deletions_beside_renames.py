"""A table is renamed before each call of what deletes its files: it keeps all it needs, also outside its directory.

A table that was renamed has no snapshots, tags and branches under its old path, so that it seems to need no file. Files
outside its directory (``data-file.external-paths``) are where they were.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from table_format import Schema, Table
from table_format.errors import TableNotFound
from table_format.io.memory import MemoryFileIO
from table_format.metastore.references.tag_store import TagStore
from tests.simulation.test_every_call import FUTURE, SCHEMA, copy_of, rows
from tests.simulation.test_every_call_of_history import catalog_on, opened
from tests.support.acting_io import ActingIO

EXPIRY = {"retain_min": 1, "retain_max": 1, "older_than_ms": FUTURE, "retain_floor_ms": 0}
OUTSIDE = {"data-file.external-paths": "file:/outside", "data-file.external-paths.strategy": "round-robin"}


def abort_committed(table: Table) -> None:
    messages = table.new_write("w").write(rows((30, "a", 1)))
    table.new_commit("w").commit(messages, identifier=1)
    table.new_commit("another").abort(messages)


DELETIONS: dict[str, Callable[[Table], object]] = {
    "orphans": lambda t: t.remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True),
    "tag": lambda t: t.delete_tag("base"),
    "tags": lambda t: t.expire_tags(older_than_ms=FUTURE),
    "replaced tag": lambda t: t.replace_tag("base"),
    "branch": lambda t: t.delete_branch("b"),
    "snapshots": lambda t: t.expire_snapshots(**EXPIRY),
    "rollback": lambda t: t.rollback_to("later"),
    "fast-forward": lambda t: t.fast_forward("b"),
    "abort": abort_committed,
}


def prepared() -> MemoryFileIO:
    """A table with tags that alone keep their snapshots, a branch, and a snapshot to expire."""
    memory = MemoryFileIO()
    catalog_on(memory).create_database("db")
    table = catalog_on(memory).create_table("db.t", Schema.from_arrow(SCHEMA, partition_keys=["p"], options=OUTSIDE))
    assert isinstance(table, Table)
    for number, tag in enumerate(("base", "later", None, None)):
        table.append(rows((number, "a", number), (10 + number, "b", number)))
        if tag is not None:
            table.create_tag(tag)
    table.create_branch("b", tag="base")
    opened(memory, "db.t$branch_b").append(rows((20, "a", 1)))
    table.compact(full=True)
    table.expire_snapshots(**{**EXPIRY, "retain_max": 2, "retain_min": 2})
    assert any(path.startswith("/outside/") for path in memory._files)
    return memory


def read_everything(memory: MemoryFileIO) -> None:
    """Read the table under its new name, its branches, and its tags without those that are being deleted."""
    catalog = catalog_on(memory)
    assert catalog.list_tables("db") == ("new",)
    table = opened(memory, "db.new")
    table.scan().to_arrow()
    for name in set(table.tags()).difference(TagStore(table.store).names_being_deleted()):
        table.scan(options={"scan.tag-name": name}).to_arrow()
    for name in table.branches():
        opened(memory, f"db.new$branch_{name}").scan().to_arrow()


@pytest.mark.parametrize("name", DELETIONS)
def test_a_table_that_is_renamed_during_a_deletion_keeps_its_files_outside(name: str) -> None:
    start = prepared()
    for number in range(10_000):
        memory = copy_of(start)
        store = ActingIO(memory, number, lambda memory=memory: catalog_on(memory).rename_table("db.t", "db.new"))
        table = opened(store)
        store.watch()
        with suppress(TableNotFound):
            DELETIONS[name](table)
        if store.calls <= number:
            break
        read_everything(memory)
    assert number > 5

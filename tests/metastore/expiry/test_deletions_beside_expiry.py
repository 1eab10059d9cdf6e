"""Others commit, and expire all that was listed, before each call of a deletion: what later snapshots need stays."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from table_format import Table, load_catalog
from table_format.errors import SnapshotExpired
from table_format.io.file_io import FileIO
from table_format.io.memory import MemoryFileIO
from tests.simulation.test_every_call import FUTURE, copy_of
from tests.support.acting_io import ActingIO
from tests.support.tables import keyed, rows_of, warehouse_on


def opened(store: FileIO) -> Table:
    found = load_catalog({"warehouse": "/warehouse"}, file_io=store).load_table("db.t")
    assert isinstance(found, Table)
    return found


def expire(table: Table) -> None:
    table.expire_snapshots(retain_min=1, retain_max=1, retain_floor_ms=0)


def start_with(keeper: str, options: dict[str, str]) -> MemoryFileIO:
    """A table whose later snapshots share manifests with an older one, which only a tag or a branch keeps."""
    memory = MemoryFileIO()
    table = warehouse_on(memory).table(options=options)
    table.append(keyed([(1, "a", 1)]))
    table.create_tag("old")
    table.append(keyed([(2, "a", 2)]))
    expire(table)
    table.append(keyed([(3, "a", 3)]))
    if keeper == "branch":
        table.create_branch("b", tag="old")
        table.delete_tag("old")
    return memory


def go_on(memory: MemoryFileIO) -> None:
    for number in (4, 5):
        opened(memory).append(keyed([(number, "a", 1)]))
    expire(opened(memory))


def replace_tag(table: Table) -> None:
    with suppress(SnapshotExpired):  # the new one
        table.replace_tag("old")


DELETIONS: dict[str, tuple[str, Callable[[Table], object]]] = {
    "a tag": ("tag", lambda table: table.delete_tag("old")),
    "a tag that is replaced": ("tag", replace_tag),
    "all tags": ("tag", lambda table: table.expire_tags(older_than_ms=FUTURE)),
    "a branch": ("branch", lambda table: table.delete_branch("b")),
    "snapshots": ("branch", expire),
}


@pytest.mark.parametrize("options", [{}, {"changelog.num-retained.max": "99"}], ids=["plain", "with changelogs"])
@pytest.mark.parametrize("what", DELETIONS)
def test_what_is_committed_beside_a_deletion_keeps_its_files(what: str, options: dict[str, str]) -> None:
    keeper, delete = DELETIONS[what]
    start = start_with(keeper, options)
    for number in range(10_000):
        memory = copy_of(start)
        store = ActingIO(memory, number, lambda memory=memory: go_on(memory))  # type: ignore[misc]
        table = opened(store)
        store.watch()
        delete(table)
        if store.calls <= number:
            break
        assert rows_of(opened(memory), columns=["id"]) == [(1,), (2,), (3,), (4,), (5,)], f"call {number}"
    assert number > 10

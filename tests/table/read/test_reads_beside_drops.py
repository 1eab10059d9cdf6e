"""A table, or a branch of it, is dropped before each call of a reader in turn: never does it read as an empty table."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from table_format import load_catalog
from table_format.errors import CorruptionError, NotFoundError
from table_format.io.memory import MemoryFileIO
from tests.support.acting_io import ActingIO
from tests.table.read.test_reads_under_expiry import BEFORE, KINDS, make, opened, scanned, snapshot_of


def drop_table(memory: MemoryFileIO) -> None:
    load_catalog({"warehouse": "/w"}, file_io=memory).drop_table("db.t")


def delete_branch(memory: MemoryFileIO) -> None:
    opened(memory).delete_branch("b")


DROPS: dict[str, tuple[str, Callable[[MemoryFileIO], None]]] = {
    "table": ("db.t", drop_table),
    "branch": ("db.t$branch_b", delete_branch),
}


@pytest.mark.parametrize("dropped", DROPS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_reader_beside_a_drop_is_given_all_rows_or_an_error(kind: str, dropped: str) -> None:
    options, keyed = KINDS[kind]
    start = make(options, keyed=keyed)
    table = opened(start)
    table.create_tag("now")
    table.create_branch("b", tag="now")
    expected = scanned(opened(start))
    assert set(expected) == set(BEFORE)
    name, drop = DROPS[dropped]
    refused = 0
    for number in range(10_000):
        memory = snapshot_of(start)
        store = ActingIO(memory, number, partial(drop, memory))
        reader = opened(store, name)
        store.watch()
        try:
            assert scanned(reader) == expected, f"call {number}"
        except (NotFoundError, CorruptionError):
            refused += 1
        if store.calls <= number:
            break
    assert refused

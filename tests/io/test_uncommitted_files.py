"""One rule for files that no snapshot names: what cannot be deleted stays, is logged, and hides no error."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pyarrow as pa
import pytest

from table_format import Schema, Table, load_catalog
from table_format.io.memory import MemoryFileIO
from table_format.io.uncommitted_files import DeletingOnFailure, delete_uncommitted
from tests.support.metastore_table import HookedFileIO, failing, once

STUCK = OSError(5, "the disk does not answer")
FULL = OSError(28, "no space left on device")


def files(*names: str) -> HookedFileIO:
    memory = MemoryFileIO()
    for name in names:
        memory.create(name, b"x")
    return HookedFileIO(memory)


def test_what_cannot_be_deleted_is_logged_and_the_rest_is_deleted(caplog: pytest.LogCaptureFixture) -> None:
    store = files("/w/a", "/w/b", "/w/c")
    store.before("delete", "/w/b", failing(STUCK))
    delete_uncommitted(store, ("/w/a", "/w/b", "/w/c", "/w/never-written"))
    assert [file.name for file in store.list("/w")] == ["b"]
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert "/w/b" in record.getMessage()
    assert "orphan" in record.getMessage()


@pytest.mark.parametrize("error", [ValueError("bad row"), KeyboardInterrupt(), GeneratorExit()])
def test_an_error_and_an_interrupt_delete_and_go_on(error: BaseException) -> None:
    store = files("/w/a")
    with pytest.raises(type(error)), DeletingOnFailure(lambda: delete_uncommitted(store, ("/w/a",))):
        raise error
    assert not store.list("/w")


def test_a_block_that_ends_deletes_nothing_and_neither_does_an_excepted_error() -> None:
    store = files("/w/a")
    with DeletingOnFailure(lambda: delete_uncommitted(store, ("/w/a",))):
        pass
    with pytest.raises(LookupError), DeletingOnFailure(lambda: delete_uncommitted(store, ("/w/a",)), (LookupError,)):
        raise KeyError
    assert store.list("/w")


def a_table(store: HookedFileIO, **options: str) -> Table:
    catalog = load_catalog({"warehouse": "/w"}, file_io=store)
    catalog.create_database("db")
    columns = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())])
    given = {key.replace("_", "-"): value for key, value in options.items()}
    table = catalog.create_table("db.t", Schema.from_arrow(columns, options=given))
    assert isinstance(table, Table)
    table.append(rows(1, 2, 3))
    return table


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "v": ["a"] * len(ids)})


WORK: dict[str, tuple[dict[str, str], str, Callable[[Table], object]]] = {
    "a commit": ({}, "/manifest/", lambda table: table.append(rows(4))),
    "a data file": ({}, "/bucket-", lambda table: table.append(rows(4))),
    "a rewrite": ({}, "/manifest/", lambda table: table.delete("id = 1")),
    "deletion vectors": ({"deletion_vectors.enabled": "true"}, "/index/", lambda table: table.delete("id = 1")),
    "statistics": ({}, "/manifest/", lambda table: table.analyze()),
}


@pytest.mark.parametrize("name", WORK)
def test_a_deletion_that_fails_does_not_hide_the_error_that_made_it_necessary(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    options, part, work = WORK[name]
    store = HookedFileIO(MemoryFileIO())
    table = a_table(store, **options)
    for verb in ("create", "open_output"):
        store.before(verb, part, once(failing(FULL)))
    store.before("delete", "/w/", failing(STUCK))
    with pytest.raises(OSError, match="no space left"):
        work(table)
    store.calm()
    assert table.scan().to_arrow().num_rows == 3
    if any(verb == "delete" for verb, _ in store.calls):
        assert any("orphan" in record.getMessage() for record in caplog.records)
    # What stayed is an orphan, which the cleaning finds.
    table.remove_orphan_files(older_than_ms=1 << 60, nobody_else_writes=True)
    assert not table.remove_orphan_files(older_than_ms=1 << 60, dry_run=True, nobody_else_writes=True).files

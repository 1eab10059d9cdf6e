"""A refresh commits the files that are there, once, whatever fails or happens at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa
import pytest

from table_format import Table
from table_format.errors import ConflictError
from table_format.io.memory import MemoryFileIO
from table_format.options.kind import without_kind
from tests.object_table.conftest import LOCATION, Images
from tests.support.tables import Warehouse


def plain(images: Images) -> Table:
    """The table as a program sees it that does not know object tables."""
    table = images.table
    schema = replace(table.schema, options=without_kind(table.schema.options))
    return Table(table.identifier, table.store, schema)


def stored_files(images: Images) -> list[str]:
    return Warehouse(images.catalog, images.io).files(images.table)  # type: ignore[arg-type]  # any catalog


def test_each_refresh_is_a_snapshot_of_the_files_that_are_there(images: Images) -> None:
    assert images.table.refresh().file_count == 3
    images.put("c.png")
    found = images.table.refresh()
    assert found.file_count == 4
    assert found.snapshot is not None
    assert found.snapshot.id == 2
    assert images.names() == [".hidden", "a.png", "c.png", "sub/b.png"]
    assert images.names(snapshot_id="1") == [".hidden", "a.png", "sub/b.png"]


def test_the_snapshot_has_the_properties_of_its_refresh(images: Images) -> None:
    first = images.table.refresh(properties={"dagster.run_id": "r1"}).snapshot
    images.put("c.png")
    second = images.table.refresh(properties={"dagster.run_id": "r2"}).snapshot
    assert first is not None
    assert second is not None
    assert [first.properties["dagster.run_id"], second.properties["dagster.run_id"]] == ["r1", "r2"]


def test_a_deleted_file_is_no_row_and_a_changed_one_has_its_new_length(images: Images) -> None:
    images.table.refresh()
    images.io.delete(f"{LOCATION}/.hidden")
    images.put("a.png", data=b"longer")
    images.table.refresh()
    rows = images.table.scan(["name", "length"], order_by="name", limit=9).to_arrow().to_pylist()
    assert rows == [{"name": "a.png", "length": 6}, {"name": "b.png", "length": 3}]


def test_a_refresh_without_a_change_makes_no_snapshot(images: Images) -> None:
    images.table.refresh()
    assert images.table.refresh().snapshot is None
    images.table.compact()
    assert images.table.refresh().snapshot is None
    images.io.delete_tree(LOCATION)
    assert images.table.refresh().file_count == 0
    assert images.table.refresh().snapshot is None
    assert [snapshot.id for snapshot in images.table.snapshots()] == [1, 2]


def test_an_empty_location_makes_no_first_snapshot(images: Images) -> None:
    images.io.delete_tree(LOCATION)
    assert images.table.refresh().file_count == 0
    assert images.table.latest_snapshot() is None


def test_a_table_of_an_earlier_snapshot_is_refreshed_like_the_latest(images: Images) -> None:
    images.table.refresh()
    images.put("c.png")
    images.table.refresh()
    images.put("d.png")
    images.table.copy({"scan.snapshot-id": "1"}).refresh()
    assert len(images.names()) == 5


@pytest.mark.parametrize("is_first", [True, False], ids=["first", "later"])
def test_a_refresh_during_another_leaves_no_file_twice_and_both_succeed(images: Images, is_first: bool) -> None:
    if not is_first:
        images.table.refresh()

    def meanwhile() -> None:
        images.put("c.png", "d.png")
        images.table.refresh()

    images.io.acts.append(meanwhile)
    images.put("e.png")
    images.table.refresh()
    images.table.refresh()
    assert images.names() == [".hidden", "a.png", "c.png", "d.png", "e.png", "sub/b.png"]


def test_a_later_listing_is_never_replaced_by_an_earlier_one(images: Images) -> None:
    images.table.refresh()

    def meanwhile() -> None:
        images.put("c.png")
        images.table.refresh()

    images.io.acts.append(meanwhile)
    images.put("b.png")
    assert images.table.refresh().snapshot is None
    assert images.names() == [".hidden", "a.png", "b.png", "c.png", "sub/b.png"]


def test_refreshes_of_several_threads_leave_each_file_once(images: Images) -> None:
    images.table.refresh()
    images.put(*(f"{n}.png" for n in range(20)))
    with ThreadPoolExecutor(4) as threads:
        assert {found.file_count for found in threads.map(lambda _: images.table.refresh(), range(8))} == {23}
    assert len(images.names()) == len(set(images.names())) == 23


def test_a_refresh_gives_up_if_others_are_always_faster(images: Images) -> None:
    images.table.refresh()
    row = images.table.scan(limit=1).to_arrow()

    def write() -> None:
        plain(images).append(row)

    images.put("c.png")
    images.io.acts.extend([write] * 10)
    with pytest.raises(ConflictError, match=r"db\.images was not refreshed: other commits were faster 10 times"):
        images.table.refresh()


def test_rows_of_a_program_that_does_not_know_object_tables_are_replaced(images: Images) -> None:
    images.table.refresh()
    row = images.table.scan(limit=1).to_arrow()
    plain(images).append(row.set_column(12, row.field(12), pa.array([[("k", "v")]], row.field(12).type)))
    assert len(images.names()) == 4
    images.table.refresh()
    assert images.names() == [".hidden", "a.png", "sub/b.png"]


@pytest.mark.parametrize("failing", ["/snapshot/snapshot-", "/manifest/", "/bucket-0/", LOCATION])
def test_a_refresh_that_fails_commits_nothing(images: Images, failing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    images.table.refresh()
    before = stored_files(images)
    images.put("c.png")

    for name in ("create", "open_output", "list"):
        works = getattr(MemoryFileIO, name)

        def fail(io: MemoryFileIO, path: str, *arguments: bytes, works=works) -> object:
            if failing in path:
                raise PermissionError(13, "the store failed", path)
            return works(io, path, *arguments)

        monkeypatch.setattr(MemoryFileIO, name, fail)
    with pytest.raises(PermissionError):
        images.table.refresh()
    monkeypatch.undo()
    assert stored_files(images) == before
    assert len(images.names()) == 3
    assert images.table.refresh().file_count == 4

"""An object table reads like every table, opens its files, and refuses to be written."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from table_format import ObjectTable, Schema, load_catalog
from table_format.duckdb_sql import query
from table_format.errors import InvalidInputError, UnsupportedFeature
from tests.object_table.conftest import LOCATION, Images

WRITES: dict[str, Callable[[ObjectTable], object]] = {
    "append": lambda table: table.append(table.scan().to_arrow()),
    "overwrite": lambda table: table.overwrite(table.scan().to_arrow()),
    "delete": lambda table: table.delete("name = 'a.png'"),
    "delete nothing": lambda table: table.delete("name = 'z'"),
    "update": lambda table: table.update({"owner": "'ann'"}, "true"),
    "truncate": lambda table: table.truncate(),
    "new_write": lambda table: table.new_write(),
    "new_commit": lambda table: table.new_commit(),
}


@pytest.fixture
def table(images: Images) -> ObjectTable:
    images.table.refresh()
    return images.table


@pytest.mark.parametrize("name", WRITES)
def test_only_a_refresh_changes_rows(table: ObjectTable, name: str) -> None:
    with pytest.raises(
        UnsupportedFeature, match=rf"'db\.images' is an object table: its rows are the files in '{LOCATION}'"
    ):
        WRITES[name](table)
    assert table.scan().count() == 3


def test_a_file_is_opened_by_the_path_of_its_row(images: Images, table: ObjectTable) -> None:
    images.put("a.png", data=b"new bytes")
    with table.open(f"{LOCATION}/a.png") as file:
        file.seek(4)
        assert file.read() == b"bytes"
    for path in table.scan(["path"]).to_arrow()["path"].to_pylist():
        with table.open(path) as file:
            assert file.read()


@pytest.mark.parametrize(
    "path", ["/etc/passwd", f"{LOCATION}/../secret", LOCATION, f"{LOCATION}/", f"{LOCATION}s/a", ""]
)
def test_other_paths_are_not_opened(table: ObjectTable, path: str) -> None:
    with pytest.raises(InvalidInputError, match=r"is not the path of a row of 'db\.images', whose files are in"):
        table.open(path)


def test_a_file_that_is_gone_is_not_found(images: Images, table: ObjectTable) -> None:
    images.io.delete(f"{LOCATION}/a.png")
    with pytest.raises(FileNotFoundError):
        table.open(f"{LOCATION}/a.png")


def test_maintenance_and_history_are_those_of_every_table(images: Images, table: ObjectTable) -> None:
    table.create_tag("first", snapshot_id=1)
    table.create_branch("b")
    images.put("c.png")
    table.refresh()
    table.compact(full=True)
    table.analyze()
    assert table.compact(order_by=["length"])
    table.expire_snapshots(retain_max=1, retain_min=1)
    assert images.names(tag_name="first") == [".hidden", "a.png", "sub/b.png"]
    branch = images.catalog.load_table("db.images$branch_b")
    assert isinstance(branch, ObjectTable)
    branch.refresh()
    assert table.scan().count() == 4
    table.rollback_to("first")
    assert table.scan().count() == 3
    assert not table.verify().findings


def test_system_tables_duckdb_and_polars_read_it(images: Images, table: ObjectTable) -> None:
    assert images.catalog.load_system_table("db.images$files").scan().to_arrow()["record_count"].to_pylist() == [3]
    found = query(images.catalog, "SELECT max(length) FROM db.images WHERE name LIKE '%.png'")
    assert found.fetchall() == [(3,)]
    assert table.scan(["name"]).to_polars().height == 3


def test_it_stays_an_object_table_in_copies(images: Images, table: ObjectTable) -> None:
    copied = table.copy({"scan.snapshot-id": "1"})
    assert isinstance(copied, ObjectTable)
    assert isinstance(copied.current(), ObjectTable)
    images.catalog.rename_table("db.images", "db.pictures")
    renamed = images.catalog.load_table("db.pictures")
    assert isinstance(renamed, ObjectTable)
    assert repr(renamed).startswith("ObjectTable(db.pictures, schema 0: path STRING NOT NULL")
    assert renamed.object_location == LOCATION


def test_another_process_opens_its_files(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a b%.png").write_bytes(b"png")
    catalog = load_catalog({"warehouse": f"{tmp_path}/w"})
    catalog.create_database("db")
    catalog.create_table("db.t", Schema((), options={"object-location": f"file://{tmp_path}/files/"}))
    sent = pickle.loads(pickle.dumps(catalog.load_table("db.t")))  # noqa: S301 - made here
    assert sent.refresh().file_count == 1
    (path,) = sent.scan().to_arrow()["path"].to_pylist()
    assert path == f"{tmp_path}/files/a b%.png"
    with sent.open(path) as file, Path(path).open("rb") as plain:
        assert file.read() == plain.read() == b"png"

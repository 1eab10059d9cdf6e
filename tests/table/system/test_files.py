"""``$files``, ``$file_key_ranges`` and ``$file_indexes``: which files they show, and what of them."""

from __future__ import annotations

from typing import Any

import pytest

from table_format import Table
from tests.support.tables import Warehouse, keyed, memory_warehouse


@pytest.fixture
def warehouse() -> Warehouse:
    return memory_warehouse()


def shown(warehouse: Warehouse, name: str, **options: str) -> list[dict[str, Any]]:
    view = warehouse.catalog.load_table(f"db.t${name}")
    return view.scan(options=options).to_arrow().to_pylist()


def three_commits(warehouse: Warehouse, **options: str) -> Table:
    table = warehouse.table(primary_keys=["id", "dt"], partition_keys=["dt"], options={"bucket": "1", **options})
    for value in range(3):
        table.append(keyed([(value, "a", value), (value + 10, "a", value)]))
    return table


@pytest.mark.parametrize("name", ["files", "file_key_ranges"])
def test_of_a_range_of_snapshots_the_files_of_its_changes_are_shown(warehouse: Warehouse, name: str) -> None:
    table = three_commits(warehouse)
    table.compact(full=True)
    rows = shown(warehouse, name, **{"incremental-between": "1,3"})
    assert [(row["min_key"], row["max_key"], row["level"]) for row in rows] == [("[1]", "[11]", 0), ("[2]", "[12]", 0)]
    assert len(shown(warehouse, name)) == 1
    assert shown(warehouse, name, **{"incremental-between": "3,3"}) == []


def test_files_made_before_a_time_are_left_out(warehouse: Warehouse) -> None:
    three_commits(warehouse)
    millis = [int(row["creation_time"].timestamp() * 1000) for row in shown(warehouse, "files")]
    since = {"scan.mode": "from-file-creation-time"}
    assert len(shown(warehouse, "files", **since, **{"scan.file-creation-time-millis": str(min(millis))})) == 3
    assert shown(warehouse, "files", **since, **{"scan.file-creation-time-millis": str(max(millis) + 60_000)}) == []


def test_key_ranges_have_their_columns(warehouse: Warehouse) -> None:
    three_commits(warehouse)
    (row, *_) = shown(warehouse, "file_key_ranges")
    assert list(row)[-3:] == ["min_key", "max_key", "first_row_id"]
    assert (row["partition"], row["record_count"], row["file_format"]) == ("[a]", 2, "parquet")


@pytest.mark.parametrize(("threshold", "storage"), [("100 mb", "EMBEDDED"), ("1 b", "FILE")])
def test_each_index_of_a_file_is_a_row(warehouse: Warehouse, threshold: str, storage: str) -> None:
    options = {
        "file-index.bloom-filter.columns": "id,v",
        "file-index.bitmap.columns": "v",
        "file-index.in-manifest-threshold": threshold,
    }
    table = three_commits(warehouse, **options)
    rows = shown(warehouse, "file_indexes")
    assert len(rows) == 9
    kinds = {(row["column_name"], row["index_type"]) for row in rows}
    assert kinds == {("id", "bloom-filter"), ("v", "bloom-filter"), ("v", "bitmap")}
    assert {row["storage_type"] for row in rows} == {storage}
    for row in rows:
        assert 0 < row["index_size_in_bytes"] < row["index_container_size_in_bytes"]
        assert not row["is_empty"]
        path = row["index_file_path"]
        assert (path is None) == (storage == "EMBEDDED")
        if path is not None:
            status = table.store.io.status(path)
            assert status is not None
            assert status.size == row["index_container_size_in_bytes"]

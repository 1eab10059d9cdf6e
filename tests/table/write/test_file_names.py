"""Names of data files and changelog files by the options of the table."""

from __future__ import annotations

import re

import pytest

from table_format import Table
from table_format.errors import InvalidOption
from tests.support.tables import keyed, memory_warehouse, rows_of

ROWS = keyed([(1, "a", 1), (2, "b", 2)])
UUID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def names(table: Table) -> set[str]:
    listed = [path.rpartition("/")[2] for path in memory_files(table)]
    return {re.sub(UUID, "U", name) for name in listed if re.search(UUID, name) and "manifest" not in name}


def memory_files(table: Table) -> list[str]:
    root = f"{table.store.paths.root}/bucket-0"
    return [f"{root}/{child.name}" for child in table.store.io.list(root)]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"data-U-0.parquet", "changelog-U-0.parquet"}),
        ({"data-file.prefix": "part-"}, {"part-U-0.parquet", "changelog-U-0.parquet"}),
        ({"file.suffix.include.compression": "true"}, {"data-U-0.zst.parquet", "changelog-U-0.zst.parquet"}),
        (
            {"file.suffix.include.compression": "true", "file.compression": "snappy", "file.format": "orc"},
            {"data-U-0.snappy.orc", "changelog-U-0.snappy.orc"},
        ),
        (
            {"file.suffix.include.compression": "true", "file.compression": "none", "file.format": "avro"},
            {"data-U-0.avro", "changelog-U-0.avro"},
        ),
    ],
)
def test_options_decide_the_names_of_files(options: dict[str, str], expected: set[str]) -> None:
    changes = {"bucket": "1", "changelog-producer": "input"}
    table = memory_warehouse().table(primary_keys=["id"], options={**changes, **options})
    table.append(ROWS)
    assert names(table) == expected
    table.compact(full=True)
    assert rows_of(table) == [(1, "a", 1), (2, "b", 2)]
    assert table.verify(depth="rows").is_healthy


def test_files_with_other_names_are_read_and_removed_like_others() -> None:
    warehouse = memory_warehouse()
    options = {"data-file.prefix": "x", "file.suffix.include.compression": "true", "file-index.bitmap.columns": "v"}
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1", **options})
    table.append(ROWS)
    table.append(ROWS)
    table.compact(full=True)
    table.expire_snapshots(retain_max=1, retain_min=1)
    assert [name for name in names(table) if name.endswith("parquet")] == ["xU-0.zst.parquet"]
    assert rows_of(table, filter="v = 2") == [(2, "b", 2)]


@pytest.mark.parametrize("key", ["data-file.prefix", "changelog-file.prefix"])
@pytest.mark.parametrize("prefix", ["a/b", "../", ".hidden", "_skipped", "with space", " "])
def test_prefixes_that_readers_would_not_find_are_refused(key: str, prefix: str) -> None:
    options = {"bucket": "1", "changelog-producer": "input", key: prefix}
    with pytest.raises(InvalidOption, match=re.escape(key)):
        memory_warehouse().table(primary_keys=["id"], options=options)

"""The indexes of keys a machine keeps: bounded in number, and gone with their table."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from table_format.kernels.key_shards import KeyShard
from table_format.runtime import Runtime
from table_format.table.placement.local_key_index import open_key_index
from tests.support.moving_keys import local_files, moving, rows, shards_content, with_runtime
from tests.support.tables import Warehouse, memory_warehouse


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return with_runtime(memory_warehouse(), Runtime(cache_directory=str(tmp_path / "cache")))


def test_shards_of_two_numbers_of_assigners_are_kept_and_the_index_of_all_keys(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    table = moving(warehouse)
    table.append(rows((1, "p1", 1)))
    for age, of in enumerate((2, 3, 4)):
        shards_content(table, of)
        for path in (tmp_path / "cache").rglob(f"shard-*-of-{of}-*"):
            os.utime(path, (1_000_000 + age, 1_000_000 + age))
    shards = [f"shard-{n}-of-{of}-0.duckdb" for of in (3, 4) for n in range(of)]
    assert local_files(table) == sorted(["keys-0.duckdb", *shards])
    # What is kept is used again, and nothing is built that would make others go.
    shards_content(table, 3)
    assert local_files(table) == sorted(["keys-0.duckdb", *shards])


def test_a_shard_that_is_open_stays(warehouse: Warehouse, tmp_path: Path) -> None:
    table = moving(warehouse)
    table.append(rows((1, "p1", 1)))
    shards_content(table, 2)
    for path in (tmp_path / "cache").rglob("shard-*"):
        os.utime(path, (1, 1))
    held = open_key_index(table.facts, shard=KeyShard(1, 2))
    shards_content(table, 3)
    shards_content(table, 4)
    held.close()
    names = local_files(table)
    assert "shard-1-of-2-0.duckdb" in names
    assert "shard-0-of-2-0.duckdb" not in names


def test_a_shard_is_not_taken_for_that_of_another_number(warehouse: Warehouse) -> None:
    table = moving(warehouse)
    table.append(rows(*((i, "p1", i) for i in range(20))))
    assert shards_content(table, 2) == shards_content(table, 3)
    assert len(shards_content(table, 3)) == 20


def test_the_indexes_go_with_their_table(warehouse: Warehouse, tmp_path: Path) -> None:
    gone, renamed, stays = (moving(warehouse, name) for name in ("gone", "renamed", "stays"))
    for table in (gone, renamed, stays):
        table.append(rows((1, "p1", 1)))
        shards_content(table, 2)
    gone.create_tag("t")
    gone.create_branch("side", tag="t")
    side = warehouse.catalog.load_table(f"{gone.identifier}$branch_side")
    side.append(rows((2, "p1", 1)))
    held = open_key_index(gone.facts)
    assert len(local_files(gone)) == 10
    # One that is open does not keep its table from being dropped.
    warehouse.catalog.drop_table(str(gone.identifier))
    warehouse.catalog.rename_table(str(renamed.identifier), "db.other")
    held.close()
    assert local_files(stays) == ["keys-0.duckdb", "shard-0-of-2-0.duckdb", "shard-1-of-2-0.duckdb"]


def test_a_table_is_dropped_though_its_indexes_cannot_be_deleted(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    warehouse = with_runtime(memory_warehouse(), Runtime(cache_directory=str(tmp_path / "file")))
    table = moving(warehouse)
    warehouse.catalog.drop_table(str(table.identifier))
    assert not warehouse.catalog.table_exists(str(table.identifier))

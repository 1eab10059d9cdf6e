"""Index files beside the data files of their bucket (``index-file-in-data-file-dir``): written, read, deleted."""

from __future__ import annotations

import pytest

from table_format import Table
from tests.support.reachable import check_files
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of

FUTURE = 1 << 60
BESIDE = {"index-file-in-data-file-dir": "true"}
GONE = (3, 4, 5, 7, 9)


@pytest.fixture
def warehouse() -> Warehouse:
    return memory_warehouse()


def index_files(warehouse: Warehouse, table: Table) -> list[str]:
    return [p for p in warehouse.files(table) if p.rpartition("/")[2].startswith("index-") and "manifest" not in p]


def expire(table: Table) -> None:
    table.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=FUTURE, retain_floor_ms=0)


def test_the_hash_index_of_dynamic_buckets_lies_in_their_directories(warehouse: Warehouse) -> None:
    options = {**BESIDE, "bucket": "-1", "dynamic-bucket.target-row-num": "3"}
    table = warehouse.table(primary_keys=["id", "dt"], partition_keys=["dt"], options=options)
    for value in range(3):
        table.append(keyed([(i, "ab"[i % 2], value) for i in range(10 + value)]))
        table = warehouse.reopened(table)
    assert rows_of(table) == sorted(((i, "ab"[i % 2], 2) for i in range(12)), key=repr)
    found = index_files(warehouse, table)
    assert {path.split("/")[0] for path in found} == {"dt=a", "dt=b"}
    assert len({path.rpartition("/")[0] for path in found}) == 4
    table.compact(full=True)
    expire(table)
    assert len(index_files(warehouse, table)) == 4
    check_files(table)
    assert rows_of(table) == sorted(((i, "ab"[i % 2], 2) for i in range(12)), key=repr)


@pytest.mark.parametrize("keys", [(), ("id", "dt")])
def test_deletion_vectors_lie_in_the_directories_of_their_buckets(warehouse: Warehouse, keys: tuple[str, ...]) -> None:
    options = {**BESIDE, "deletion-vectors.enabled": "true"}
    table = warehouse.table(primary_keys=keys, partition_keys=["dt"], options=options)
    table.append(keyed([(i, "ab"[i % 2], 0) for i in range(20)]))
    table.compact(full=True)
    for gone in GONE:
        table.delete(f"id = {gone}")
        if keys:
            table.compact()
    table = warehouse.reopened(table)
    assert [row[0] for row in sorted(rows_of(table))] == [i for i in range(20) if i not in GONE]
    found = index_files(warehouse, table)
    assert {path.split("/")[0] for path in found} == {"dt=a", "dt=b"}
    expire(table)
    assert len(index_files(warehouse, table)) < len(found)
    assert table.remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True).files == ()
    check_files(table)
    assert [row[0] for row in sorted(rows_of(table))] == [i for i in range(20) if i not in GONE]


def test_index_files_of_messages_that_are_not_committed_are_deleted(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id", "dt"], options={**BESIDE, "bucket": "-1"})
    messages = table.new_write("w").write(keyed([(1, "a", 1)]))
    assert len(index_files(warehouse, table)) == 1
    table.facts.delete_message_files(messages)
    assert index_files(warehouse, table) == []

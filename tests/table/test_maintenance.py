"""Compaction and expiry as a user meets them."""

from __future__ import annotations

import logging

import pytest

from table_format.errors import ConflictError
from table_format.model.snapshot import CommitKind
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of


@pytest.fixture
def warehouse() -> Warehouse:
    return memory_warehouse()


def test_full_compaction_keeps_the_rows_and_reads_fewer_files(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1", "write-only": "true"})
    for i in range(6):
        table.append(keyed([(j, "a", i) for j in range(i, i + 5)]))
    before = rows_of(table)
    [snapshot] = table.compact(full=True)
    assert snapshot.commit_kind is CommitKind.COMPACT
    assert rows_of(table) == before
    assert table.scan().plan().file_count == 1
    assert table.compact(full=True) == ()


def test_small_files_of_an_append_table_are_joined_in_order(warehouse: Warehouse) -> None:
    table = warehouse.table(partition_keys=["dt"])
    for i in range(6):
        table.append(keyed([(i, "a", i), (i, "b", i)]))
    table.compact(partitions=[{"dt": "a"}])
    files = {split.partition: len(split.files) for split in table.scan().plan()}
    assert sorted(files.values()) == [1, 6]
    found = table.scan(filter="dt = 'a'").to_arrow()
    assert found["id"].to_pylist() == list(range(6))


def test_a_write_only_table_is_compacted_by_a_job_of_its_own(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1", "write-only": "true"})
    for i in range(10):
        table.append(keyed([(1, "a", i)]))
    assert {s.commit_kind for s in table.snapshots()} == {CommitKind.APPEND}
    table.compact()
    assert table.snapshots()[-1].commit_kind is CommitKind.COMPACT
    assert rows_of(table) == [(1, "a", 9)]


def test_a_write_that_makes_many_runs_compacts(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1"})
    kinds = [s.commit_kind for i in range(6) for s in table.append(keyed([(1, "a", i)]))]
    assert CommitKind.COMPACT in kinds


def test_of_two_compactions_of_one_bucket_one_fails_and_leaves_no_file(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1", "write-only": "true"})
    for i in range(3):
        table.append(keyed([(1, "a", i)]))
    write = table.copy({"write-only": "false", "num-sorted-run.compaction-trigger": "1"}).new_write("slow")
    messages = write.write(keyed([(2, "b", 1)]))
    assert any(message.compact_before for message in messages)
    table.compact(full=True)
    only_compaction = [
        type(m)(
            partition=m.partition,
            bucket=m.bucket,
            total_buckets=m.total_buckets,
            compact_before=m.compact_before,
            compact_after=m.compact_after,
        )
        for m in messages
    ]
    with pytest.raises(ConflictError):
        table.new_commit("slow").commit(only_compaction, identifier=1)
    assert rows_of(table) == [(1, "a", 2)]


def test_a_commit_expires_old_snapshots(warehouse: Warehouse) -> None:
    options = {
        "snapshot.num-retained.min": "1",
        "snapshot.num-retained.max": "2",
        "commit.attempt-timeout": "0",
        "commit.request-timeout": "0",
    }
    expiring = warehouse.table("e", options=options)
    keeping = warehouse.table("k", options={**options, "write-only": "true"})
    for i in range(4):
        for table in (expiring, keeping):
            table.copy({"commit.attempt-timeout": "1 min"}).append(keyed([(i, "a", i)]))
    assert len(keeping.snapshots()) == 4
    assert len(rows_of(expiring)) == 4


def test_an_expiry_that_fails_does_not_fail_the_commit(warehouse: Warehouse, caplog: pytest.LogCaptureFixture) -> None:
    table = warehouse.table(options={"changelog.time-retained": "1 h"} if False else {})
    table.append(keyed([(1, "a", 1)]))
    warehouse.io.create(table.store.paths.tag("broken"), b"{}")
    with caplog.at_level(logging.WARNING):
        for i in range(3):
            table.copy({"snapshot.num-retained.max": "1", "snapshot.num-retained.min": "1"}).append(
                keyed([(i, "b", i)])
            )
    assert len(rows_of(table)) == 4

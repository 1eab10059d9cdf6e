"""Compaction and expiry as a user meets them."""

from __future__ import annotations

import logging

import pytest

from table_format import Schema, load_catalog
from table_format.errors import ConflictError, InvalidInputError
from table_format.io.memory import MemoryFileIO
from table_format.model.snapshot import CommitKind
from table_format.runtime import Runtime, SystemClock
from tests.support.tables import KEYED, Warehouse, keyed, memory_warehouse, rows_of


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


def test_a_bucket_that_no_table_has_is_refused(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1", "write-only": "true"})
    table.append(keyed([(1, "a", 1)]))
    with pytest.raises(InvalidInputError, match=r"buckets\[0\]: expected an integer from 0"):
        table.compact(full=True, buckets=[-1])


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


class HandClock(SystemClock):
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.at_ms = 1_700_000_000_000

    def now_ms(self) -> int:
        return self.at_ms


@pytest.mark.parametrize(("write_only", "kept"), [("false", [4, 5]), ("true", [1, 2, 3, 4, 5])])
def test_a_commit_expires_old_snapshots_unless_the_table_is_write_only(write_only: str, kept: list[int]) -> None:
    clock = HandClock()
    catalog = load_catalog({"warehouse": "/w"}, file_io=MemoryFileIO(), runtime=Runtime(clock=clock))
    catalog.create_database("db")
    options = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2", "write-only": write_only}
    table = catalog.create_table("db.t", Schema.from_arrow(KEYED, options=options))
    for i in range(5):
        table.append(keyed([(i, "a", i)]))
        clock.at_ms += 7_200_000
    assert [s.id for s in table.snapshots()] == kept
    assert len(rows_of(table)) == 5


def test_an_expiry_that_fails_does_not_fail_the_commit(caplog: pytest.LogCaptureFixture) -> None:
    clock = HandClock()
    io = MemoryFileIO()
    catalog = load_catalog({"warehouse": "/w"}, file_io=io, runtime=Runtime(clock=clock))
    catalog.create_database("db")
    table = catalog.create_table("db.t", Schema.from_arrow(KEYED, options={"snapshot.num-retained.min": "1"}))
    table.append(keyed([(0, "a", 0)]))
    io.create(table.store.paths.tag("broken"), b"{}")
    for i in (1, 2):
        clock.at_ms += 7_200_000
        with caplog.at_level(logging.WARNING):
            assert len(table.append(keyed([(i, "a", i)]))) == 1
    assert "snapshots could not be expired" in caplog.text
    assert len(rows_of(table)) == 3


def test_a_compaction_reports_the_buckets_that_are_done(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "4", "write-only": "true"})
    for i in range(2):
        table.append(keyed([(j, "a", i) for j in range(100)]))
    calls = list[tuple[int, int]]()
    report = table.run_compaction(full=True, progress=lambda done, total: calls.append((done, total)))
    assert len(report.buckets) == 4
    assert calls == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_progress_report_that_fails_ends_the_compaction_and_leaves_no_file(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "2", "write-only": "true"})
    for i in range(2):
        table.append(keyed([(j, "a", i) for j in range(100)]))
    before = warehouse.files(table)

    def stop(done: int, _: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table.run_compaction(full=True, progress=stop)
    assert len(table.snapshots()) == 2
    assert warehouse.files(table) == before

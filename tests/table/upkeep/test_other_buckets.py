"""What is left to compact when several tasks make the Nth commit."""

from __future__ import annotations

from table_format.model.bucket_id import BucketId
from table_format.table.table import Table
from table_format.table.upkeep.other_buckets import other_buckets_due
from tests.support.tables import keyed, memory_warehouse


def partitioned(**options: str) -> Table:
    return memory_warehouse().table(
        primary_keys=["id", "dt"],
        partition_keys=["dt"],
        options={"bucket": "1", "full-compaction.delta-commits": "3", **options},
    )


def due(table: Table, *written: str) -> list[str]:
    """The partitions whose bucket is due beside those that were written to."""
    by_name = {table.facts.partitions.text(s.partition): s.partition for s in table.scan().plan().splits}
    buckets = [BucketId(by_name[f"dt={name}"], 0) for name in written]
    return sorted(table.facts.partitions.text(work.partition) for work in other_buckets_due(table.facts, buckets))


def test_the_third_commit_leaves_the_buckets_that_it_does_not_write_to() -> None:
    table = partitioned()
    table.append(keyed([(1, "a", 1)]))
    assert due(table) == []
    table.append(keyed([(1, "b", 1)]))
    assert due(table, "a") == ["dt=b"]
    assert due(table, "b") == ["dt=a"]
    assert due(table, "a", "b") == []
    table.append(keyed([(2, "a", 1)]))
    assert [snapshot.commit_kind.value for snapshot in table.snapshots()] == ["APPEND"] * 3 + ["COMPACT"]
    assert due(table) == []


def test_a_table_that_only_writes_leaves_nothing() -> None:
    table = partitioned(**{"write-only": "true"})
    for name in "ab":
        table.append(keyed([(1, name, 1)]))
    assert due(table, "a") == []


def test_a_write_without_rows_is_no_commit_and_leaves_nothing() -> None:
    table = partitioned()
    for name in "ab":
        table.append(keyed([(1, name, 1)]))
    assert due(table) == []

"""Compaction as a Spark job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pytest

from table_format.errors import BucketLost
from table_format.model.commit import CommitMessage
from table_format.model.snapshot import Snapshot
from table_format.spark.tasks.bucket_jobs import buckets_in_tasks
from table_format.table.upkeep.bucket_compaction import Work, compact, perform_work
from tests.spark.lakes import DATED, TestLake, jobs_of, plan_of
from tests.support.reachable import check_files

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]


def test_each_bucket_is_compacted_by_a_separate_task_in_one_commit(lake: TestLake) -> None:
    lake.create(schema=DATED, primary_keys=("dt", "id"), partition_keys=("dt",), bucket="2", write_only="true")
    ddl = "dt string, id long, v string, _row_kind string"
    rows = [(date, i, "x", "+I") for date in ("a", "b") for i in range(20)]
    lake.write(rows, ddl)
    lake.write([(date, i, "y", "-D" if i == 3 else "+I") for date, i, _, _ in rows if i < 5], ddl)
    snapshots: list[Snapshot] = []
    jobs = jobs_of(lake.spark, lambda: snapshots.extend(lake.lake.compact("s.t", full=True, partitions=[{"dt": "a"}])))
    assert jobs == [[2]]
    assert [str(s.commit_kind) for s in snapshots] == ["COMPACT"]
    plan = lake.table().scan().plan()
    assert [split.raw_convertible for split in plan] == [True, True, False, False]
    expected = lake.rows()
    assert len(expected) == 38
    lake.lake.compact("s.t", full=True)
    assert "MapInArrow" not in plan_of(lake.lake.table("s.t"))
    assert lake.rows() == expected
    assert lake.lake.compact("s.t", full=True) == ()


def test_small_files_of_an_append_table_are_merged(lake: TestLake) -> None:
    lake.create(primary_keys=())
    for number in range(3):
        lake.write([(number, "a")], parallelism=1)
    lake.lake.compact("s.t", full=True)
    assert len(lake.table().scan().plan()[0].files) == 1
    assert lake.rows() == [(0, "a"), (1, "a"), (2, "a")]


@pytest.mark.parametrize("keyed", [True, False])
def test_a_bucket_that_another_compaction_replaced_is_dropped(lake: TestLake, keyed: bool) -> None:
    options = {"bucket": "1", "write_only": "true"} if keyed else {}
    table = lake.create(schema=DATED, primary_keys=("dt", "id") if keyed else (), partition_keys=("dt",), **options)
    for number in range(3):
        lake.write([(date, number, "x") for date in "abc"], "dt string, id long, v string", parallelism=1)
    expected = lake.rows()

    def after_another(pieces: Sequence[Work]) -> Iterator[CommitMessage | BucketLost]:
        table.compact(full=True, partitions=[{"dt": "b"}])
        table.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=1 << 60, retain_floor_ms=0)
        return buckets_in_tasks(lake.spark, pieces, partial(perform_work, table.facts, full=True))

    report = compact(table.facts, "late", full=True, perform=after_another)
    assert [(d.partition, d.bucket) for d in report.dropped] == [("dt=b", 0)]
    assert "start again" in report.dropped[0].reason
    assert [b.partition for b in report.buckets] == ["dt=a", "dt=c"]
    assert lake.rows() == expected
    check_files(table)

"""Compaction as a Spark job."""

from __future__ import annotations

import pytest

from table_format.model.snapshot import Snapshot
from tests.spark.lakes import DATED, TestLake, jobs_of, plan_of

pytestmark = pytest.mark.spark


def test_each_bucket_is_compacted_by_a_task_of_its_own_in_one_commit(lake: TestLake) -> None:
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


def test_small_files_of_an_append_table_become_one(lake: TestLake) -> None:
    lake.create(primary_keys=())
    for number in range(3):
        lake.write([(number, "a")], parallelism=1)
    lake.lake.compact("s.t", full=True)
    assert len(lake.table().scan().plan()[0].files) == 1
    assert lake.rows() == [(0, "a"), (1, "a"), (2, "a")]

"""Rescaling and postponed buckets as Spark jobs, and writes that need no distribution at all."""

from __future__ import annotations

import pyarrow as pa
import pytest

from table_format.errors import BucketCountChanged, MissingFile
from table_format.model.schema_change import SetOption
from table_format.model.snapshot import CommitKind
from tests.spark.lakes import DATED, KEYED, TestLake, jobs_of

pytestmark = pytest.mark.spark

DDL = "dt string, id long, v string"


def buckets_of(lake: TestLake) -> set[tuple[str, int, int]]:
    table = lake.table()
    plan = table.scan().plan()
    return {(table.facts.partitions.text(s.partition), s.bucket, s.total_buckets) for s in plan.splits}


def test_eight_tasks_write_eight_files_of_a_table_without_buckets(lake: TestLake) -> None:
    lake.create(primary_keys=())
    frame = lake.spark.range(0, 800, 1, 8).selectExpr("id", "cast(id as string) AS v")
    jobs = jobs_of(lake.spark, lambda: lake.lake.write(frame, "s.t"))
    assert jobs == [[8]]
    files = lake.files()
    assert len(files) == 8
    assert all(name.startswith("bucket-0/") for name in files)
    assert len(lake.table().scan(options={"source.split.target-size": "1 kb"}).plan().splits) > 1
    assert len(lake.rows()) == 800


def test_a_rescale_runs_in_tasks_and_creates_one_snapshot(lake: TestLake) -> None:
    lake.create(schema=DATED, primary_keys=("dt", "id"), partition_keys=("dt",), bucket="2")
    rows = [(dt, i, f"{dt}{i}") for dt in "ab" for i in range(50)]
    lake.write(rows, DDL)
    lake.lake.catalog.alter_table("s.t", SetOption("bucket", "4"))
    with pytest.raises(BucketCountChanged, match=r"of s\.t was written with 2 buckets, and the table now has 4"):
        lake.write([("a", 1, "new")], DDL)
    made = []
    # Two partitions, two remainders, two buckets each: every task writes one bucket.
    jobs = jobs_of(lake.spark, lambda: made.extend(lake.lake.rescale("s.t")))
    assert jobs == [[8]]
    assert [s.commit_kind for s in made] == [CommitKind.OVERWRITE]
    assert lake.rows() == sorted(rows, key=repr)
    assert buckets_of(lake) == {(f"dt={dt}", bucket, 4) for dt in "ab" for bucket in range(4)}
    lake.write([("a", 1, "new")], DDL)
    lake.lake.rescale("s.t", 3, partitions=[{"dt": "b"}])
    assert {(p, total) for p, _, total in buckets_of(lake)} == {("dt=a", 4), ("dt=b", 3)}
    assert lake.rows() == sorted([*(row for row in rows if row[:2] != ("a", 1)), ("a", 1, "new")], key=repr)


def test_a_failed_task_of_a_rescale_leaves_no_file(lake: TestLake) -> None:
    table = lake.create(schema=DATED, primary_keys=("dt", "id"), partition_keys=("dt",), bucket="1")
    lake.write([(dt, i, "v") for dt in "ab" for i in range(20)], DDL)
    victim = next(name for name in lake.files() if name.startswith("dt=b"))
    table.store.io.delete(f"{table.store.paths.root}/{victim}")
    files = lake.files()
    with pytest.raises(MissingFile):
        lake.lake.rescale("s.t", 4)
    assert lake.files() == files


def test_postponed_rows_are_written_by_all_tasks_and_compacted_by_several(lake: TestLake) -> None:
    options = {"bucket": "-2", "postpone.default_bucket_num": "4"}
    lake.create(schema=DATED, primary_keys=("dt", "id"), partition_keys=("dt",), **options)
    frame = lake.spark.range(0, 400, 1, 4).selectExpr("'a' AS dt", "id", "'first' AS v")
    assert jobs_of(lake.spark, lambda: lake.lake.write(frame, "s.t", commit_user="job-7", identifier=1)) == [[4]]
    assert len(lake.files()) == 4
    assert all(name.startswith("dt=a/bucket-postpone/data--u-job-7-s-") for name in lake.files())
    lake.write([("a", i, "second") for i in range(0, 400, 5)] + [("b", 1, "only")], DDL, parallelism=3)
    lake.table().append(pa.table({"dt": ["a"], "id": [5], "v": ["third"]}, schema=DATED))
    lake.write([("a", 10, None, "-D")], f"{DDL}, _row_kind string")
    assert lake.rows() == []
    made = []
    jobs = jobs_of(lake.spark, lambda: made.extend(lake.lake.compact("s.t")))
    assert jobs == [[8]]
    assert [s.commit_kind for s in made] == [CommitKind.COMPACT]
    expected = {("a", i): "second" if i % 5 == 0 else "first" for i in range(400)}
    expected |= {("a", 5): "third", ("b", 1): "only"}
    del expected["a", 10]
    assert lake.rows() == sorted(((*key, v) for key, v in expected.items()), key=repr)
    assert {(p, total) for p, _, total in buckets_of(lake)} == {("dt=a", 4), ("dt=b", 4)}
    lake.write([("b", 1, "changed")], DDL, mode="overwrite")
    lake.lake.compact("s.t", full=True)
    assert [row for row in lake.rows() if row[0] == "b"] == [("b", 1, "changed")]


def test_times_that_spark_cannot_represent_are_preserved(lake: TestLake) -> None:
    schema = pa.schema([*KEYED, ("at", pa.timestamp("ns"))])
    lake.create(schema=schema, bucket="1")
    rows = pa.table({"id": [1, 2], "v": ["a", "b"], "at": pa.array([1, 10**18 + 7], pa.timestamp("ns"))}, schema=schema)
    lake.table().append(rows)
    lake.lake.rescale("s.t", 2)
    assert lake.table().scan().to_arrow().sort_by("id").equals(rows)

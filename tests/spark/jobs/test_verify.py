"""Verification in Spark tasks: the findings of a single process, and a task for each bucket."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from tests.spark.lakes import DATED, TestLake, jobs_of

pytestmark = pytest.mark.spark

DDL = "dt string, id long, v string"


def test_verification_in_tasks_has_the_findings_of_a_single_process(lake: TestLake) -> None:
    lake.create(schema=DATED, primary_keys=("dt", "id"), partition_keys=("dt",), bucket="2")
    lake.write([(dt, number, "v") for dt in "ab" for number in range(20)], DDL)
    reports = []
    jobs = jobs_of(lake.spark, lambda: reports.append(lake.lake.verify("s.t", depth="rows")))
    assert jobs == [[4]]
    assert (reports[0].findings, reports[0].files, reports[0].rows) == ((), 4, 40)
    table = lake.table()
    victim = next(name for name in lake.files() if name.startswith("dt=b"))
    table.store.io.delete(f"{table.store.paths.root}/{victim}")
    report = lake.lake.verify("s.t", depth="rows")
    assert report == lake.table().verify(depth="rows")
    [finding] = report.errors
    assert (finding.check, finding.partition) == ("data file", "dt=b")
    assert lake.lake.verify("s.t", partitions=[{"dt": "a"}]).is_healthy


def test_tasks_find_a_key_in_two_buckets(lake: TestLake) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())])
    table = lake.create(schema=schema, **{"bucket": "-1", "dynamic-bucket.target-row-num": "1"})
    batches = [pa.table([ids, ["v"] * len(ids)], schema=schema) for ids in ([1, 2], [2])]
    written = [table.new_write().write(batch) for batch in batches]
    for messages in written:  # as a writer commits them that does not see others
        table.new_commit().commit([replace(m, hash_index_base=None, numbers_base=None) for m in messages])
    report = lake.lake.verify("s.t", depth="rows")
    assert report == lake.table().verify(depth="rows")
    assert "one bucket per key" in {finding.check for finding in report.errors}

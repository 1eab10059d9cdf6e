"""Files of a DataFrame are listed without a job, and the session keeps its setting."""

from __future__ import annotations

from threading import Event, Thread

import pyarrow as pa
import pytest

from table_format.spark.read.file_listing import listing_in_driver
from tests.spark.lakes import DATED, TestLake, jobs_of

pytestmark = pytest.mark.spark

THRESHOLD = "spark.sql.sources.parallelPartitionDiscovery.threshold"


def test_a_frame_of_many_files_is_created_without_a_job(lake: TestLake) -> None:
    lake.create(schema=DATED, primary_keys=(), partition_keys=("dt",))
    lake.table().append(pa_rows(40))
    found: list[str] = []
    assert jobs_of(lake.spark, lambda: found.extend(lake.lake.table("s.t").inputFiles())) == []
    assert len(found) == 40
    assert len(lake.rows()) == 40


def pa_rows(days: int) -> pa.Table:
    return pa.table({"dt": [f"d{i}" for i in range(days)], "id": range(days), "v": ["x"] * days}, schema=DATED)


def test_the_setting_of_the_session_is_restored_after_an_error(lake: TestLake) -> None:
    conf = lake.spark.conf
    default = conf.get(THRESHOLD)

    def fail() -> None:
        with listing_in_driver(lake.spark):
            assert int(conf.get(THRESHOLD)) > 1_000_000
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert conf.get(THRESHOLD) == default
    conf.set(THRESHOLD, "7")
    try:
        with listing_in_driver(lake.spark):
            pass
        assert conf.get(THRESHOLD) == "7"
    finally:
        conf.unset(THRESHOLD)


def test_overlapping_threads_restore_the_setting(lake: TestLake) -> None:
    conf = lake.spark.conf
    default = conf.get(THRESHOLD)
    entered, may_leave = Event(), Event()

    def other() -> None:
        with listing_in_driver(lake.spark):
            entered.set()
            assert may_leave.wait(60)

    thread = Thread(target=other)
    with listing_in_driver(lake.spark):
        thread.start()
        assert entered.wait(60)
    assert conf.get(THRESHOLD) != default
    may_leave.set()
    thread.join()
    assert conf.get(THRESHOLD) == default

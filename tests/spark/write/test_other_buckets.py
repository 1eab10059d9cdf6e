"""The Nth commit of ``full-compaction.delta-commits`` from Spark compacts what one process would compact."""

from __future__ import annotations

import pyarrow as pa
import pytest

from table_format.errors import CorruptionError
from table_format.table.table import Table
from tests.spark.lakes import DATED, TestLake

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

TOP = 5
ROWS = "dt string, id long, v string"


def levels(table: Table) -> list[int]:
    return sorted(file.level for split in table.scan().plan() for file in split.files)


def state(table: Table) -> tuple[str, list[int], list[int | None]]:
    """The kinds of the snapshots, the levels of all files, and the sizes of the changelogs."""
    snapshots = list(table.snapshots())
    kinds = "".join(snapshot.commit_kind.value[0] for snapshot in snapshots)
    return kinds, levels(table), [snapshot.changelog_record_count for snapshot in snapshots]


@pytest.fixture
def every_third(lake: TestLake) -> TestLake:
    for name in ("t", "alone"):
        lake.create(
            name,
            DATED,
            primary_keys=("dt", "id"),
            partition_keys=("dt",),
            bucket="1",
            **{"full-compaction.delta-commits": "3", "changelog-producer": "full-compaction"},
        )
    return lake


def test_the_third_commit_compacts_the_buckets_of_the_first_two(every_third: TestLake) -> None:
    for turn in range(2):
        for dt in "abc":
            every_third.write([(dt, 1, f"v{turn}")], ROWS)
            every_third.table("alone").append(pa.table({"dt": [dt], "id": [1], "v": [f"v{turn}"]}, schema=DATED))
        assert state(every_third.table()) == state(every_third.table("alone"))
        assert levels(every_third.table()) == [TOP] * 3
    assert state(every_third.table())[0] == "AAACAAAC"
    assert [row.v for row in every_third.lake.table("s.t$ro").collect()] == ["v1"] * 3


def test_statements_count_as_commits_and_an_overwrite_compacts_no_other_bucket(every_third: TestLake) -> None:
    sql = every_third.lake.sql
    sql(
        "USE s; INSERT INTO t VALUES ('a', 1, 'x'); INSERT INTO t VALUES ('b', 1, 'x');"
        "INSERT INTO t VALUES ('c', 1, 'x')"
    )
    assert levels(every_third.table()) == [TOP] * 3
    every_third.write([("a", 2, "y")], ROWS)
    every_third.write([("b", 2, "y")], ROWS)
    every_third.write([("c", 2, "y")], ROWS, mode="overwrite", partition={"dt": "c"})
    assert levels(every_third.table()) == [0, 0, 0, TOP, TOP]
    sql("DELETE FROM s.t WHERE id = 9")
    sql("UPDATE s.t SET v = 'z' WHERE dt = 'c'")
    assert levels(every_third.table()) == [TOP] * 3


def test_a_failed_compaction_of_another_bucket_leaves_nothing_of_the_write(every_third: TestLake) -> None:
    for dt in "ab":
        every_third.write([(dt, 1, "x")], ROWS)
    lost = next(name for name in every_third.files() if "dt=a" in name)
    (every_third.warehouse / "s.db" / "t" / lost).unlink()
    before = every_third.files()
    with pytest.raises(CorruptionError, match="dt=a"):
        every_third.write([("c", 1, "x")], ROWS)
    assert every_third.files() == before
    assert state(every_third.table())[0] == "AA"

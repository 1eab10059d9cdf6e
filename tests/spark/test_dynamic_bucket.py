"""Dynamic buckets as a Spark job: assigners, then writers, and the index in the same snapshot."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from table_format.errors import InvalidData, MissingFile
from table_format.kernels.hashing import row_hashes
from tests.spark.lakes import DATED, TestLake, jobs_of
from tests.support.dynamic_buckets import assert_sound, index_of

pytestmark = pytest.mark.spark

DYNAMIC = {"bucket": "-1", "dynamic_bucket.target_row_num": "10"}


def test_assigners_open_separate_buckets_and_keys_keep_their_bucket(lake: TestLake) -> None:
    table = lake.create(**DYNAMIC, **{"dynamic_bucket.assigner_parallelism": "2"})
    lake.write([(i, f"v{i}") for i in range(100)], parallelism=3)
    assert_sound(table, exact=True)
    index = index_of(table)
    assert len(index) >= 10
    assert all(abs(h) % 2 == bucket % 2 for bucket, hashes in index.items() for h in hashes)
    [snapshot] = table.snapshots()
    assert snapshot.index_manifest is not None
    lake.write([(i, "new") for i in range(90, 120)], parallelism=2)
    assert_sound(table, exact=True)
    assert all(set(hashes) <= set(index_of(table)[bucket]) for bucket, hashes in index.items())
    # One process goes on with the index of the tasks, and they with its.
    table.append(pa.table({"id": pa.array(range(110, 140), pa.int64()), "v": ["one"] * 30}))
    lake.write([(i, "last") for i in range(0, 150, 3)], parallelism=4)
    assert_sound(table, exact=True)
    expected = {i: f"v{i}" for i in range(100)} | dict.fromkeys(range(90, 120), "new")
    expected |= dict.fromkeys(range(110, 140), "one") | dict.fromkeys(range(0, 150, 3), "last")
    assert lake.rows() == sorted(expected.items(), key=repr)


def test_a_small_frame_is_assigned_and_written_by_one_task(lake: TestLake) -> None:
    table = lake.create(**DYNAMIC)
    frame = lake.spark.range(15).selectExpr("id", "'v' AS v")
    assert [tasks[-1] for tasks in jobs_of(lake.spark, lambda: lake.lake.write(frame, "s.t"))] == [1]
    assert {bucket: len(hashes) for bucket, hashes in index_of(table).items()} == {0: 10, 1: 5}
    assert_sound(table, exact=True)


def test_assigners_write_their_rows_if_no_two_can_use_the_same_bucket(lake: TestLake) -> None:
    table = lake.create(**DYNAMIC)

    def shuffles(first: int, last: int, **how: Any) -> int:
        frame = lake.frame([(i, f"v{last}") for i in range(first, last)], "id long, v string")
        jobs = jobs_of(lake.spark, lambda: lake.lake.write(frame, "s.t", parallelism=2, **how))
        assert_sound(table, exact=True)
        assert jobs[-1][-1] == 2
        return len(jobs[-1]) - 1

    assert shuffles(0, 60) == 1
    assert all(abs(h) % 2 == bucket % 2 for bucket, hashes in index_of(table).items() for h in hashes)
    before = index_of(table)
    assert shuffles(40, 80) == 1
    assert all(set(hashes) <= set(index_of(table)[bucket]) for bucket, hashes in before.items())
    # One process fills whatever bucket is open, and the assigners have to hand over again; an overwrite forgets it.
    table.append(pa.table({"id": pa.array(range(80, 100), pa.int64()), "v": ["one"] * 20}))
    assert shuffles(70, 120) == 2
    expected = dict.fromkeys(range(40), "v60") | dict.fromkeys(range(40, 70), "v80")
    assert lake.rows() == sorted((expected | dict.fromkeys(range(70, 120), "v120")).items(), key=repr)
    assert shuffles(5, 45, mode="overwrite") == 1
    assert lake.rows() == sorted(((i, "v45") for i in range(5, 45)), key=repr)


def test_dynamic_buckets_with_partitions_overwrites_and_invalid_rows(lake: TestLake) -> None:
    table = lake.create(schema=DATED, primary_keys=("dt", "id"), partition_keys=("dt",), **DYNAMIC)
    rows = [(dt, i, "v") for dt in "ab" for i in range(30)]
    lake.write(rows, "dt string, id long, v string", parallelism=3)
    assert_sound(table, exact=True)
    lake.write([("a", i, "w") for i in range(5)], "dt string, id long, v string", mode="overwrite", parallelism=2)
    assert_sound(table, exact=True)
    assert len(lake.rows()) == 35
    files = lake.files()
    with pytest.raises(InvalidData):
        lake.write([("a", None, "w")], "dt string, id long, v string", parallelism=2)
    assert lake.files() == files


def test_an_ignored_row_that_cannot_be_stored_does_not_affect_other_rows(lake: TestLake) -> None:
    columns = pa.schema([pa.field("id", pa.int32(), nullable=False), ("v", pa.string())])
    table = lake.create("t", columns, **DYNAMIC, ignore_delete="true")
    # One process has placed the keys, so that assigners meet in buckets.
    table.append(pa.table([pa.array(range(60), pa.int32()), ["a"] * 60], schema=columns))
    rows = [(i, "b", "+I") for i in range(60)]
    lake.write([*rows, (1, "x", "-D")], "id long, v string, _row_kind string", parallelism=2)
    files = lake.files()
    with pytest.raises(InvalidData, match="column 'id'"):
        lake.write([*rows, (1 << 40, "x", "-D")], "id long, v string, _row_kind string", parallelism=2)
    assert lake.files() == files
    assert_sound(table, exact=True)
    assert lake.rows() == sorted(((i, "b") for i in range(60)), key=repr)


def test_the_error_of_an_assigner_is_raised_with_its_own_class(lake: TestLake) -> None:
    table = lake.create(**DYNAMIC)
    table.append(pa.table({"id": pa.array(range(60), pa.int64()), "v": ["a"] * 60}))
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    [gone, *_] = [e.index_file.file_name for e in table.facts.manifests.index_entries(snapshot)]
    table.store.io.delete(table.store.paths.index(gone))
    files = lake.files()
    with pytest.raises(MissingFile, match=gone):
        lake.write([(i, "b") for i in range(60)], parallelism=2)
    assert lake.files() == files


def test_hashes_on_spark_equal_those_of_the_format(lake: TestLake) -> None:
    table = lake.create(**DYNAMIC)
    lake.write([(i, "v") for i in range(20)], parallelism=2)
    keys = pa.array(range(20), pa.int64())
    hashes = row_hashes([table.schema.field("id").type], [keys]).tolist()
    assert sorted(h for found in index_of(table).values() for h in found) == sorted(hashes)

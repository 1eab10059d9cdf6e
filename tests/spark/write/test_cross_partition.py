"""Keys that change their partition, as a Spark job: assigners place the rows of their keys, then writers write them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format import Table
from table_format.errors import InvalidData, KeyPlacesChanged, UnsupportedFeature
from table_format.kernels.key_shards import KeyShard
from table_format.runtime import Runtime
from table_format.spark.tasks.task_results import gather
from table_format.spark.write.cross_partition import assigner, find_repeated_assigner
from tests.spark.lakes import TestLake, a_lake, jobs_of
from tests.spark.shuffles import answer, assigned, for_assigner, job_of, write_shared
from tests.support.moving_keys import (
    ENGINES,
    Steps,
    index_content,
    local_files,
    moving,
    places_of,
    rows,
    shards_content,
    with_runtime,
)
from tests.support.tables import KEYED, Warehouse, memory_warehouse, rows_of

COLUMNS = "id long, dt string, v int"


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return with_runtime(memory_warehouse(), Runtime(cache_directory=str(tmp_path / "cache")))


def some_rows(chance: random.Random, engine: str, turn: int, count: int) -> pa.Table:
    """Rows of a few keys, most of which come several times and in several partitions."""
    given = [(chance.randrange(14), chance.choice("abc"), turn * 100 + number) for number in range(count)]
    retracts = engine == "deduplicate"
    return rows(*given, kinds=["-D" if retracts and chance.random() < 0.2 else "+I" for _ in given])


# --- laws, without a JVM ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_assigners_whose_number_changes_write_the_rows_of_a_single_writer(warehouse: Warehouse, engine: str) -> None:
    chance = random.Random(engine)
    options = {"merge_engine": engine, "dynamic_bucket__target_row_num": "3"}
    if engine == "aggregation":
        options["fields__v__aggregate-function"] = "last_value"
    alone, shared = moving(warehouse, "alone", **options), moving(warehouse, "shared", **options)
    for turn, assigners in enumerate(chance.sample((1, 2, 3, 4), 4)):
        data = some_rows(chance, engine, turn, chance.randrange(1, 30))
        alone.append(data)
        write_shared(shared, data, assigners, tasks=chance.choice([1, 3]))
        match chance.randrange(3):
            case 0:
                for table in (alone, shared):
                    table.compact(full=True)
            case 1:
                # One writer goes on where several have been, and they go on after it.
                data = some_rows(chance, engine, turn, 5)
                for table in (alone, shared):
                    table.append(data)
        assert rows_of(shared) == rows_of(alone)
        assert shards_content(shared, assigners) == places_of(shared)
    assert index_content(shared) == places_of(shared)
    assert {k: p for k, (p, _) in places_of(shared).items()} == {k: p for k, (p, _) in places_of(alone).items()}


def test_a_new_key_goes_to_a_bucket_of_its_assigner(warehouse: Warehouse) -> None:
    table = moving(warehouse, dynamic_bucket__target_row_num="4")
    write_shared(table, rows(*((i, "ab"[i % 2], i) for i in range(60))), 3)
    for number in range(3):
        assert {bucket % 3 for _, bucket in index_content(table, KeyShard(number, 3)).values()} == {number}


def test_places_of_uncommitted_rows_are_not_in_the_index(warehouse: Warehouse) -> None:
    table = moving(warehouse)
    write_shared(table, rows((1, "a", 1), (2, "a", 2)), 2)
    before = shards_content(table, 2)
    data = rows((1, "b", 3), (3, "b", 4))
    job = job_of(table, data, 2, 1)
    for number in range(2):
        assert assigned(job, data, number)
        # Spark may also stop a task half way, and run it once more.
        stopped: Iterator[Any] = assigner(job)(iter(for_assigner(job, data, number)))
        with suppress(StopIteration):
            next(stopped)
        stopped.close()
    assert shards_content(table, 2) == before == places_of(table)
    write_shared(table, data, 2)
    assert rows_of(table) == [(1, "b", 3), (2, "a", 2), (3, "b", 4)]
    assert all("-0.duckdb" in name for name in local_files(table))


def test_rows_of_two_runs_of_an_assigner_are_not_committed(warehouse: Warehouse) -> None:
    table = moving(warehouse, dynamic_bucket__target_row_num="1")
    data = rows(*((i, "a", i) for i in range(8)))
    job = job_of(table, data, 2, 2)
    runs = [[*assigned(job, data, 0), *assigned(job, data, 1)] for _ in range(2)]
    once = [answer(job, runs[0], task) for task in range(2)]
    assert find_repeated_assigner(job, once) is None
    twice = [answer(job, runs[task], task) for task in range(2)]
    failure = find_repeated_assigner(job, twice)
    assert isinstance(failure, KeyPlacesChanged)
    assert "assigner 0, 1 of 2 twice" in str(failure)
    # A writer that gets no rows is told as well: what the other run sent to it is missing.
    lone = rows((1, "a", 1))
    job = job_of(table, lone, 1, 3)
    parts = [assigned(job, lone, 0) for _ in range(3)]
    answers = [answer(job, parts[task], task) for task in range(3)]
    assert sum(len(gather([a]).messages) for a in answers) == 1
    assert isinstance(find_repeated_assigner(job, answers), KeyPlacesChanged)


def test_rows_that_were_placed_with_an_older_snapshot_are_refused(warehouse: Warehouse) -> None:
    table = moving(warehouse)
    write_shared(table, rows((1, "a", 1)), 2)
    data = rows((1, "b", 2))
    job = job_of(table, data, 2, 1)
    placed = [batch for number in range(2) for batch in assigned(job, data, number)]
    write_shared(table, rows((1, "c", 3)), 2)
    late = gather([answer(job, placed, 0)])
    with pytest.raises(KeyPlacesChanged, match="after snapshot 1"):
        table.new_commit().commit(late.messages)
    table.new_commit().abort(late.messages)
    # An index that others have brought further says so before anything is written.
    shards_content(table, 2)
    again = [batch for number in range(2) for batch in assigned(job, data, number)]
    assert isinstance(gather([answer(job, again, 0)]).failure, KeyPlacesChanged)
    assert rows_of(table) == [(1, "c", 3)]


def test_each_shard_treats_an_expired_key_as_new(warehouse: Warehouse, tmp_path: Path) -> None:
    clock = Steps()
    runtime = Runtime(clock=clock, cache_directory=str(tmp_path / "aging"))
    table = moving(with_runtime(warehouse, runtime), cross_partition_upsert__index_ttl="1 h")
    old = rows(*((i, "a", 1) for i in range(6)))
    write_shared(table, old, 3)
    clock.ms += 7_200_000
    write_shared(table, rows(*((i, "b", 2) for i in range(6))), 3)
    assert rows_of(table) == sorted([(i, "a", 1) for i in range(6)] + [(i, "b", 2) for i in range(6)])
    clock.ms += 1_800_000
    write_shared(table, rows(*((i, "c", 3) for i in range(6))), 3)
    assert rows_of(table) == sorted([(i, "a", 1) for i in range(6)] + [(i, "c", 3) for i in range(6)])


def test_ignored_rows_do_not_place_keys(warehouse: Warehouse) -> None:
    table = moving(warehouse, merge_engine="partial-update", ignore_delete="true")
    write_shared(table, rows((1, "a", 1), (2, "a", 2)), 2)
    write_shared(table, rows((1, "b", 9), (2, "b", 3), (2, "c", 9), kinds=["-D", "+I", "-D"]), 2)
    assert rows_of(table) == [(1, "a", 1), (2, "a", 3)]


@pytest.mark.parametrize("bad", [None, "x"])
def test_invalid_rows_are_refused_as_by_a_single_writer(warehouse: Warehouse, bad: str | None) -> None:
    table = moving(warehouse)
    data = rows((1, "a", 1), (2, "a", 2))
    bad_keys = data.set_column(0, "id", pa.array([1, None])) if bad is None else None
    bad_kinds = rows((1, "a", 1), kinds=[bad]) if bad else None
    wrong = bad_keys if bad_keys is not None else bad_kinds
    with pytest.raises(InvalidData) as alone:
        table.append(wrong)
    with pytest.raises(InvalidData) as shared:
        write_shared(table, wrong, 2)
    assert str(shared.value).partition(";")[0] == str(alone.value).partition(";")[0]
    assert warehouse.files(table) == ["schema/schema-0"]


def test_an_overwrite_begins_without_keys(warehouse: Warehouse) -> None:
    table = moving(warehouse, dynamic_partition_overwrite="false")
    write_shared(table, rows((1, "a", 1), (2, "a", 2)), 2)
    write_shared(table, rows((1, "b", 3), (3, "a", 4), (3, "b", 5)), 3, replacing=True)
    assert rows_of(table) == [(1, "b", 3), (3, "b", 5)]
    assert shards_content(table, 3) == places_of(table)


# --- on Spark ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def moving_lake(spark: Any, tmp_path: Path) -> TestLake:
    return a_lake(spark, tmp_path / "warehouse", {"local-cache.dir": str(tmp_path / "cache")})


def keyed_by_id(lake: TestLake, **options: str) -> Table:
    return lake.create(schema=KEYED, partition_keys=("dt",), bucket="-1", **options)


@pytest.mark.spark
@pytest.mark.parametrize("engine", ["deduplicate", "partial-update"])
def test_spark_writes_the_rows_of_a_single_process(moving_lake: TestLake, warehouse: Warehouse, engine: str) -> None:
    chance = random.Random(engine)
    options = {"merge-engine": engine, "dynamic-bucket.target-row-num": "3"}
    table = keyed_by_id(moving_lake, **options)
    alone = moving(warehouse, **options)
    for turn, parallelism in enumerate((3, 1, 2)):
        data = some_rows(chance, engine, turn, 24)
        # Rows of one key come from several tasks of the frame; the later one stands all the same.
        frame = moving_lake.frame([tuple(row.values()) for row in data.to_pylist()], f"{COLUMNS}, _row_kind string")
        moving_lake.lake.write(frame, "s.t", parallelism=parallelism)
        alone.append(data)
        assert moving_lake.rows_alone() == rows_of(alone)
        assert index_content(table) == places_of(table)


@pytest.mark.spark
def test_rows_go_to_assigners_and_then_to_writers(moving_lake: TestLake) -> None:
    table = keyed_by_id(moving_lake, **{"dynamic-bucket.assigner-parallelism": "3"})
    frame = moving_lake.frame([(i, "ab"[i % 2], i) for i in range(60)], COLUMNS)
    *_, stages = jobs_of(moving_lake.spark, lambda: moving_lake.lake.write(frame, "s.t", parallelism=4))
    assert stages[-2:] == [3, 4]
    assert shards_content(table, 3) == places_of(table)
    # A small frame is not worth it.
    small = moving_lake.spark.range(5).selectExpr("id", "'c' AS dt", "1 AS v")
    assert [tasks[-1] for tasks in jobs_of(moving_lake.spark, lambda: moving_lake.lake.write(small, "s.t"))] == [1]
    files = moving_lake.files()
    with pytest.raises(UnsupportedFeature, match="replace the whole table"):
        moving_lake.write([(1, "a", 1)], COLUMNS, mode="overwrite", parallelism=2)
    with pytest.raises(InvalidData):
        moving_lake.write([(None, "a", 1)], COLUMNS, parallelism=2)
    assert moving_lake.files() == files
    assert len(moving_lake.rows_alone()) == 60

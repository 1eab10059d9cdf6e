from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

from table_format.errors import HashIndexChanged, InvalidData
from table_format.spark.tasks.task_results import gather
from table_format.spark.write.assigner_runs import repeated_assigners
from table_format.spark.write.dynamic import (
    BUCKET,
    bucket_chooser,
    find_repeated_assigner,
    find_shared_bucket,
    placed_writer,
)
from table_format.table.placement.assigners import GivenBuckets
from table_format.table.table import Table
from tests.support.tables import memory_warehouse

SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.string())])
OPTIONS = {"bucket": "-1", "dynamic-bucket.target-row-num": "4"}
ROWS = pa.record_batch([pa.array(range(8), pa.int64()), pa.array(["x"] * 8)], schema=SCHEMA)


def _a_run(table: Table) -> Any:
    """The column of buckets that one run of an assigner gives the rows."""
    fields = table.schema.select(("id",))
    keys = pa.StructArray.from_arrays([pa.nulls(ROWS.num_rows, pa.int32()), ROWS.column("id")], names=["writer", "id"])
    choose = bucket_chooser(table.facts, fields, None, replacing=False, assigners=1)
    [found] = choose(iter([keys]))
    return found


def _buckets(placed: Any) -> Any:
    return placed.field("chosen").to_numpy() & 0xFFFF


def _answer(table: Table, placed: Any, rows: list[int]) -> Any:
    batch = ROWS.append_column(BUCKET, placed).take(pa.array(rows, pa.int64()))
    given = GivenBuckets(BUCKET, None)
    write = placed_writer(table.facts, batch.schema.names, given, replacing=False, commit_user=None)
    [found] = write(iter([batch]))
    return SimpleNamespace(**found.to_pylist()[0])


def test_rows_of_one_run_of_an_assigner_are_written_to_its_buckets() -> None:
    table = memory_warehouse().table("t", SCHEMA, primary_keys=["id"], options=OPTIONS)
    placed = _a_run(table)
    buckets = _buckets(placed)
    assert np.bincount(buckets).tolist() == [4, 4]
    answers = [_answer(table, placed, np.flatnonzero(buckets == bucket).tolist()) for bucket in (0, 1)]
    assert repeated_assigners(answers) == ()
    assert find_repeated_assigner(table.facts, answers) is None
    table.new_commit().commit(gather(answers).messages)
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == list(range(8))
    assert {m.bucket: len(m.new_index_files) for m in gather(answers).messages} == {0: 1, 1: 1}


def test_writers_of_two_runs_of_an_assigner_are_refused() -> None:
    table = memory_warehouse().table("t", SCHEMA, primary_keys=["id"], options=OPTIONS)
    answers = [_answer(table, _a_run(table), rows) for rows in ([0, 1, 2, 3], [4, 5, 6, 7])]
    assert repeated_assigners(answers) == ("0",)
    failure = find_repeated_assigner(table.facts, answers)
    assert isinstance(failure, HashIndexChanged)
    assert "assigner 0 twice" in str(failure)


def test_runs_of_two_assigners_are_accepted() -> None:
    answers = [SimpleNamespace(runs=["0:a", "10:b"]), SimpleNamespace(runs=["0:a", "2:a"]), SimpleNamespace(runs=[])]
    assert repeated_assigners(answers) == ()
    assert repeated_assigners([*answers, SimpleNamespace(runs=["10:c", "2:b"])]) == ("2", "10")


def _told(table: Table) -> Any:
    """A row without values that tells a writer of a run, as it arrives there."""
    writers, keys = pa.array([1], pa.int32()), pa.nulls(1, pa.int64())
    choose = bucket_chooser(table.facts, table.schema.select(("id",)), None, replacing=False, assigners=1)
    [found] = choose(iter([pa.StructArray.from_arrays([writers, keys], names=["writer", "id"])]))
    return pa.record_batch([keys, pa.nulls(1, pa.string()), found], names=["id", "v", BUCKET])


def test_a_writer_without_rows_reports_the_run_and_writes_nothing() -> None:
    table = memory_warehouse().table("t", SCHEMA, primary_keys=["id"], options=OPTIONS)
    write = placed_writer(
        table.facts, ["id", "v", BUCKET], GivenBuckets(BUCKET, None), replacing=False, commit_user=None
    )
    [found] = write(iter([_told(table)]))
    answer = SimpleNamespace(**found.to_pylist()[0])
    assert (len(answer.runs), gather([answer]).messages) == (1, ())
    placed = _a_run(table)
    assert find_repeated_assigner(table.facts, [answer, _answer(table, placed, list(range(8)))]) is not None


def test_the_writer_raises_the_error_of_an_assigner() -> None:
    table = memory_warehouse().table("t", SCHEMA, primary_keys=["id"], options=OPTIONS)
    keys = pa.StructArray.from_arrays([pa.nulls(2, pa.int32()), pa.array(["1", "x"])], names=["writer", "id"])
    choose = bucket_chooser(table.facts, table.schema.select(("id",)), None, replacing=False, assigners=1)
    [found] = choose(iter([keys]))
    answer = _answer(table, pa.concat_arrays([found] * 4), list(range(8)))
    assert isinstance(gather([answer]).failure, InvalidData)


def test_rows_of_one_bucket_in_two_tasks_are_refused() -> None:
    table = memory_warehouse().table("t", SCHEMA, primary_keys=["id"], options=OPTIONS)
    placed = _a_run(table)
    one, other = (gather([_answer(table, placed, rows)]).messages for rows in ([0, 1], [2, 3]))
    assert find_shared_bucket(table.facts, one) is None
    failure = find_shared_bucket(table.facts, (*one, *other))
    assert isinstance(failure, HashIndexChanged)
    assert str(failure) == "db.t: the table, bucket 0 was written by two tasks; write the rows again"

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

from table_format.errors import HashIndexChanged
from table_format.spark.answers import gather
from table_format.spark.dynamic_buckets import BUCKET, bucket_chooser, chosen_twice, placed_writer
from table_format.spark.runs import ran_twice
from table_format.table.table import Table
from table_format.table.write import GivenBuckets
from tests.support.tables import memory_warehouse

SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.string())])
OPTIONS = {"bucket": "-1", "dynamic-bucket.target-row-num": "4"}
ROWS = pa.record_batch([pa.array(range(8), pa.int64()), pa.array(["x"] * 8)], schema=SCHEMA)


def _a_run(table: Table) -> Any:
    """The column of buckets that one run of an assigner gives the rows."""
    fields = table.schema.select(("id",))
    keys = pa.StructArray.from_arrays([ROWS.column("id")], names=["id"])
    choose = bucket_chooser(table.facts, fields, None, replacing=False, assigners=1)
    [found] = choose(iter([keys]))
    return found


def _answer(table: Table, placed: Any, rows: list[int]) -> Any:
    batch = ROWS.append_column(BUCKET, placed).take(pa.array(rows, pa.int64()))
    given = GivenBuckets(BUCKET, None)
    write = placed_writer(table.facts, batch.schema.names, given, replacing=False, commit_user=None)
    [found] = write(iter([batch]))
    return SimpleNamespace(**found.to_pylist()[0])


def test_writers_of_one_run_of_an_assigner_give_its_buckets() -> None:
    table = memory_warehouse().table("t", SCHEMA, primary_keys=["id"], options=OPTIONS)
    placed = _a_run(table)
    buckets = placed.to_numpy() & 0xFFFF
    assert np.bincount(buckets).tolist() == [4, 4]
    answers = [_answer(table, placed, np.flatnonzero(buckets == bucket).tolist()) for bucket in (0, 1)]
    assert ran_twice(answers) == ()
    assert chosen_twice(table.facts, answers) is None
    table.new_commit().commit(gather(answers).messages)
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == list(range(8))
    assert {m.bucket: len(m.new_index_files) for m in gather(answers).messages} == {0: 1, 1: 1}


def test_writers_of_two_runs_of_an_assigner_are_refused() -> None:
    table = memory_warehouse().table("t", SCHEMA, primary_keys=["id"], options=OPTIONS)
    answers = [_answer(table, _a_run(table), rows) for rows in ([0, 1, 2, 3], [4, 5, 6, 7])]
    assert ran_twice(answers) == ("0",)
    failure = chosen_twice(table.facts, answers)
    assert isinstance(failure, HashIndexChanged)
    assert "assigner 0 twice" in str(failure)


def test_runs_of_two_assigners_are_no_two_runs_of_one() -> None:
    answers = [SimpleNamespace(runs=["0:a", "10:b"]), SimpleNamespace(runs=["0:a", "2:a"]), SimpleNamespace(runs=[])]
    assert ran_twice(answers) == ()
    assert ran_twice([*answers, SimpleNamespace(runs=["10:c", "2:b"])]) == ("2", "10")

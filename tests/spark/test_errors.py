"""Rows that a table cannot hold: the error is ours, it names the column, and nothing of the write is left."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from table_format import errors
from table_format.errors import InvalidData, MissingFile, TableFormatError, Truncated
from table_format.spark.tasks.task_results import decode_error, encode_error
from tests.spark.lakes import TestLake, jobs_of

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([pa.field("id", pa.int32(), nullable=False), ("v", pa.string()), ("ts", pa.timestamp("ms"))])


@pytest.mark.parametrize(
    ("rows", "ddl", "message"),
    [
        ([(1, "a")], "id int, v string", "missing: ts"),
        ([(1, "a", None, 1)], "id int, v string, ts timestamp_ntz, x int", "not in the table: x"),
        ([(1, 2, None)], "id int, v int, ts timestamp_ntz", "column 'v' is STRING.*cannot hold INT;"),
        ([(1, "a", None)], "id int, v string, ts timestamp", "column 'ts' is TIMESTAMP"),
        ([(1, "a", dt.timedelta(1))], "id int, v string, ts interval day to second", "column 'ts'"),
        ([(1, "a", None, 1)], "id int, v string, ts timestamp_ntz, _row_kind int", "row kinds as text"),
    ],
)
def test_a_frame_that_does_not_fit_is_refused_before_any_task_runs(
    lake: TestLake, rows: list[Any], ddl: str, message: str
) -> None:
    lake.create(schema=SCHEMA)
    frame = lake.frame(rows, ddl)

    def write() -> None:
        with pytest.raises(InvalidData, match=message):
            lake.lake.write(frame, "s.t")

    assert jobs_of(lake.spark, write) == []
    assert lake.files() == []


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ((None, "a", None), "column 'id' is INT NOT NULL; found 1 null"),
        ((2**40, "a", None), "column 'id' is INT NOT NULL, which cannot hold 1099511627776"),
        ((7, "a", dt.datetime(2026, 1, 1, 0, 0, 0, 1)), "column 'ts' is TIMESTAMP\\(3\\), which cannot hold"),
    ],
)
def test_a_value_that_does_not_fit_stops_the_write_and_all_files_of_it_are_deleted(
    lake: TestLake, bad: tuple[Any, ...], message: str
) -> None:
    lake.create(schema=SCHEMA)
    with pytest.raises(InvalidData, match=message):
        lake.write([*((i, "a", None) for i in range(100)), bad], "id long, v string, ts timestamp_ntz")
    assert lake.files() == []
    assert lake.table().snapshots() == ()


def test_an_unknown_row_kind_is_named(lake: TestLake) -> None:
    lake.create()
    with pytest.raises(InvalidData, match=r"_row_kind.*'insert'"):
        lake.write([(1, "a", "insert")], "id long, v string, _row_kind string")


def test_a_file_that_is_missing_stops_compaction_and_what_other_tasks_made_is_deleted(lake: TestLake) -> None:
    table = lake.create(bucket="2")
    lake.append([(i, "a") for i in range(50)])
    lake.append([(i, "b") for i in range(50)])
    victim = table.scan().plan()[0]
    path = table.store.paths.data_file("", victim.bucket, victim.files[0])
    table.store.io.delete(path)
    before = lake.files()
    with pytest.raises(MissingFile) as caught:
        lake.lake.compact("s.t", full=True)
    assert caught.value.path == path
    assert lake.files() == before
    assert len(lake.table().snapshots()) == 2


def test_every_error_travels_as_what_it_is() -> None:
    made = [Truncated("/f", expected_bytes=3, found_bytes=1), errors.InvalidOption("k", "bad"), InvalidData("no")]
    made.append(errors.BucketLost(b"\x00\x01", 3, "gone"))
    for error in made:
        found = decode_error(encode_error(error))
        assert type(found) is type(error)
        assert str(found) == str(error)
        assert vars(found) == vars(error)
    assert type(decode_error('{"kind": "Vanished", "message": "m", "carried": {}}')) is TableFormatError

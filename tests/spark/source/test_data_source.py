"""``spark.read.format("paimon")`` and ``df.write.format("paimon")``."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import datasource as ds

from table_format.model.predicate import Compare, CompareOp, In, IsNull, Not
from table_format.spark.source.data_source import PaimonWriter
from table_format.spark.source.pushed_filters import predicate_of
from tests.spark.lakes import DATED, TestLake, rows_of

pytestmark = pytest.mark.spark

DDL = "dt string, id long, v string"


def _path(lake: TestLake, name: str = "t") -> str:
    return lake.table(name).store.paths.root


def test_frames_are_appended_overwritten_and_read_by_path(lake: TestLake) -> None:
    lake.create(schema=DATED, primary_keys=("dt", "id"), partition_keys=("dt",))
    path = _path(lake)
    lake.frame([("a", i, "x") for i in range(5)], DDL).write.format("paimon").mode("append").save(path)
    # Columns are matched by name; row kinds are understood.
    changes = lake.frame([("-D", "y", 1, "a"), ("+I", "y", 2, "a")], "_row_kind string, v string, id long, dt string")
    changes.write.format("paimon").mode("append").save(path)
    read = lake.spark.read.format("paimon")
    assert rows_of(read.load(path)) == [("a", 0, "x"), ("a", 2, "y"), ("a", 3, "x"), ("a", 4, "x")]
    assert rows_of(read.load(path).where("id > 2 and v like 'x%'").select("id")) == [(3,), (4,)]
    by_name = read.options(table="s.t", warehouse=str(lake.warehouse)).option("scan.snapshot-id", "1").load()
    assert by_name.count() == 5
    lake.frame([("b", 9, "z")], DDL).write.format("paimon").mode("overwrite").save(path)
    assert len(lake.rows()) == 5
    assert read.schema("id long").load(path).columns == ["id"]


def test_every_type_comes_out_as_spark_wants_it(lake: TestLake) -> None:
    from tests.spark.test_types import SCHEMA, _table

    table = lake.create("all", SCHEMA, primary_keys=("k",), bucket="1")
    table.append(_table())
    frame = lake.spark.read.format("paimon").load(_path(lake, "all"))
    assert rows_of(frame) == rows_of(lake.lake.table("s.all"))
    table = lake.create("more", SCHEMA, primary_keys=("k",), bucket="1")
    frame.write.format("paimon").mode("append").save(_path(lake, "more"))
    assert lake.table("more").scan().to_arrow().equals(_table())
    assert lake.spark.read.format("paimon").load(_path(lake, "more")).where("k < 0").collect() == []


def test_a_failing_write_leaves_nothing(lake: TestLake) -> None:
    lake.create(schema=pa.schema([*DATED]), primary_keys=("dt", "id"), partition_keys=("dt",))
    path = _path(lake)
    with pytest.raises(AnalysisException, match="missing: dt"):
        lake.frame([(1, "x")], "id long, v string").write.format("paimon").mode("append").save(path)
    rows = lake.frame([("a", 1, "x"), ("a", 2, "x"), (None, 3, "x")], DDL).repartition(2)
    with pytest.raises(PySparkException, match="column 'dt' is STRING NOT NULL"):
        rows.write.format("paimon").mode("append").save(path)
    assert lake.files() == []
    with pytest.raises(AnalysisException, match="is not the directory of a table"):
        lake.spark.read.format("paimon").load("nowhere").schema  # noqa: B018


def test_keys_that_may_change_their_partition_are_not_written_without_a_shuffle(lake: TestLake) -> None:
    lake.create(schema=DATED, partition_keys=("dt",), bucket="-1")
    with pytest.raises(AnalysisException, match=r"write with Lake\.write"):
        lake.frame([("a", 1, "x")], DDL).write.format("paimon").mode("append").save(_path(lake))
    assert lake.files() == []


def test_an_abort_after_the_commit_deletes_nothing(lake: TestLake) -> None:
    lake.create(schema=DATED, primary_keys=("dt", "id"), partition_keys=("dt",))
    batch = pa.RecordBatch.from_pylist([{"dt": "a", "id": 1, "v": "x"}], DATED)
    for kept in (True, False):
        writer = PaimonWriter(lake.table(), overwrite=False)
        message: Any = writer.write(iter([batch]))
        if kept:
            writer.commit([message, None])
            writer.commit([message])
        writer.abort([message, None])
    assert len(lake.files()) == 1
    assert lake.rows() == [("a", 1, "x")]


@pytest.mark.parametrize(
    ("pushed", "expected"),
    [
        (ds.EqualTo(("id",), 1), Compare("id", CompareOp.EQ, 1)),
        (ds.GreaterThan(("id",), 1), Compare("id", CompareOp.GT, 1)),
        (ds.In(("id",), (1, 2)), In("id", (1, 2))),
        (ds.In(("id",), (1, None)), In("id", (1,))),
        (ds.Not(ds.IsNull(("v",))), Not(IsNull("v"))),
        (ds.IsNotNull(("v",)), Not(IsNull("v"))),
        (ds.StringStartsWith(("v",), "a"), Compare("v", CompareOp.STARTS_WITH, "a")),
        (ds.EqualTo(("id",), "text"), None),
        (ds.Not(ds.EqualTo(("nothing",), 1)), None),
        (ds.EqualTo(("v", "part"), 1), None),
    ],
)
def test_pushed_filters_become_predicates_or_stay_with_spark(lake: TestLake, pushed: Any, expected: Any) -> None:
    fields = lake.create(schema=DATED, primary_keys=("dt", "id")).schema.fields
    assert predicate_of(pushed, fields) == expected

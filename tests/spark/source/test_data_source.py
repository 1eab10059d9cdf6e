"""``spark.read.format("paimon")`` and ``df.write.format("paimon")``."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PySparkException

from table_format.model.schema_change import AddColumn, AlterColumnType, DropColumn, RenameColumn, SchemaChange
from table_format.model.types import BigIntType, VarCharType
from table_format.spark.source.writer import PaimonWriter
from tests.spark.lakes import DATED, TestLake, rows_of
from tests.spark.read.test_conditions import DATED as DATES
from tests.spark.read.test_conditions import DAYS, dated_rows, ids_by_condition
from tests.support.matrix import MATRIX

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
    other = lake.frame([("b", 9, "z")], DDL).write.format("paimon").mode("overwrite")
    other.option("dynamic-partition-overwrite", "true").save(path)
    assert len(lake.rows()) == 5
    lake.frame([("c", 9, "z")], DDL).write.format("paimon").mode("overwrite").save(path)
    assert lake.rows() == [("c", 9, "z")]
    assert read.schema("id long").load(path).columns == ["id"]


def test_small_splits_are_read_by_few_tasks(lake: TestLake) -> None:
    lake.create(schema=DATED, primary_keys=("dt", "id"), partition_keys=("dt",))
    days = 30
    lake.table().append(
        pa.table({"dt": [f"d{i}" for i in range(days)], "id": range(days), "v": ["x"] * days}, schema=DATED)
    )
    frame = lake.spark.read.format("paimon").load(_path(lake))
    assert frame.rdd.getNumPartitions() <= lake.spark.sparkContext.defaultParallelism
    assert rows_of(frame) == lake.rows_alone()


CHANGES: dict[str, tuple[SchemaChange, ...]] = {
    "added": (AddColumn("c", VarCharType()),),
    "renamed": (RenameColumn("v", "w"),),
    "widened": (AlterColumnType("n", BigIntType()),),
    "dropped": (DropColumn("v"),),
    "replaced": (DropColumn("v"), AddColumn("v", BigIntType())),
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_earlier_snapshot_has_its_earlier_columns(lake: TestLake, change: str) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string()), ("n", pa.int32())])
    table = lake.create("t", schema, bucket="1")
    table.append(pa.table({"id": [1, 2], "v": ["a", "b"], "n": [3, 4]}, schema=schema))
    table.create_tag("old")
    lake.lake.catalog.alter_table("s.t", CHANGES[change])
    lake.table().append(pa.Table.from_pylist([{"id": 2}], schema=lake.table().arrow_schema))
    # A tag leads to a snapshot, whatever has changed since.
    by_tag = [{"scan.tag-name": "old"}] if MATRIX or change == "replaced" else []
    for options in ({"scan.snapshot-id": "1"}, *by_tag, {}):
        frame = lake.spark.read.format("paimon").options(**options).load(_path(lake))
        assert frame.columns == lake.lake.table("s.t", **options).columns
        conditions = ["id = 1 AND n = 3", "v = 'a'"][: 2 if "v" in frame.columns and change != "replaced" else 1]
        for condition in (None, *conditions):
            found = frame if condition is None else frame.where(condition)
            assert rows_of(found) == lake.rows_alone(filter=condition, **options)


def test_dates_and_timestamps_before_the_gregorian_calendar_do_not_prune_files(lake: TestLake) -> None:
    table = lake.create("d", DATES, primary_keys=(), partition_keys=("d",), bucket="-1")
    table.append(dated_rows())
    frame = lake.spark.read.format("paimon").load(_path(lake, "d"))
    conditions = [
        f"{column} {op} {literal} '{day}{'' if column == 'd' else ' 12:00:00'}'"
        for day in DAYS
        for column, literal in (("d", "DATE"), ("ts", "TIMESTAMP_NTZ"), ("tz", "TIMESTAMP"))
        for op in ("=", "<")
    ]
    found = ids_by_condition({c: frame.where(c) for c in conditions})
    for n, day in enumerate(DAYS):
        before = [number for number, other in enumerate(DAYS) if other < day]
        for column, literal in (("d", "DATE"), ("ts", "TIMESTAMP_NTZ"), ("tz", "TIMESTAMP")):
            text = f"{literal} '{day}{'' if column == 'd' else ' 12:00:00'}'"
            assert (found[f"{column} = {text}"], found[f"{column} < {text}"]) == ([n], before)


def test_every_type_is_returned_with_its_spark_type(lake: TestLake) -> None:
    from tests.spark.test_types import SCHEMA, _table

    table = lake.create("all", SCHEMA, primary_keys=("k",), bucket="1")
    table.append(_table())
    frame = lake.spark.read.format("paimon").load(_path(lake, "all"))
    assert rows_of(frame) == rows_of(lake.lake.table("s.all"))
    table = lake.create("more", SCHEMA, primary_keys=("k",), bucket="1")
    frame.write.format("paimon").mode("append").save(_path(lake, "more"))
    assert lake.table("more").scan().to_arrow().equals(_table())
    assert lake.spark.read.format("paimon").load(_path(lake, "more")).where("k < 0").collect() == []


def test_a_failed_write_leaves_nothing(lake: TestLake) -> None:
    lake.create(schema=pa.schema([*DATED]), primary_keys=("dt", "id"), partition_keys=("dt",))
    path = _path(lake)
    with pytest.raises(AnalysisException, match="missing: dt"):
        lake.frame([(1, "x")], "id long, v string").write.format("paimon").mode("append").save(path)
    rows = lake.frame([("a", 1, "x"), ("a", 2, "x"), (None, 3, "x")], DDL).repartition(2)
    with pytest.raises(PySparkException, match="column 'dt' is STRING NOT NULL"):
        rows.write.format("paimon").mode("append").save(path)
    assert lake.files() == []


def test_the_error_of_a_wrong_path_has_one_line_of_a_traceback(lake: TestLake) -> None:
    with pytest.raises(
        AnalysisException, match="InvalidInputError: 'nowhere' is not the directory of a table"
    ) as found:
        lake.spark.read.format("paimon").load("nowhere").schema  # noqa: B018
    assert str(found.value).count("  File ") == 1


def test_cross_partition_tables_are_refused(lake: TestLake) -> None:
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


def test_several_conditions_on_one_frame_are_independent(lake: TestLake) -> None:
    """Spark keeps one reader for all uses of a frame: no file may be left out for one of them."""
    lake.create(schema=DATED, primary_keys=("dt", "id"), partition_keys=("dt",))
    lake.write([(day, 1, "x") for day in "abc"], DDL)
    frame = lake.spark.read.format("paimon").load(_path(lake))
    parts = [frame.where(f"dt = '{day}'").select("dt") for day in "abc"]
    assert rows_of(parts[0].union(parts[1]).union(parts[2])) == [("a",), ("b",), ("c",)]
    assert [rows_of(part) for part in parts] == [[("a",)], [("b",)], [("c",)]]
    assert frame.count() == 3

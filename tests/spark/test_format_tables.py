"""Format tables of a Hive metastore on Spark, with DuckDB and on the command line, and their files in plain Spark."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from table_format import FormatTable, Schema
from table_format.cli.program import lakehouse
from table_format.duckdb_sql import query
from table_format.errors import InvalidData, UnsupportedFeature
from table_format.spark import Lake, paimon
from tests.support.code_blocks import code_blocks
from tests.support.hive_metastore import HiveMetastore, empty, running_metastore

pytestmark = pytest.mark.spark

COLUMNS = pa.schema(
    {
        "a": pa.int32(),
        "b": pa.string(),
        "price": pa.decimal128(10, 2),
        "ratio": pa.float64(),
        "ok": pa.bool_(),
        "day": pa.date32(),
        "raw": pa.binary(),
        "dt": pa.string(),
    }
)
AT = pa.field("at", pa.timestamp("ms"))
ROWS = [
    (1, 'it\'s, "q" \\', Decimal("-12.50"), 0.1, True, date(2026, 1, 2), b"\x00\xff", "p"),
    (2, " ", Decimal("0.00"), -1e300, False, date(1969, 12, 31), b"x", "a/b"),
    (*[None] * 7, None),
]
FORMATS = pytest.mark.parametrize("file_format", ["csv", "json", "parquet", "orc"])
_NUMBERS = count()


@pytest.fixture(scope="module")
def metastore() -> Iterator[HiveMetastore]:
    with running_metastore() as running:
        yield running


@pytest.fixture
def lake(spark: Any, metastore: HiveMetastore, tmp_path: Path) -> Iterator[Lake]:
    """A lake with the empty database ``db``."""
    found = paimon(spark, {**metastore.options, "warehouse": f"{tmp_path}/w"})
    found.sql("CREATE DATABASE db")
    yield found
    empty(metastore)


def made(lake: Lake, file_format: str, columns: pa.Schema = COLUMNS, **options: str) -> FormatTable:
    given = {"type": "format-table", "file.format": file_format, **options}
    lake.catalog.create_table("db.t", Schema.from_arrow(columns, partition_keys=["dt"], options=given))
    found = lake.catalog.load_any("db.t")
    assert isinstance(found, FormatTable)
    return found


def table(rows: list[tuple[Any, ...]], columns: pa.Schema = COLUMNS) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(columns.names, row, strict=True)) for row in rows], columns)


def rows(lake: Lake, text: str) -> list[tuple[Any, ...]]:
    found = (tuple(bytes(v) if isinstance(v, bytearray) else v for v in row) for row in lake.sql(text).collect())
    return sorted(found, key=repr)


@FORMATS
def test_spark_reads_what_we_write_and_we_read_what_it_writes(lake: Lake, file_format: str) -> None:
    found = made(lake, file_format)
    found.append(table(ROWS))
    assert rows(lake, "SELECT * FROM db.t") == sorted(ROWS, key=repr)
    lake.sql("INSERT INTO db.t SELECT * FROM db.t WHERE dt = 'p' OR a IS NULL")
    expected = sorted([*ROWS, ROWS[0], ROWS[2]], key=repr)
    assert sorted((tuple(row.values()) for row in found.scan().to_arrow().to_pylist()), key=repr) == expected
    lake.sql("INSERT OVERWRITE db.t PARTITION (dt = 'p') SELECT 9, 'x', 1, 2, true, DATE'2026-01-01', X'00'")
    one = (9, "x", Decimal("1.00"), 2.0, True, date(2026, 1, 1), b"\x00", "p")
    assert rows(lake, "SELECT * FROM db.t WHERE dt = 'p'") == [one]
    assert [row.a for row in lake.table("db.t", columns=["a"], filter="dt = 'p' AND a > 1").collect()] == [9]
    lake.sql("INSERT OVERWRITE db.t SELECT 1, 'y', 1, 2, true, DATE'2026-01-01', X'00', 'q'")
    assert rows(lake, "SELECT a, b, dt FROM db.t") == [(1, "y", "q")]


@FORMATS
def test_local_times_have_the_milliseconds_that_were_written(lake: Lake, file_format: str) -> None:
    columns = pa.schema([AT, pa.field("dt", pa.int32())])
    made(lake, file_format, columns)
    times = [datetime(2026, 1, 2, 3, 4, 5, 678000), datetime(1999, 12, 31)]
    lake.sql("INSERT INTO db.t VALUES (TIMESTAMP_NTZ'2026-01-02 03:04:05.678', 1), (TIMESTAMP_NTZ'1999-12-31', NULL)")
    assert rows(lake, "SELECT at, dt FROM db.t ORDER BY at") == sorted(zip(times, [1, None], strict=True), key=repr)
    with pytest.raises(InvalidData, match="cannot hold"):
        lake.sql("INSERT INTO db.t VALUES (TIMESTAMP_NTZ'2026-01-02 03:04:05.678901', 1)")


def test_spark_reads_only_the_columns_and_partitions_that_a_query_needs(lake: Lake) -> None:
    made(lake, "parquet").append(table(ROWS))
    plan = lake.table("db.t").where("dt = 'p'").select("a")._jdf.queryExecution().executedPlan().toString()
    assert re.search(r"PartitionFilters: \[isnotnull\(dt#\d+\), \(dt#\d+ = p\)\]", plan)
    assert "ReadSchema: struct<a:int>" in plan


def test_a_csv_table_of_sql_is_one_directory_of_files_that_plain_spark_reads(lake: Lake, spark: Any) -> None:
    page = (Path(__file__).parents[2] / "docs" / "format-tables.md").read_text()
    (script,) = code_blocks(page, "sql")
    lake.sql("CREATE DATABASE shop")
    *_, shown = lake.run_script(script)
    expected = [(1, "x"), (2, 'it\'s "y"')]
    assert sorted(map(tuple, shown.collect())) == expected
    location = lake.catalog.load_table("shop.my_csv_table").location
    plain = spark.read.schema("a INT, b STRING").option("escape", "\\").csv(location)
    assert sorted(map(tuple, plain.collect())) == expected


def test_a_table_without_files_is_empty_and_a_partition_added_by_hand_is_there(lake: Lake) -> None:
    found = made(lake, "csv", pa.schema([("b", pa.string()), ("dt", pa.int32())]))
    assert rows(lake, "SELECT * FROM db.t") == []
    directory = Path(found.location, "dt=1")
    directory.mkdir(parents=True)
    Path(directory, "x.csv").write_text('"v"\n""\n')
    assert rows(lake, "SELECT * FROM db.t WHERE dt = 1") == [("v", 1), (None, 1)]


def test_statements_show_a_format_table_and_create_and_drop_it(lake: Lake) -> None:
    lake.sql(
        "CREATE TABLE db.t (a INT COMMENT 'number', dt STRING) PARTITIONED BY (dt) COMMENT 'plain' "
        "TBLPROPERTIES ('type' = 'format-table', 'file.format' = 'orc')"
    )
    lake.sql("INSERT INTO db.t VALUES (1, 'p')")
    assert rows(lake, "SHOW TABLES IN db") == [("db", "t", False)]
    assert rows(lake, "SHOW PARTITIONS db.t") == [("dt=p",)]
    assert ("a", "int", "number") in rows(lake, "DESCRIBE db.t")
    extended = rows(lake, "DESCRIBE EXTENDED db.t")
    assert {("Type", "FORMAT", ""), ("Provider", "orc", ""), ("Comment", "plain", "")} <= set(extended)
    assert ("file.format", "orc") in rows(lake, "SHOW TBLPROPERTIES db.t")
    ((text,),) = rows(lake, "SHOW CREATE TABLE db.t")
    lake.sql("DROP TABLE db.t")
    lake.sql(text.replace("TIMESTAMP(3)", "TIMESTAMP_NTZ"))
    assert rows(lake, "SHOW CREATE TABLE db.t") == [(text,)]
    lake.sql("CREATE TABLE db.u TBLPROPERTIES ('type' = 'format-table') AS SELECT 1 AS a")
    assert rows(lake, "SELECT * FROM db.u") == [(1,)]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM db.t WHERE a = 1",
        "UPDATE db.t SET a = 1",
        "MERGE INTO db.t t USING db.t s ON t.a = s.a WHEN MATCHED THEN DELETE",
        "TRUNCATE TABLE db.t",
        "ALTER TABLE db.t ADD COLUMN z INT",
        "ALTER TABLE db.t RENAME TO db.u",
        "ANALYZE TABLE db.t COMPUTE STATISTICS",
        "CALL sys.compact(`table` => 'db.t')",
        "SELECT * FROM db.t VERSION AS OF 1",
        "SELECT * FROM db.`t$files`",
        "INSERT INTO db.t REPLACE WHERE a = 1 SELECT * FROM db.t",
        "CREATE OR REPLACE TABLE db.t (a INT)",
    ],
)
def test_a_statement_that_needs_snapshots_is_refused_with_what_a_format_table_is(lake: Lake, statement: str) -> None:
    made(lake, "csv", pa.schema([("a", pa.int32()), ("dt", pa.string())]))
    with pytest.raises(UnsupportedFeature, match=r"'db\.t' is a format table.*a directory of plain files without"):
        lake.sql(statement)


def test_calls_that_need_snapshots_are_refused(lake: Lake, spark: Any) -> None:
    found = made(lake, "csv", pa.schema([("a", pa.int32()), ("dt", pa.string())]))
    frame = spark.createDataFrame([(1, "p")], "a INT, dt STRING")
    for call in (
        lambda: lake.count("db.t"),
        lambda: lake.read_stream("db.t"),
        lambda: lake.write(frame, "db.t", commit_user="u", identifier=1),
        lambda: lake.write(frame, "db.t", "overwrite", where="dt = 'p'"),
        lambda: lake.table("db.t", order_by="a", limit=1),
        lambda: lake.verify("db.t"),
    ):
        with pytest.raises(UnsupportedFeature, match=r"'db\.t' is a format table"):
            call()
    with pytest.raises(InvalidData, match="missing: dt"):
        lake.write(frame.drop("dt"), "db.t")
    assert found.list_partitions() == ()


def test_duckdb_queries_a_format_table(lake: Lake) -> None:
    made(lake, "csv").append(table(ROWS))
    found = query(lake.catalog, "SELECT dt, sum(a) FROM db.t WHERE a > 0 GROUP BY dt ORDER BY dt").fetchall()
    assert found == [("a/b", 2), ("p", 1)]


def test_the_command_line_shows_loads_and_drops_a_format_table(
    lake: Lake, metastore: HiveMetastore, tmp_path: Path
) -> None:
    found = made(lake, "csv", pa.schema([("a", pa.int32()), ("b", pa.string()), ("dt", pa.string())]))
    config = tmp_path / "lakehouse.toml"
    config.write_text(f'metastore = "hive"\nuri = "{metastore.uri}"\nwarehouse = "{tmp_path}/w"\n')
    source = tmp_path / "rows.csv"
    source.write_text("a,b,dt\n1,x,p\n2,,q\n")

    def run(*arguments: str, code: int = 0) -> str:
        result = CliRunner().invoke(lakehouse, ["--config", str(config), *arguments])
        assert result.exit_code == code, result.output
        return result.output

    assert "Loaded 2 rows into db.t: 2 new files." in run("load", "db.t", str(source))
    shown = run("scan", "db.t", "--filter", "dt = 'p'", "--format", "jsonl")
    assert json.loads(shown) == {"a": 1, "b": "x", "dt": "p"}
    assert run("count", "db.t").strip() == "2"
    assert "db.t" in run("tables")
    described = json.loads(run("describe", "db.t", "--json"))
    assert (described["location"], described["partition_by"]) == (found.location, ["dt"])
    assert "csv" in run("describe", "db.t")
    assert "is a format table, a directory of plain files" in run("compact", "db.t", code=1)
    assert "Table db.t was dropped." in run("drop", "db.t", "--yes")
    assert not Path(found.location).exists()

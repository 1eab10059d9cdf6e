"""Queries of tables by SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException

from table_format.errors import (
    InvalidInputError,
    InvalidOption,
    InvalidSql,
    SnapshotNotFound,
    TableNotFound,
    UnsupportedFeature,
)
from tests.spark.lakes import TestLake, a_lake, plan_of

pytestmark = pytest.mark.spark


def filled(lake: TestLake) -> TestLake:
    """Create ``t`` with three snapshots and ``u`` without a key, both in the current database."""
    lake.lake.sql(
        "USE s; CREATE TABLE t (k INT NOT NULL, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2');"
        "INSERT INTO t VALUES (1, 'a'), (2, 'b'); INSERT INTO t VALUES (2, 'c'), (3, '{d}');"
        "INSERT INTO t VALUES (4, 'e');"
        "CREATE TABLE u (k INT, dt STRING) PARTITIONED BY (dt); INSERT INTO u VALUES (1, 'x'), (2, 'y'), (9, 'y')"
    )
    return lake


@pytest.fixture(scope="module")
def shop(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> TestLake:
    """The two tables, which tests only read."""
    return filled(a_lake(spark, tmp_path_factory.mktemp("warehouse")))


@pytest.fixture
def own_shop(lake: TestLake) -> TestLake:
    """The two tables, for a test that changes them."""
    return filled(lake)


def rows(lake: TestLake, text: str, **parameters: object) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, lake.lake.sql(text, **parameters).collect()), key=repr)


ALL = [(1, "a"), (2, "c"), (3, "{d}"), (4, "e")]
QUERIES: dict[str, list[tuple[Any, ...]]] = {
    "SELECT * FROM t": ALL,
    "SELECT * FROM s.t": ALL,
    "SELECT * FROM paimon.s.t": ALL,
    "(SELECT * FROM t)": ALL,
    "SELECT s.t.v, t.k, '{x}' FROM s.t WHERE s.t.k = 3": [("{d}", 3, "{x}")],
    "SELECT x.v FROM t AS x JOIN u ON x.k = u.k WHERE u.dt = 'y'": [("c",)],
    "SELECT a.k FROM t a JOIN t b ON a.k = b.k + 1 WHERE b.v = 'a'": [(2,)],
    "SELECT k FROM t WHERE k IN (SELECT k FROM u)": [(1,), (2,)],
    "SELECT (SELECT max(k) FROM u) m, count(*) FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k)": [(9, 2)],
    "SELECT k, (SELECT count(*) FROM u WHERE u.k <= t.k) n FROM t WHERE k > 2": [(3, 2), (4, 2)],
    "WITH t AS (SELECT k + 100 AS k FROM t) SELECT max(k) FROM t": [(104,)],
    "WITH a AS (SELECT k FROM t), b AS (SELECT * FROM a WHERE k > 1) SELECT a.k FROM a LEFT ANTI JOIN b USING (k)": [
        (1,)
    ],
    "SELECT k FROM t UNION SELECT k FROM u": [(1,), (2,), (3,), (4,), (9,)],
    "SELECT k FROM t EXCEPT SELECT k FROM u": [(3,), (4,)],
    "FROM t |> WHERE k > 3 |> SELECT v": [("e",)],
    "SELECT k, x FROM t LATERAL VIEW explode(array(k, k * 10)) AS x WHERE k = 1": [(1, 1), (1, 10)],
    "SELECT count(*) FROM t TABLESAMPLE (100 PERCENT) WHERE t.k > 0": [(4,)],
    "SELECT v FROM (SELECT v, row_number() OVER (ORDER BY k DESC) n FROM t) WHERE n = 1": [("e",)],
    "SELECT /*+ BROADCAST(u) */ count(*) FROM t JOIN u USING (k)": [(2,)],
    "SELECT 1": [(1,)],
    # whole tables
    "TABLE t": ALL,
    "table `s`.`t`": ALL,
    "TABLE s.t ORDER BY t.k DESC LIMIT 2": ALL[2:],
    "(TABLE t) UNION ALL TABLE t EXCEPT ALL (SELECT * FROM t)": ALL,
    "SELECT k FROM (TABLE t) q WHERE q.k IN (SELECT k FROM (TABLE u))": [(1,), (2,)],
    "WITH c AS (TABLE t), d AS (TABLE c) TABLE d": ALL,
    "SELECT EXISTS (TABLE u) AND 9 IN (SELECT k FROM u)": [(True,)],
    "TABLE t VERSION AS OF 1": [(1, "a"), (2, "b")],
    # pipes
    "TABLE t |> WHERE k > 3": [(4, "e")],
    "FROM t |> SET v = (SELECT max(dt) FROM u) |> DROP k |> LIMIT 1": [("y",)],
    "FROM t |> ORDER BY k |> LIMIT 3 |> WHERE k > 2 |> SELECT k": [(3,)],
    "FROM t |> SELECT k |> UNION ALL SELECT k FROM u |> AGGREGATE count(*)": [(7,)],
    "SELECT '{x}', a FROM (SELECT array(struct(1, 2)) q), UNNEST(q) AS u(a, b)": [("{x}", 1)],
    "VALUES (1), (2)": [(1,), (2,)],
    "SELECT * FROM range(2)": [(0,), (1,)],
    "SELECT count(*) FROM t$snapshots": [(3,)],
    "SELECT count(*) > 2 FROM `s`.`t$files` f JOIN t$snapshots n ON true WHERE n.snapshot_id = 1": [(True,)],
    "SELECT sys.max_pt('u'), k FROM u WHERE dt = sys.max_pt('s.u')": [("y", 2), ("y", 9)],
    # time travel
    "SELECT * FROM t VERSION AS OF 1": [(1, "a"), (2, "b")],
    "SELECT v FROM t FOR VERSION AS OF '2' AS x WHERE x.k = 2": [("c",)],
    "SELECT a.k FROM t a LEFT ANTI JOIN t VERSION AS OF 1 b ON a.k = b.k": [(3,), (4,)],
    "SELECT count(*) FROM t TIMESTAMP AS OF current_timestamp()": [(4,)],
    "SELECT count(*) FROM t /*+ OPTIONS('scan.snapshot-id' = '1') */ x, t": [(8,)],
    "SELECT count(*) FROM t /* a */ /*+ OPTIONS('scan.snapshot-id' = '1') */ -- b\n WHERE t.k > 0": [(2,)],
    "SELECT '/*+ OPTIONS(x) */', k FROM t -- /*+ OPTIONS('scan.snapshot-id' = '1') */\n WHERE k = 4": [
        ("/*+ OPTIONS(x) */", 4)
    ],
    "SELECT count(*) FROM t TIMESTAMP AS OF (SELECT max(commit_time) + INTERVAL 1 DAY FROM t$snapshots)": [(4,)],
    # names with a database
    "SELECT s.t.k, paimon.s.u.dt FROM t JOIN u ON s.t.k = s.u.k WHERE t.k = 2": [(2, "y")],
    "SELECT s.t.* FROM s.t WHERE s.t.k = 1": [(1, "a")],
    # changes
    "SELECT * FROM paimon_incremental_query('t', 1, 3)": [(2, "c"), (3, "{d}"), (4, "e")],
    "SELECT paimon_incremental_query.k FROM paimon_incremental_query('s.t', 2, 3)": [(4,)],
    "SELECT count(*) FROM paimon_incremental_between_timestamp('t', '2000-01-01 00:00:00', '2100-01-01 00:00:00') q": [
        (5,)
    ],
}


@pytest.mark.parametrize("text", QUERIES)
def test_queries_return_the_expected_rows(shop: TestLake, text: str) -> None:
    assert rows(shop, text) == QUERIES[text]


def test_parameters_are_values_and_are_never_parsed_as_sql(shop: TestLake) -> None:
    found = rows(shop, "SELECT v, :x FROM t VERSION AS OF :version WHERE k = :k", k=2, x="' OR {t}", version=1)
    assert found == [("b", "' OR {t}")]


def test_a_timestamp_is_in_the_time_zone_of_the_session(shop: TestLake) -> None:
    millis = shop.table().snapshots()[0].time_millis
    counted = "SELECT count(*) FROM t TIMESTAMP AS OF "
    for zone in ("UTC", "Asia/Tokyo"):
        shop.spark.conf.set("spark.sql.session.timeZone", zone)
        try:
            (text,) = shop.spark.sql(f"SELECT CAST(timestamp_millis({millis}) AS STRING)").first()
            assert rows(shop, f"{counted}'{text}'") == [(2,)]
        finally:
            shop.spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert rows(shop, f"{counted}{millis // 1000 + 1000}") == [(4,)]


def test_a_time_before_the_first_snapshot_is_an_error(shop: TestLake) -> None:
    with pytest.raises(SnapshotNotFound, match="no snapshot at or before"):
        shop.lake.sql("SELECT * FROM t TIMESTAMP AS OF '2000-01-01'")


def test_a_table_is_read_in_one_state(shop: TestLake) -> None:
    with pytest.raises(InvalidSql, match=r"AS OF and the option 'scan\.version' both name a state of 't'"):
        shop.lake.sql("SELECT * FROM t VERSION AS OF 1 /*+ OPTIONS('scan.version' = '2') */")
    with pytest.raises(InvalidOption, match="a scan has one starting point"):
        shop.lake.sql("SELECT * FROM t VERSION AS OF 1 /*+ OPTIONS('scan.snapshot-id' = '2') */")
    with pytest.raises(InvalidOption, match="'write-only': would have no effect on a batch read"):
        shop.lake.sql("SELECT * FROM t /*+ OPTIONS('write-only' = 'true') */")
    with pytest.raises(InvalidOption, match=r"'scan\.snapshot-id': would have no effect on a write"):
        shop.lake.sql("INSERT INTO t /*+ OPTIONS('scan.snapshot-id' = '1') */ SELECT * FROM t")
    with pytest.raises(UnsupportedFeature, match="a hint of options here is not supported"):
        shop.lake.sql("DELETE FROM t /*+ OPTIONS('write-only' = 'true') */ WHERE k = 1")


def test_an_invalid_timestamp_is_an_error(shop: TestLake) -> None:
    with pytest.raises(InvalidInputError, match="this is not a time"):
        shop.lake.sql("SELECT * FROM t TIMESTAMP AS OF :time", time=None)


def test_a_version_is_first_the_name_of_a_tag_then_a_snapshot_id(own_shop: TestLake) -> None:
    own_shop.lake.sql("CALL sys.create_tag('t', 'x', 3)")
    # Other writers create tags whose names are numbers.
    tags = Path(own_shop.table().store.paths.root) / "tag"
    of_snapshot = rows(own_shop, "SELECT * FROM t VERSION AS OF 1")
    (tags / "tag-x").rename(tags / "tag-1")
    assert (
        rows(own_shop, "SELECT * FROM t VERSION AS OF 1")
        == rows(own_shop, "SELECT * FROM t VERSION AS OF 3")
        != of_snapshot
    )


def test_a_tag_reads_an_expired_snapshot(own_shop: TestLake) -> None:
    own_shop.lake.sql(
        "CALL sys.create_tag('t', 'first', 1);"
        "CALL sys.expire_snapshots(table => 't', retain_max => 1, retain_min => 1, retain_floor => '0 s')"
    )
    assert rows(own_shop, "SELECT * FROM t VERSION AS OF 'first'") == [(1, "a"), (2, "b")]
    with pytest.raises(SnapshotNotFound):
        own_shop.lake.sql("SELECT * FROM t VERSION AS OF 1")


def test_only_the_columns_and_rows_that_a_query_needs_are_read(shop: TestLake) -> None:
    assert "ReadSchema: struct<k:int>" in plan_of(shop.lake.sql("SELECT max(k) FROM u"))
    assert "1 paths" in plan_of(shop.lake.sql("SELECT k FROM u WHERE dt = 'x'"))


def test_a_view_shows_the_current_state_of_its_table(own_shop: TestLake) -> None:
    own_shop.lake.sql(
        "CREATE TEMPORARY VIEW w (n, text) AS SELECT k + 10, v FROM t;"
        "CREATE TEMP VIEW x AS SELECT * FROM w WHERE n > 13"
    )
    assert rows(own_shop, "SELECT x.n, w.text FROM x JOIN w USING (n)") == [(14, "e")]
    own_shop.lake.sql("INSERT INTO t VALUES (5, 'f'); CREATE DATABASE other; USE other")
    assert rows(own_shop, "SELECT q.text FROM x q WHERE n > 14") == [("f",)]
    own_shop.lake.sql("DROP VIEW x; CREATE TEMPORARY VIEW y AS SELECT v FROM s.t WHERE k = :key OR v = ':key'", key=2)
    assert rows(own_shop, "SELECT * FROM y WHERE v = :value", value="c") == [("c",)]
    own_shop.lake.sql("CREATE OR REPLACE TEMPORARY VIEW w AS SELECT 7 AS n FROM s.t LIMIT 1")
    assert rows(own_shop, "SELECT * FROM w") == [(7,)]


def test_spark_resolves_tables_and_views_of_the_session(shop: TestLake) -> None:
    shop.spark.range(3).createOrReplaceTempView("numbers")
    assert rows(shop, "SELECT t.v FROM numbers JOIN t ON id = k") == [("a",), ("c",)]
    shop.spark.catalog.dropTempView("numbers")


def test_explain_shows_the_plan_that_runs(shop: TestLake) -> None:
    ((text,),) = rows(shop, "EXPLAIN SELECT k FROM u WHERE dt = 'x'")
    assert "FileScan parquet" in text
    assert "1 paths" in text


def test_run_script_returns_a_frame_for_each_statement(own_shop: TestLake) -> None:
    frames = own_shop.lake.run_script(
        "SELECT 1 AS a; INSERT INTO u VALUES (5, 'z'); SELECT max(k) FROM u WHERE dt = 'z'"
    )
    assert [[tuple(row) for row in frame.collect()] for frame in frames] == [[(1,)], [], [(5,)]]


def test_no_statement_runs_if_one_cannot_be_parsed(shop: TestLake) -> None:
    with pytest.raises(InvalidSql, match="line 2, column 14"):
        shop.lake.sql("INSERT INTO u VALUES (5, 'z');\nDROP TABLE u v")
    assert rows(shop, "SELECT max(k) FROM u") == [(9,)]


def test_text_without_a_statement_is_an_error(lake: TestLake) -> None:
    with pytest.raises(InvalidSql, match="the text contains no statement"):
        lake.lake.sql("-- nothing")


def test_the_error_names_a_table_that_does_not_exist(shop: TestLake) -> None:
    with pytest.raises(TableNotFound, match=r"table 's\.nope' does not exist"):
        shop.lake.sql("SELECT * FROM s.nope")
    with pytest.raises(AnalysisException, match="nope"):
        shop.lake.sql("SELECT * FROM nope")


def test_a_query_reads_the_columns_beside_one_of_a_type_that_spark_does_not_have(lake: TestLake) -> None:
    columns = pa.schema([("k", pa.int64()), ("at", pa.timestamp("ns")), ("v", pa.string())])
    lake.create("fine", columns, primary_keys=()).append(pa.table({"k": [1], "at": [5], "v": ["a"]}, schema=columns))
    assert rows(lake, "SELECT f.v, k FROM s.fine f WHERE k = 1") == [("a", 1)]
    for query in ("SELECT * FROM s.fine", "SELECT k FROM s.fine ORDER BY At"):
        with pytest.raises(UnsupportedFeature, match="column 'at' of type TIMESTAMP"):
            lake.lake.sql(query)


def test_a_query_that_cannot_be_parsed_is_passed_to_spark_unless_it_names_a_table(shop: TestLake) -> None:
    with pytest.raises(InvalidSql, match="line 1, column "):
        shop.lake.sql("SELECT * FROM t WHERE = 1")
    with pytest.raises(InvalidSql, match=r"takes 3 arguments \(table, beginning, end\), found 2 arguments"):
        shop.lake.sql("SELECT * FROM paimon_incremental_query('t', 2)")  # the table is only in a text
    with pytest.raises(AnalysisException):
        shop.lake.sql("SELECT 1 WHERE = 1")


def test_a_statement_that_only_spark_supports_is_refused_for_a_table_of_the_catalog(shop: TestLake) -> None:
    with pytest.raises(UnsupportedFeature, match="CACHE TABLE is not supported for 't', a table of the catalog"):
        shop.lake.sql("CACHE TABLE t")
    assert rows(shop, "SET spark.sql.shuffle.partitions = 2") == [("spark.sql.shuffle.partitions", "2")]


@pytest.mark.parametrize(
    "text", ["SELECT sys.max_pt('t')", "CREATE TABLE p (a INT, b INT) PARTITIONED BY (b); SELECT sys.max_pt('p')"]
)
def test_max_pt_of_a_table_without_partitions_is_an_error(shop: TestLake, text: str) -> None:
    with pytest.raises(InvalidInputError, match="max_pt: s"):
        shop.lake.sql(text)


def test_table_options_in_session_settings_are_refused(lake: TestLake) -> None:
    for key in ("spark.paimon.scan.snapshot-id", "`spark.paimon.*.t.scan.snapshot-id`", "SPARK.paimon.*.t.branch"):
        with pytest.raises(UnsupportedFeature, match="use a hint"):
            lake.lake.sql(f"SET {key} = 1")


def test_an_error_of_spark_has_the_line_in_the_script(lake: TestLake) -> None:
    with pytest.raises(AnalysisException, match="line 3"):
        lake.lake.sql("SELECT 1;\n\nSELECT 1 FRM x y z")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT max(k) FROM u",
        "SELECT u.k FROM u JOIN range(5) r ON u.k = r.id WHERE u.k > 1 ORDER BY u.k LIMIT 3",
        "SELECT sum(k) OVER (ORDER BY k) FROM u",
    ],
)
def test_the_plan_of_a_query_contains_nothing_for_columns_that_it_does_not_use(shop: TestLake, text: str) -> None:
    frame: Any = shop.lake.sql(text)
    assert "dt" not in frame._jdf.queryExecution().analyzed().toString()
    assert frame.collect()


def test_a_query_of_a_wide_table_makes_as_few_calls_to_the_jvm_as_one_of_a_narrow_table(
    shop: TestLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, count in (("narrow", 2), ("wide", 40)):
        columns = [f"id + {number} AS c{number}" for number in range(count)]
        shop.lake.write_to(shop.spark.range(3).selectExpr(*columns), f"s.{name}").create()
    calls: list[str] = []
    client = type(shop.spark.sparkContext._gateway._gateway_client)
    send = client.send_command

    def counted(self: Any, command: str, *more: Any, **named: Any) -> Any:
        if not command.startswith("m\nd"):  # an object of the JVM that Python has released
            calls.append(command)
        return send(self, command, *more, **named)

    monkeypatch.setattr(client, "send_command", counted)
    counts = []
    for text in ("SELECT sum(c0) FROM narrow WHERE c1 > 0", "SELECT sum(c0) FROM wide WHERE c1 > 0"):
        calls.clear()
        assert rows(shop, text) == [(3,)]
        counts.append(len(calls))
    assert counts[1] <= counts[0] + 5

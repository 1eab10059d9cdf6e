"""Materialized tables: created from a query, refreshed when their rows are too old, and changed by nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import SparkRuntimeException

from table_format import MaterializedTable, SetOption, load_catalog, materialized_table
from table_format.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidInputError,
    InvalidOption,
    InvalidSql,
    TableNotFound,
    UnsupportedFeature,
)
from table_format.runtime import Runtime
from table_format.spark import Lake, paimon
from table_format.spark.sql import refresh as refresh_module
from table_format.table.write.batch_commit import BatchCommit
from table_format.table.write.table_write import TableWrite
from tests.support.code_blocks import run_block
from tests.support.compaction import MovableClock
from tests.support.jdbc_catalogs import sqlite_options

PAGE = Path(__file__).parents[3] / "docs" / "materialized-tables.md"

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

USERS_OF_SHOPS = """
    CREATE MATERIALIZED TABLE continuous_users_shops
    PARTITIONED BY (ds)
    FRESHNESS = INTERVAL '30' SECOND
    AS SELECT
      user_id,
      ds,
      SUM (payment_amount_cents) AS payed_buy_fee_sum,
      SUM (1) AS PV
    FROM (
      SELECT user_id, order_created_at AS ds, payment_amount_cents
        FROM json_source
      ) AS tmp
    GROUP BY user_id, ds
"""
TOTALS = "CREATE MATERIALIZED TABLE totals FRESHNESS = INTERVAL '30' SECOND AS SELECT v, sum(k) AS n FROM t GROUP BY v"


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def lake(spark: Any, tmp_path: Path, clock: MovableClock) -> Lake:
    """A lake whose current database has the table ``t``."""
    options = {"warehouse": str(tmp_path)}
    paimon(spark, options)  # prepares the session
    found = Lake(spark, load_catalog(options, runtime=Runtime(clock=clock)))
    found.sql("CREATE DATABASE s; USE s; CREATE TABLE t (k INT, v STRING)")
    add(found, "t", (1, "a"), (2, "b"))
    return found


def add(lake: Lake, name: str, *values: tuple[object, ...]) -> None:
    """Append rows to a source in this process, which takes milliseconds."""
    table = lake.catalog.load_table(f"s.{name}")
    names = table.schema.field_names
    table.append(pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in values], table.arrow_schema))


def rows(lake: Lake, text: str, **parameters: object) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, lake.sql(text, **parameters).collect()), key=repr)


def loaded(lake: Lake, name: str = "s.totals") -> MaterializedTable:
    return materialized_table(lake.catalog, name)


def options_of(lake: Lake, name: str) -> dict[str, str]:
    return dict(lake.catalog.load_table(name).schema.options)


def test_the_example_is_refreshed_once_its_rows_are_older_than_30_seconds(lake: Lake, clock: MovableClock) -> None:
    lake.sql("CREATE TABLE json_source (user_id BIGINT, order_created_at STRING, payment_amount_cents BIGINT)")
    add(lake, "json_source", (1, "2024-06-20", 10), (1, "2024-06-20", 20), (2, "2024-06-21", 5))
    lake.sql(USERS_OF_SHOPS)
    name, query = "s.continuous_users_shops", "TABLE continuous_users_shops"
    first = [(1, "2024-06-20", 30, 2), (2, "2024-06-21", 5, 1)]
    assert rows(lake, query) == first
    add(lake, "json_source", (1, "2024-06-20", 100), (7, "2024-06-22", 20))
    clock.sleep_ms(29_000)
    assert not loaded(lake, name).is_stale(clock.now_ms())
    assert lake.refresh(name, if_stale=True).skipped == "its rows are not older than 0:00:30"
    assert rows(lake, query) == first
    clock.sleep_ms(2_000)
    assert loaded(lake, name).is_stale(clock.now_ms())
    report = lake.refresh(name, if_stale=True)
    assert (report.is_skipped, report.row_count, report.sources["s.json_source"].id) == (False, 3, 2)
    assert rows(lake, query) == [
        (1, "2024-06-20", 130, 3),
        (2, "2024-06-21", 5, 1),
        (7, "2024-06-22", 20, 1),
    ]
    assert not loaded(lake, name).is_stale(clock.now_ms())


def test_the_schema_has_the_options_of_flink_and_the_query_with_its_databases(lake: Lake) -> None:
    lake.sql(
        "CREATE MATERIALIZED TABLE IF NOT EXISTS m (CONSTRAINT c PRIMARY KEY (v) NOT ENFORCED) COMMENT 'sums' "
        "WITH ('bucket' = '1') FRESHNESS = INTERVAL '2' HOURS REFRESH_MODE = FULL AS "
        "WITH c AS (SELECT * FROM t) SELECT c.v, sum(x.k) AS n FROM c JOIN s.t AS x ON x.k = c.k "
        "WHERE c.k < :below GROUP BY c.v",
        below=9,
    )
    assert options_of(lake, "s.m") == {
        "bucket": "1",
        "type": "materialized-table",
        "materialized-table.definition-query": (
            "WITH c AS (SELECT * FROM `s`.`t`) SELECT c.v, sum(x.k) AS n FROM c JOIN `s`.`t` AS x ON x.k = c.k "
            "WHERE c.k < 9 GROUP BY c.v"
        ),
        "materialized-table.interval-freshness": "2",
        "materialized-table.interval-freshness.time-unit": "HOUR",
        "materialized-table.logical-refresh-mode": "FULL",
        "materialized-table.refresh-mode": "FULL",
        "materialized-table.refresh-status": "ACTIVATED",
    }
    assert rows(lake, "SELECT * FROM m") == [("a", 1), ("b", 2)]
    schema = lake.catalog.load_table("s.m").schema
    assert (schema.primary_keys, schema.comment) == (("v",), "sums")
    ((text,),) = rows(lake, "SHOW CREATE TABLE m")
    assert rows(lake, "SHOW CREATE MATERIALIZED TABLE m") == [(text,)]
    lake.sql(f"DROP MATERIALIZED TABLE m; {text}")
    again = lake.catalog.load_table("s.m").schema
    assert (again.fields, again.options, again.comment) == (schema.fields, schema.options, schema.comment)
    lake.sql("CREATE MATERIALIZED TABLE IF NOT EXISTS m FRESHNESS = INTERVAL '1' DAY AS SELECT 1 AS one")
    assert lake.catalog.load_table("s.m").schema == again


def test_a_refresh_runs_nothing_while_no_source_has_changed(lake: Lake, clock: MovableClock) -> None:
    lake.sql(TOTALS)
    clock.sleep_ms(3_600_000)
    found = loaded(lake)
    assert (found.is_current, found.is_stale(clock.now_ms())) == (True, False)
    lake.sql("ALTER MATERIALIZED TABLE totals REFRESH; CALL sys.compact('s.t')")
    table = lake.catalog.load_table("s.totals")
    assert [snapshot.id for snapshot in table.snapshots()] == [1]
    table.analyze(["n"])
    assert lake.refresh("s.totals").skipped is not None
    assert [s.id for s in lake.refresh("s.totals", force=True).snapshots] == [3]


def test_a_query_that_reads_the_clock_is_refreshed_although_no_source_has_changed(
    lake: Lake, clock: MovableClock
) -> None:
    lake.sql(
        "CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '1' MINUTE AS SELECT k FROM t WHERE v < now()::STRING || 'z'"
    )
    assert not loaded(lake, "s.m").is_stale(clock.now_ms() + 60_000)
    assert loaded(lake, "s.m").is_stale(clock.now_ms() + 60_001)
    assert not lake.refresh("s.m").is_skipped


def test_an_empty_source_and_an_empty_result_are_states_like_others(lake: Lake) -> None:
    lake.sql("CREATE TABLE e (k INT); CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '1' DAY AS SELECT * FROM e")
    assert loaded(lake, "s.m").is_current
    add(lake, "e", (1,))
    assert [state.id for state in lake.refresh("s.m").sources.values()] == [1]
    assert rows(lake, "SELECT * FROM m") == [(1,)]
    lake.sql("TRUNCATE TABLE e; ALTER MATERIALIZED TABLE m REFRESH")
    assert rows(lake, "SELECT * FROM m") == []


def test_a_refresh_of_a_partition_replaces_only_its_rows_and_does_not_make_the_table_fresh(lake: Lake) -> None:
    lake.sql(
        "CREATE MATERIALIZED TABLE m PARTITIONED BY (V) FRESHNESS = INTERVAL '1' DAY AS SELECT k + 0 AS k, v FROM t"
    )
    add(lake, "t", (10, "a"), (20, "b"), (30, None))
    lake.sql("ALTER MATERIALIZED TABLE m REFRESH PARTITION (v = 'a')")
    assert rows(lake, "SELECT k FROM m") == [(1,), (10,), (2,)]
    assert loaded(lake, "s.m").changed_sources == ("s.t",)
    lake.refresh("s.m", partition={"v": None})
    assert rows(lake, "SELECT k FROM m") == [(1,), (10,), (2,), (30,)]
    for partition, message in (({"k": 1}, "'k' is not a partition column"), ({}, "names no column")):
        with pytest.raises(InvalidInputError, match=message):
            lake.refresh("s.m", partition=partition)
    # The partition has rows of a state that the source no longer has, although the whole table does not.
    lake.catalog.load_table("s.t").rollback_to(1)
    assert loaded(lake, "s.m").changed_sources == ("s.t",)
    lake.refresh("s.m")
    assert rows(lake, "SELECT k FROM m") == [(1,), (2,)]


def test_statements_that_change_rows_are_refused(lake: Lake) -> None:
    lake.sql(TOTALS)
    for statement in (
        "INSERT INTO totals VALUES ('c', 1)",
        "INSERT OVERWRITE totals SELECT * FROM totals",
        "UPDATE totals SET n = 1",
        "DELETE FROM totals WHERE n = 77",
        "MERGE INTO totals USING t ON totals.v = t.v WHEN MATCHED THEN DELETE",
        "TRUNCATE TABLE totals",
        "CREATE TABLE copy LIKE totals; INSERT INTO copy TABLE totals; TRUNCATE TABLE copy; DELETE FROM totals",
    ):
        with pytest.raises(
            UnsupportedFeature, match=r"'s\.totals' is a materialized table: its query fills it, .* REFRESH"
        ):
            lake.sql(statement)


def test_other_ways_to_change_rows_or_columns_are_refused(lake: Lake) -> None:
    lake.sql(TOTALS)
    table, frame = lake.catalog.load_table("s.totals"), lake.table("s.totals")
    for change in (
        partial(lake.write, frame, "s.totals"),
        partial(lake.write, frame, "s.totals", "overwrite"),
        partial(table.append, table.scan().to_arrow()),
        partial(table.delete, "n = 1"),
        table.new_write,
        partial(BatchCommit(table.facts).overwrite, []),
        table.new_commit,
        partial(lake.write_stream, lake.read_stream("s.t"), "s.totals", checkpoint=f"{table.location}-checkpoint"),
        partial(lake.sql, "ALTER TABLE totals ADD COLUMN c INT"),
    ):
        with pytest.raises(UnsupportedFeature, match="materialized table"):
            change()
    for statement, message in (
        ("DROP TABLE totals", "use DROP MATERIALIZED TABLE"),
        ("CREATE OR REPLACE TABLE totals (k INT)", "drop it first"),
        ("CREATE TABLE x (k INT) TBLPROPERTIES ('materialized-table.refresh-mode' = 'FULL')", "needs 'type'"),
        ("CREATE TABLE x (k INT) TBLPROPERTIES ('type' = 'materialized-table')", "CREATE MATERIALIZED TABLE"),
        ("ALTER TABLE totals UNSET TBLPROPERTIES ('materialized-table.definition-query')", "is required"),
        ("DROP MATERIALIZED TABLE t", "use DROP TABLE"),
        ("DROP MATERIALIZED TABLE nothing", "does not exist"),
        ("ALTER MATERIALIZED TABLE t SUSPEND", "is not a materialized table"),
    ):
        with pytest.raises((InvalidInputError, TableNotFound), match=message):
            lake.sql(statement)
    lake.sql("DROP MATERIALIZED TABLE IF EXISTS nothing; DROP MATERIALIZED TABLE totals")
    assert rows(lake, "SHOW TABLES") == [("s", "t", False)]


REFUSED: tuple[tuple[str, type[Exception], str], ...] = (
    ("m AS SELECT 1 AS a", InvalidSql, "needs FRESHNESS"),
    ("m FRESHNESS = INTERVAL '0' SECOND AS SELECT 1 AS a", InvalidSql, "above 0"),
    ("m FRESHNESS = INTERVAL '1' WEEK AS SELECT 1 AS a", InvalidSql, "SECOND, MINUTE, HOUR or DAY"),
    ("m (a INT) FRESHNESS = INTERVAL '1' DAY AS SELECT 1 AS a", InvalidSql, "the query determines the columns"),
    (
        "m FRESHNESS = INTERVAL '1' DAY REFRESH_MODE = CONTINUOUS AS SELECT * FROM t",
        UnsupportedFeature,
        "REFRESH_MODE = CONTINUOUS is not supported; .* write REFRESH_MODE = FULL",
    ),
    ("m FRESHNESS = INTERVAL '1' DAY AS SELECT * FROM nowhere", InvalidInputError, "'nowhere' is not a table of"),
    ("m FRESHNESS = INTERVAL '1' DAY AS SELECT * FROM `t$files`", UnsupportedFeature, "no snapshots of its own"),
    ("m FRESHNESS = INTERVAL '1' DAY AS SELECT sys.max_pt('t') AS a", UnsupportedFeature, "max_pt"),
    ("t FRESHNESS = INTERVAL '1' DAY AS SELECT * FROM t", AlreadyExistsError, "already exists"),
    ("m FRESHNESS = INTERVAL '1' DAY AS SELECT * FROM tempo", InvalidInputError, "'tempo' is not a table of"),
    (
        "m WITH ('type' = 'table') FRESHNESS = INTERVAL '1' DAY AS SELECT * FROM t",
        InvalidOption,
        "set by a clause",
    ),
)


def test_what_cannot_be_created_is_refused_by_name(lake: Lake) -> None:
    lake.sql("CREATE OR REPLACE TEMPORARY VIEW tempo AS SELECT * FROM s.t")
    for statement, error, message in REFUSED:
        with pytest.raises(error, match=message):
            lake.sql(f"CREATE MATERIALIZED TABLE {statement}")
    assert rows(lake, "SHOW MATERIALIZED TABLES") == []


def test_a_first_refresh_that_fails_leaves_no_table_and_a_later_one_leaves_the_rows(lake: Lake) -> None:
    failing = (
        "CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '1' DAY AS SELECT k, IF(k < 3, k, raise_error('no')) AS e"
    )
    with pytest.raises(SparkRuntimeException, match="no"):
        lake.sql(failing.replace("3", "2") + " FROM t")
    assert not lake.catalog.table_exists("s.m")
    lake.sql(failing + " FROM t")
    add(lake, "t", (10, "c"))
    with pytest.raises(SparkRuntimeException, match="no"):
        lake.sql("ALTER MATERIALIZED TABLE m REFRESH")
    assert rows(lake, "SELECT k FROM m") == [(1,), (2,)]
    assert loaded(lake, "s.m").changed_sources == ("s.t",)


def test_a_source_that_is_gone_or_has_other_columns_is_named_with_the_table(lake: Lake) -> None:
    lake.sql(TOTALS)
    lake.sql("ALTER TABLE t RENAME COLUMN k TO key")
    with pytest.raises(InvalidInputError, match=r"'s\.totals' cannot be refreshed: .* s\.t, which it reads: .*`k`"):
        lake.refresh("s.totals", force=True)
    lake.sql("ALTER TABLE t RENAME COLUMN key TO k; ALTER TABLE t ALTER COLUMN k TYPE STRING")
    with pytest.raises(InvalidInputError, match=r"'s\.totals' cannot be .* on s\.t now returns column 'n' as DOUBLE"):
        lake.refresh("s.totals", force=True)
    lake.sql("ALTER TABLE t RENAME TO moved")
    with pytest.raises(TableNotFound, match=r"'s\.totals' cannot be refreshed: table 's\.t' does not exist"):
        lake.refresh("s.totals")
    assert loaded(lake).changed_sources == ("s.t",)
    assert rows(lake, "SELECT * FROM totals") == [("a", 1), ("b", 2)]


def test_two_refreshes_at_once_leave_the_rows_of_one(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.sql(TOTALS)
    add(lake, "t", (10, "a"))
    write: Callable[..., Any] = refresh_module.write_frame
    others: list[int] = []

    def another_first(*arguments: Any, **more: Any) -> Any:
        if not others:
            others.append(0)
            add(lake, "t", (100, "a"))
            others[0] = lake.refresh("s.totals").snapshots[-1].id
        return write(*arguments, **more)

    monkeypatch.setattr(refresh_module, "write_frame", another_first)
    with pytest.raises(ConflictError, match=r"'s\.totals' was refreshed by another process .* snapshot 2; nothing was"):
        lake.refresh("s.totals")
    assert rows(lake, "SELECT * FROM totals") == [("a", 111), ("b", 2)]
    assert loaded(lake).is_current
    assert [snapshot.id for snapshot in lake.catalog.load_table("s.totals").snapshots()] == [1, 2]
    assert not lake.catalog.load_table("s.totals").remove_orphan_files(dry_run=True, older_than_ms=0).files


def test_a_refresh_reads_the_state_that_it_records_although_a_source_changes_meanwhile(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.sql(f"CREATE TABLE e (k INT, v STRING); {TOTALS.replace('FROM t', 'FROM (TABLE t UNION ALL TABLE e)')}")
    add(lake, "t", (10, "a"))
    states = refresh_module.source_states
    others: list[int] = []

    def then_commits(*arguments: Any) -> Any:
        found = states(*arguments)
        if not others:
            others.append(1)
            add(lake, "t", (100, "a"))
            add(lake, "e", (1000, "a"))
        return found

    monkeypatch.setattr(refresh_module, "source_states", then_commits)
    report = lake.refresh("s.totals")
    assert {name: state.id for name, state in report.sources.items()} == {"s.t": 2, "s.e": 0}
    assert rows(lake, "SELECT * FROM totals") == [("a", 11), ("b", 2)]
    assert set(loaded(lake).changed_sources) == {"s.t", "s.e"}


def test_another_program_that_changes_rows_makes_the_table_stale(lake: Lake, clock: MovableClock) -> None:
    lake.sql(TOTALS)
    table = lake.catalog.load_table("s.totals")
    facts = table.facts.as_refresh  # other engines know no materialized tables
    commit = BatchCommit(facts)
    commit.commit(TableWrite(facts).write(table.scan().to_arrow()))
    assert (loaded(lake).refresh, loaded(lake).is_stale(clock.now_ms())) == (None, True)
    lake.refresh("s.totals", if_stale=True)
    assert rows(lake, "SELECT * FROM totals") == [("a", 1), ("b", 2)]


def test_a_suspended_table_is_refreshed_only_by_hand(lake: Lake, clock: MovableClock) -> None:
    lake.sql(TOTALS)
    lake.sql("ALTER MATERIALIZED TABLE totals SUSPEND")
    add(lake, "t", (10, "a"))
    clock.sleep_ms(60_000)
    assert lake.refresh("s.totals", if_stale=True).skipped == "it is suspended"
    assert [table.is_stale(clock.now_ms()) for table in lake.materialized_tables() if table.is_suspended] == [True]
    lake.sql("ALTER MATERIALIZED TABLE totals REFRESH")
    add(lake, "t", (20, "a"))
    assert rows(lake, "SELECT * FROM totals") == [("a", 11), ("b", 2)]
    lake.sql(
        "ALTER MATERIALIZED TABLE totals RESUME; ALTER MATERIALIZED TABLE totals SET FRESHNESS = INTERVAL 2 MINUTES"
    )
    clock.sleep_ms(120_000)
    assert lake.refresh("s.totals", if_stale=True).is_skipped
    clock.sleep_ms(1)
    assert not lake.refresh("s.totals", if_stale=True).is_skipped
    assert options_of(lake, "s.totals")["materialized-table.interval-freshness.time-unit"] == "MINUTE"
    with pytest.raises(UnsupportedFeature, match="RESUME WITH"):
        lake.sql("ALTER MATERIALIZED TABLE totals RESUME WITH ('a' = 'b')")


def test_another_query_may_add_columns_and_makes_the_table_stale(lake: Lake, clock: MovableClock) -> None:
    lake.sql(TOTALS)
    lake.sql("ALTER MATERIALIZED TABLE totals AS SELECT v, max(k) + 0L AS n, count(*) AS c FROM t GROUP BY v")
    assert rows(lake, "SELECT * FROM totals") == [("a", 1, None), ("b", 2, None)]
    assert loaded(lake).is_stale(clock.now_ms())
    lake.refresh("s.totals")
    assert rows(lake, "SELECT * FROM totals") == [("a", 1, 1), ("b", 2, 1)]
    with pytest.raises(
        UnsupportedFeature, match=r"the first 3 columns of the query must be those .*: v STRING, n BIGINT"
    ):
        lake.sql("ALTER MATERIALIZED TABLE totals AS SELECT v FROM t")


def test_a_table_reads_itself_neither_directly_nor_through_others(lake: Lake) -> None:
    lake.sql(TOTALS)
    lake.sql("CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '1' DAY AS SELECT * FROM totals")
    for source, circle in (("totals", "s.totals -> s.totals"), ("m", "s.totals -> s.m -> s.totals")):
        with pytest.raises(InvalidInputError, match=f"'s.totals' cannot read itself: {circle}"):
            lake.sql(f"ALTER MATERIALIZED TABLE totals AS TABLE {source}")


def test_views_are_read_through_to_their_tables_and_lists_show_what_a_table_is(
    spark: Any, tmp_path: Path, clock: MovableClock
) -> None:
    lake = paimon(spark, sqlite_options(tmp_path))
    lake.sql("CREATE DATABASE s; USE s; CREATE TABLE t (k INT); CREATE VIEW w AS TABLE t")
    add(lake, "t", (1,))
    lake.sql(
        "CREATE DATABASE d; USE d; CREATE MATERIALIZED TABLE s.m FRESHNESS = INTERVAL '1' DAY AS SELECT * FROM s.w"
    )
    lake.sql("CREATE MATERIALIZED TABLE n FRESHNESS = INTERVAL '1' DAY AS SELECT m.k FROM s.m WHERE m.k > 0")
    assert [(table.name, table.sources) for table in lake.materialized_tables()] == [
        ("d.n", ("s.m",)),
        ("s.m", ("s.t",)),
    ]
    add(lake, "t", (2,))
    lake.refresh("s.m")
    lake.refresh("d.n")
    assert rows(lake, "SELECT k FROM d.n") == [(1,), (2,)]
    ((database, table, freshness, status, _, is_stale),) = rows(lake, "SHOW MATERIALIZED TABLES IN s LIKE 'm*'")
    assert (database, table, freshness, status, is_stale) == ("s", "m", "INTERVAL '1' DAY", "ACTIVATED", False)
    described = {(name, value) for name, value, _ in rows(lake, "DESCRIBE EXTENDED s.m")}
    assert {("Type", "MATERIALIZED"), ("Reads", "s.t"), ("Query", "SELECT * FROM `s`.`w`")} <= described


def test_a_table_that_flink_refreshes_is_read_and_not_refreshed(lake: Lake) -> None:
    lake.sql(TOTALS)
    lake.catalog.alter_table("s.totals", SetOption("materialized-table.refresh-handler-bytes", "AAAA"))
    assert loaded(lake).problem is not None
    for statement in ("REFRESH", "SUSPEND"):
        with pytest.raises(
            UnsupportedFeature, match=r"'s\.totals' cannot be .* here: a workflow of Flink refreshes it"
        ):
            lake.sql(f"ALTER MATERIALIZED TABLE totals {statement}")
    assert rows(lake, "SELECT * FROM totals") == [("a", 1), ("b", 2)]


def test_what_the_page_shows_works_as_it_is_written_there(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = paimon(spark, {"warehouse": str(tmp_path)})
    blocks = re.findall(r"```(sql|python|text)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (statements, program, printed) = (text for kind, text in blocks[:3])
    assert rows(lake, statements) == [(1, "2026-01-01", 30, 2), (2, "2026-01-02", 5, 1)]
    run_block(program, {"lake": lake})
    assert capsys.readouterr().out == printed

"""Queries of tables by DuckDB, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from table_format import Schema, Table, View
from table_format.catalog.jdbc.catalog import JdbcCatalog
from table_format.duckdb_sql import query
from table_format.errors import (
    DatabaseNotFound,
    InvalidInputError,
    InvalidOption,
    InvalidSql,
    PackageMissing,
    SnapshotNotFound,
    TableNotFound,
    UnsupportedFeature,
)
from table_format.model.types import BigIntType, DataField, VarCharType
from table_format.table.read import scan_dataset
from tests.support.jdbc_catalogs import jdbc_warehouse
from tests.support.tables import KEYED, Warehouse, keyed, memory_warehouse


@pytest.fixture
def warehouse() -> Warehouse:
    made = memory_warehouse()
    table = made.table(primary_keys=["id"])
    table.append(rows([1, 2], ["a", "b"], [1, 2]))
    table.append(rows([2, 3], ["c", None], [9, 3]))
    return made


def rows(ids: Sequence[int], days: Sequence[str | None], values: Sequence[int]) -> pa.Table:
    return pa.table({"id": ids, "dt": days, "v": values}, schema=KEYED)


RESULTS = {
    "SELECT id, v FROM db.t ORDER BY id": [(1, 1), (2, 9), (3, 3)],
    "FROM t SELECT max(v)": [(9,)],
    "SELECT t.id FROM paimon.db.t WHERE db.t.dt IN ('a', 'c') ORDER BY ALL": [(1,), (2,)],
    "SELECT now.v - old.v FROM t now JOIN t VERSION AS OF 1 old USING (id) ORDER BY 1": [(0,), (7,)],
    "SELECT t.v FROM t FOR VERSION AS OF 'first' WHERE t.id = 2": [(2,)],
    "WITH t AS (SELECT 1 AS one) SELECT * FROM t": [(1,)],
    'SELECT count(*) FROM "t$snapshots"': [(2,)],
    "SELECT `t`.`v` AS `a ``b\"`, '`', $$`$$ FROM `paimon`.`db`.`t` VERSION AS OF 1 -- `\n WHERE id = 1": [
        (1, "`", "`")
    ],
    "SELECT count(*) FROM `t$snapshots`": [(2,)],
    "SELECT count(*) FROM t TIMESTAMP AS OF '2999-01-01'": [(3,)],
    "SELECT count(*) FROM t TIMESTAMP AS OF TIMESTAMP '2999-01-01 00:00:00'": [(3,)],
    "SELECT count(*) FROM t TIMESTAMP AS OF 32503680000": [(3,)],
    "SELECT count(*) FROM t /*+ OPTIONS('scan.snapshot-id' = '1') */ WHERE t.id > 0": [(2,)],
    "SELECT count(*) FROM t /*+ OPTIONS('incremental-between' = '1,2') */ AS x, t": [(6,)],
    "SELECT '/*+ OPTIONS(x) */' FROM t VERSION AS OF 1 WHERE id = 1 -- /*+ OPTIONS('a' = 'b') */": [
        ("/*+ OPTIONS(x) */",)
    ],
    "FROM (PIVOT (SELECT v > 2 AS p FROM t) ON p USING count(*))": [(1, 2)],
    "SELECT db.t.id FROM db.t VERSION AS OF 1 WHERE paimon.db.t.v > 1": [(2,)],
    "SELECT t.*, db.t.v FROM t /*+ OPTIONS('scan.snapshot-id' = '1') */ WHERE db.t.v < 2": [(1, "a", 1, 1)],
    "SELECT db.t.v, x.v FROM db.t VERSION AS OF 1 JOIN t x ON db.t.id = x.id WHERE x.id = 2": [(2, 9)],
    "SELECT (SELECT max(u.v) FROM t u WHERE u.id = DB.T.id) FROM db.t VERSION AS OF 1 WHERE id = 2": [(9,)],
    "SELECT count(*) FROM range(3), t WHERE v IN (SELECT v FROM db.t WHERE id < 3)": [(6,)],
}


def test_versions_and_times_can_be_parameters(warehouse: Warehouse) -> None:
    text = "SELECT count(*) FROM db.t VERSION AS OF $version, db.t TIMESTAMP AS OF $time AS x WHERE x.id = $id"
    for time in (datetime(2999, 1, 1), date(2999, 1, 1), "2999-01-01 00:00:00", 32503680000):
        assert query(warehouse.catalog, text, {"version": 1, "time": time, "id": 1}).fetchall() == [(2,)]


def test_tables_of_the_same_name_in_two_databases_qualify_their_columns(warehouse: Warehouse) -> None:
    warehouse.catalog.create_database("other")
    other = warehouse.catalog.create_table("other.t", Schema.from_arrow(KEYED))
    assert isinstance(other, Table)
    other.append(rows([2], ["x"], [7]))
    text = "SELECT db.t.v, other.t.v FROM db.t VERSION AS OF 1 JOIN other.t{} ON db.t.id = other.t.id"
    for clause in ("", " VERSION AS OF 1"):
        assert query(warehouse.catalog, text.format(clause)).fetchall() == [(2, 7)]
        with pytest.raises(InvalidSql, match="'t' is the name of two tables"):
            query(warehouse.catalog, text.format(clause) + " WHERE t.v > 1")


def test_a_query_is_explained(warehouse: Warehouse) -> None:
    [(_, plan)] = query(warehouse.catalog, "EXPLAIN ANALYZE SELECT v FROM db.t VERSION AS OF 1").fetchall()
    assert "2 rows" in plan


@pytest.mark.parametrize("text", RESULTS)
def test_a_query_has_the_rows_of_the_tables(warehouse: Warehouse, text: str) -> None:
    opened = warehouse.catalog.load_table("db.t")
    assert isinstance(opened, Table)
    opened.create_tag("first", 1)
    assert query(warehouse.catalog, text, database="db").fetchall() == RESULTS[text]


def test_columns_and_conditions_are_pushed_down_to_the_scan(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans = []
    planned = scan_dataset.state_plan

    def noted(*arguments: object, **named: object) -> object:
        plans.append((arguments[2], str(arguments[3])))
        return planned(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(scan_dataset, "state_plan", noted)
    text = "SELECT v FROM (SELECT * FROM db.t) x WHERE x.id = $id AND length(x.dt) > 0"
    assert query(warehouse.catalog, text, {"id": 2}).fetchall() == [(9,)]
    [(columns, condition)] = plans
    assert set(columns) == {"id", "dt", "v"}
    assert "'id'" in condition
    plans.clear()
    assert query(warehouse.catalog, "SELECT count(*) FROM db.t").fetchall() == [(3,)]
    assert [columns for columns, _ in plans] == [("id",)]


WRITES = {
    "INSERT INTO db.t VALUES (1)": "INSERT",
    "DELETE FROM db.t": "DELETE",
    "UPDATE db.t SET v = 1": "UPDATE",
    "CREATE TABLE db.u AS SELECT 1": "CREATE",
    "DROP TABLE db.t": "DROP",
    "COPY db.t TO '/tmp/x.csv'": "COPY",
    "ATTACH '/tmp/x.db' AS other": "ATTACH",
    "EXPLAIN COPY (SELECT 1) TO '/tmp/x.csv'": "EXPLAIN",
    "MERGE INTO db.t USING db.t s ON t.id = s.id WHEN MATCHED THEN DELETE": "MERGE",
}


@pytest.mark.parametrize("text", WRITES)
def test_a_statement_that_is_not_a_query_is_refused_by_name(warehouse: Warehouse, text: str) -> None:
    with pytest.raises(UnsupportedFeature, match=f"{WRITES[text]}.* is not supported: DuckDB only reads"):
        query(warehouse.catalog, text, database="db")


def test_invalid_queries_are_refused(warehouse: Warehouse) -> None:
    with pytest.raises(InvalidInputError, match="found 2"):
        query(warehouse.catalog, "SELECT 1; SELECT 2")
    with pytest.raises(InvalidInputError, match="expected a time"):
        query(warehouse.catalog, "SELECT * FROM db.t TIMESTAMP AS OF 'yesterday'")
    for clause in ("", " VERSION AS OF 1", " /*+ OPTIONS('scan.version' = '1') */"):
        with pytest.raises(TableNotFound, match=r"table 'db\.nope' does not exist"):
            query(warehouse.catalog, "FROM db.nope" + clause)
    with pytest.raises(InvalidSql, match="line 1, column 36: expected a number, a text within quotes or a parameter"):
        query(warehouse.catalog, "SELECT * FROM db.t TIMESTAMP AS OF now()")
    with pytest.raises(InvalidSql, match="there is no parameter 'x'; the parameters are none"):
        query(warehouse.catalog, "SELECT * FROM db.t VERSION AS OF $x")
    with pytest.raises(InvalidSql, match="this OPTIONS hint does not follow a table name"):
        query(warehouse.catalog, "SELECT /*+ OPTIONS('scan.version' = '1') */ * FROM db.t")
    with pytest.raises(InvalidOption, match="'write-only': would have no effect on a batch read"):
        query(warehouse.catalog, "SELECT * FROM db.t /*+ OPTIONS('write-only' = 'true') */")
    with pytest.raises(InvalidInputError, match=r"AS OF and the option 'scan\.version' both name a state of 't'"):
        query(warehouse.catalog, "SELECT * FROM db.t VERSION AS OF 1 /*+ OPTIONS('scan.version' = '2') */")
    with pytest.raises(SnapshotNotFound):
        query(warehouse.catalog, "SELECT * FROM db.t VERSION AS OF 99")


def test_a_database_that_does_not_exist_is_named_with_the_nearest_name(warehouse: Warehouse) -> None:
    with pytest.raises(DatabaseNotFound, match=r"database 'dbb' does not exist.*did you mean db"):
        query(warehouse.catalog, "SELECT * FROM t", database="dbb")


def test_a_parameter_that_the_query_does_not_name_is_refused(warehouse: Warehouse) -> None:
    assert query(warehouse.catalog, "SELECT id FROM db.t WHERE id = $i", {"i": 1}).fetchall() == [(1,)]
    with pytest.raises(InvalidInputError, match=r"does not name the parameters \$ii; remove"):
        query(warehouse.catalog, "SELECT id FROM db.t WHERE id = $i", {"i": 1, "ii": 2})


def test_arguments_of_another_kind_are_named(warehouse: Warehouse) -> None:
    with pytest.raises(InvalidInputError, match="text: expected a text, found None"):
        query(warehouse.catalog, None)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=r"parameters: expected a mapping .*, found list \[1\]"):
        query(warehouse.catalog, "SELECT id FROM db.t WHERE id = ?", [1])  # type: ignore[arg-type]


def test_a_missing_package_is_named(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    table = warehouse.catalog.load_table("db.t")
    assert isinstance(table, Table)
    calls = [
        lambda: query(warehouse.catalog, "SELECT 1"),
        table.scan().to_duckdb,
        table.scan().to_polars,
        table.scan().to_polars_lazy,
    ]
    for call, name in zip(calls, ("duckdb", "duckdb", "polars", "polars"), strict=True):
        with pytest.raises(
            PackageMissing, match=rf"^{name} is not installed: pip install 'paimon-lakehouse\[{name}\]'$"
        ):
            call()


# --- views of the catalog ---------------------------------------------------------------------------------------------


@pytest.fixture
def with_views(tmp_path: Path) -> JdbcCatalog:
    """A catalog with the table ``db.t``, whose second snapshot has one more row."""
    warehouse = jdbc_warehouse(tmp_path)
    table = warehouse.table()
    table.append(keyed([(1, "a", 10), (2, "b", 20)]))
    table.append(keyed([(3, "c", 30)]))
    assert isinstance(warehouse.catalog, JdbcCatalog)
    return warehouse.catalog


def store(catalog: JdbcCatalog, name: str, columns: str, text: str, **dialects: str) -> None:
    """Store a view; columns whose name is of one letter or ends with ``id`` are numbers, the others are texts."""
    types = {c: BigIntType() if len(c) == 1 or c.endswith("id") else VarCharType() for c in columns.split()}
    fields = [DataField(number, column, kind) for number, (column, kind) in enumerate(types.items())]
    view = View.of(name, fields, text)
    catalog.create_view(replace(view, dialects={**view.dialects, **dialects}))


def test_a_view_has_the_rows_of_its_text_now(with_views: JdbcCatalog) -> None:
    with_views.create_database("other")
    store(with_views, "db.old", "id day", "SELECT * FROM db.t VERSION AS OF 1 -- two columns")
    store(with_views, "other.w", "n", "SELECT id * 10 FROM db.old")
    store(with_views, "db.here", "n", "SELECT count(*) FROM t")
    store(with_views, "db.mine", "whose", "SELECT `of spark`", duckdb="SELECT 'of duckdb'")
    for text, expected in {
        "SELECT * FROM db.old ORDER BY id": [(1, "a"), (2, "b")],
        "SELECT old.id, w.n FROM db.old JOIN other.w ON n = id * 10 ORDER BY 1": [(1, 10), (2, 20)],
        "SELECT sum(n) FROM paimon.other.w x": [(30,)],
        "SELECT t.id FROM db.t WHERE id NOT IN (SELECT id FROM db.old)": [(3,)],
        "SELECT * FROM db.mine": [("of duckdb",)],
    }.items():
        assert query(with_views, text).fetchall() == expected
    assert query(with_views, "FROM here", database="db").fetchall() == [(3,)]


def test_a_view_that_cannot_be_read_says_why(with_views: JdbcCatalog) -> None:
    store(with_views, "db.spark", "n", "SELECT `id` FROM db.t LATERAL VIEW explode(array(1)) AS x")
    store(with_views, "db.gone", "n", "SELECT * FROM db.missing")
    store(with_views, "db.a", "n", "SELECT * FROM db.b")
    store(with_views, "db.b", "n", "SELECT * FROM db.a")
    store(with_views, "db.wide", "n m", "SELECT 1")
    store(with_views, "db.moved", "id day", "SELECT dt, id FROM db.t")
    store(with_views, "db.writes", "n", "DROP TABLE t")
    with_views.create_view(View.of("db.flink", (), "SELECT 1", dialect="flink"))
    for text, error, reason in (
        ("FROM db.spark", InvalidInputError, r"view 'db\.spark': DuckDB cannot run its text .*alter_view_dialect"),
        ("FROM db.writes", InvalidInputError, r"view 'db\.writes': DuckDB cannot run its text"),
        ("FROM db.gone", TableNotFound, r"view 'db\.gone': table 'db\.missing' does not exist"),
        ("FROM db.a", InvalidInputError, r"view 'db\.a' refers to itself: db\.a -> db\.b -> db\.a"),
        ("FROM db.wide", InvalidInputError, r"view 'db\.wide' has 2 columns, but its query now has 1"),
        ("FROM db.moved", InvalidInputError, r"declares column 'id' as BIGINT, but its query now has VARCHAR"),
        ("FROM db.flink", UnsupportedFeature, r"its dialects are flink"),
        ("FROM db.wide VERSION AS OF 1", InvalidInputError, r"'db\.wide' is a view"),
    ):
        with pytest.raises(error, match=reason):
            query(with_views, f"SELECT * {text}").fetchall()

"""The grammar of each statement, and parsing of the smaller grammars."""

from __future__ import annotations

from typing import Any

import pytest

from table_format.errors import InvalidSql, UnsupportedFeature
from table_format.model.view import RemoveViewOption, SetViewComment, SetViewOption
from table_format.sql import alter, alter_view, calls, changes, databases, insert, queries, show, tables, views
from table_format.sql.alter_view import AlterViewProperties, AlterViewQuery, RenameView
from table_format.sql.calls import CallProcedure
from table_format.sql.databases import CreateDatabase, DescribeDatabase, DropDatabase, UseDatabase
from table_format.sql.grammar import grammar_of
from table_format.sql.insert import OF_QUERY, Insert
from table_format.sql.queries import Explain, OfEngine, Query
from table_format.sql.reader import Reader, SqlName
from table_format.sql.show import (
    DescribeQuery,
    DescribeTable,
    ShowCurrentDatabase,
    ShowDatabases,
    ShowOfTable,
    ShowOptions,
    ShowTables,
    ShowViews,
)
from table_format.sql.values import without_defaults
from table_format.sql.views import CreateStoredView, CreateView, DropView

FAMILIES = (alter, alter_view, calls, changes, databases, insert, queries, show, tables, views)
D, T, DT = SqlName(("d",)), SqlName(("t",)), SqlName(("d", "t"))


def read(text: str, **parameters: object) -> Any:
    reader = Reader.of(text, parameters)
    grammar = grammar_of(reader, [family.GRAMMAR for family in FAMILIES])
    assert grammar is not None
    return grammar.read(reader)


STATEMENTS: dict[str, object] = {
    "CREATE DATABASE IF NOT EXISTS d": CreateDatabase(D, if_not_exists=True),
    "CREATE SCHEMA d": CreateDatabase(D),
    "DROP DATABASE IF EXISTS d CASCADE": DropDatabase(D, if_exists=True, cascade=True),
    "USE d": UseDatabase(D),
    "USE DATABASE d": UseDatabase(D),
    "DESCRIBE DATABASE d": DescribeDatabase(D),
    "SHOW DATABASES LIKE 'a*'": ShowDatabases("a*"),
    "SHOW NAMESPACES IN paimon 'a*'": ShowDatabases("a*"),
    "SHOW CURRENT DATABASE": ShowCurrentDatabase(),
    "SHOW VIEWS FROM d 'v*'": ShowViews(D, "v*"),
    "DESCRIBE QUERY SELECT 1": DescribeQuery("               SELECT 1"),
    "DESC WITH a AS (SELECT 1) SELECT * FROM a": DescribeQuery("     WITH a AS (SELECT 1) SELECT * FROM a"),
    "DESC query": DescribeTable(SqlName(("query",))),
    "DESCRIBE FUNCTION max": OfEngine("DESCRIBE FUNCTION max"),
    "SHOW TABLES": ShowTables(),
    "SHOW TABLES IN d LIKE 'x|y'": ShowTables(D, "x|y"),
    "SHOW PARTITIONS d.t PARTITION (dt = 'x')": ShowOfTable("PARTITIONS", DT, {"dt": "x"}),
    "SHOW TAGS d.t": ShowOfTable("TAGS", DT),
    "SHOW BRANCHES d.t": ShowOfTable("BRANCHES", DT),
    "SHOW CREATE TABLE d.t": ShowOfTable("CREATE TABLE", DT),
    "SHOW COLUMNS IN t FROM d": ShowOfTable("COLUMNS", DT),
    "SHOW TBLPROPERTIES d.t ('bucket')": ShowOptions(DT, "bucket"),
    "DESC d.t": DescribeTable(DT),
    "DESCRIBE TABLE EXTENDED d.t": DescribeTable(DT, extended=True),
    "DESCRIBE d.t c": DescribeTable(DT, column="c"),
    "CALL sys.compact('d.t', order_by => 'a', x => -3)": CallProcedure(
        SqlName(("sys", "compact")), ("d.t",), {"order_by": "a", "x": -3}
    ),
    "CALL sys.help": CallProcedure(SqlName(("sys", "help"))),
    "EXPLAIN EXTENDED SELECT 1": Explain("EXTENDED", "                 SELECT 1"),
    "SELECT 1": Query("SELECT 1"),
    "WITH a AS (SELECT 1) SELECT f(x) delete FROM a": Query("WITH a AS (SELECT 1) SELECT f(x) delete FROM a"),
    "SET a.b = c": OfEngine("SET a.b = c"),
    "SHOW FUNCTIONS": OfEngine("SHOW FUNCTIONS"),
    "SHOW CREATE VIEW d.t": ShowOfTable("CREATE VIEW", DT),
    "CREATE VIEW IF NOT EXISTS d.t AS SELECT 1": CreateStoredView(DT, " " * 33 + "SELECT 1", if_not_exists=True),
    "CREATE OR REPLACE VIEW t (a COMMENT 'x', b) TBLPROPERTIES ('k' = 'v') COMMENT 'c' AS TABLE s": CreateStoredView(
        T, " " * 85 + "TABLE s", (("a", "x"), ("b", None)), "c", {"k": "v"}, or_replace=True
    ),
    "DROP VIEW v": DropView(SqlName(("v",)), text="DROP VIEW v"),
    "ALTER VIEW t AS SELECT 1": AlterViewQuery(T, " " * 16 + "SELECT 1", "ALTER VIEW t AS SELECT 1"),
    "ALTER VIEW t RENAME TO d.t": RenameView(T, DT, "ALTER VIEW t RENAME TO d.t"),
    "ALTER VIEW t SET TBLPROPERTIES (a.b = 1, 'comment' = 'c')": AlterViewProperties(
        T,
        (SetViewOption("a.b", "1"), SetViewComment("c")),
        "ALTER VIEW t SET TBLPROPERTIES (a.b = 1, 'comment' = 'c')",
    ),
    "ALTER VIEW t UNSET TBLPROPERTIES IF EXISTS ('a', comment)": AlterViewProperties(
        T,
        (RemoveViewOption("a"), SetViewComment(None)),
        "ALTER VIEW t UNSET TBLPROPERTIES IF EXISTS ('a', comment)",
    ),
    "INSERT INTO TABLE d.t (a, b) VALUES (1, 2)": Insert(
        DT, "                             VALUES (1, 2)", columns=("a", "b")
    ),
    "INSERT OVERWRITE d.t PARTITION (a = 1, b) SELECT 2": Insert(
        DT, "                                          SELECT 2", overwrites=True, partition={"a": 1, "b": OF_QUERY}
    ),
    "INSERT INTO t BY NAME SELECT 1 AS a": Insert(T, "                      SELECT 1 AS a", by_name=True),
    "WITH a AS (SELECT 1) INSERT INTO t (b) SELECT * FROM a": Insert(
        T, "WITH a AS (SELECT 1)                   SELECT * FROM a", columns=("b",)
    ),
    "INSERT INTO t REPLACE WHERE a = 1 AND b IN (SELECT 1) TABLE u": Insert(
        T, " " * 54 + "TABLE u", replaces="a = 1 AND b IN (SELECT 1)"
    ),
    "INSERT INTO t /*+ OPTIONS('a'='b') */ (SELECT 1)": Insert(
        T, "                                      (SELECT 1)", options={"a": "b"}
    ),
}


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_statement_is_parsed(text: str) -> None:
    assert read(text) == STATEMENTS[text]


def test_a_view_keeps_its_query() -> None:
    found = read("CREATE OR REPLACE TEMPORARY VIEW v (a, b) AS SELECT 1, 2")
    assert isinstance(found, CreateView)
    assert (found.name, found.columns, found.or_replace) == (SqlName(("v",)), ("a", "b"), True)
    assert found.query.strip() == "SELECT 1, 2"


def test_parameters_are_replaced_by_their_values() -> None:
    assert read("CALL sys.rollback(:t, snapshot => :id)", t="d.t", id=3).named == {"snapshot": 3}


def test_default_is_null_in_values_and_a_name_elsewhere() -> None:
    assert without_defaults("VALUES (1, DEFAULT), (default, 'DEFAULT')") == "VALUES (1, NULL), (NULL, 'DEFAULT')"
    assert without_defaults("SELECT default, a FROM t") == "SELECT default, a FROM t"
    assert without_defaults("SELECT f(default), 1, DEFAULT", ["7", "8"]) == "SELECT f(default), 1, NULL"
    assert without_defaults("SELECT DEFAULT, DEFAULT UNION ALL SELECT 1, 2", ["7"]) == (
        "SELECT 7, DEFAULT UNION ALL SELECT 1, 2"
    )


REFUSED = {
    "CREATE DATABASE d LOCATION '/x'": "CREATE DATABASE ... LOCATION",
    "USE CATALOG c": "USE CATALOG",
    "CREATE CATALOG c WITH ('type' = 'paimon')": "CREATE CATALOG",
    "ALTER DATABASE d SET LOCATION '/x'": "ALTER DATABASE",
    "SHOW TABLE EXTENDED LIKE 'x'": "SHOW TABLE EXTENDED",
    "CREATE VIEW v WITH SCHEMA EVOLUTION AS SELECT 1": "CREATE VIEW ... WITH SCHEMA",
    "CREATE VIEW v PARTITIONED ON (a) AS SELECT 1 AS a": "CREATE VIEW ... PARTITIONED ON",
    "ALTER VIEW v WITH SCHEMA BINDING": "ALTER VIEW ... WITH SCHEMA",
    "CREATE TEMPORARY VIEW IF NOT EXISTS v AS SELECT 1": "CREATE TEMPORARY VIEW IF NOT EXISTS",
    "CREATE GLOBAL TEMPORARY VIEW v AS SELECT 1": "CREATE GLOBAL TEMPORARY VIEW",
    "INSERT INTO t REPLACE USING (a) SELECT 1": "INSERT INTO ... REPLACE without WHERE",
    "INSERT OVERWRITE t REPLACE WHERE a = 1 SELECT 1": "REPLACE WHERE with OVERWRITE, PARTITION or columns",
    "INSERT OVERWRITE DIRECTORY '/x' SELECT 1": "INSERT OVERWRITE DIRECTORY",
    "FROM a INSERT INTO t SELECT 1": "INSERT after FROM",
    "WITH a AS (SELECT 1) INSERT INTO t WITH b AS (SELECT 1) SELECT 1": "WITH before and after INSERT",
    "SHOW CREATE TABLE t AS SERDE": "SHOW CREATE TABLE ... AS SERDE",
    "DESCRIBE t AS JSON": "DESCRIBE ... AS JSON",
    "ALTER TABLE t REPLACE COLUMNS (a INT)": "REPLACE COLUMNS",
    "ALTER TABLE t CLUSTER BY (a)": "ALTER TABLE ... CLUSTER BY",
    "ALTER TABLE t RENAME PARTITION (a = 1) TO (a = 2)": "ALTER TABLE ... PARTITION",
    "ALTER TABLE t ADD COLUMN IF NOT EXISTS a INT": "ADD COLUMN IF NOT EXISTS",
    "MERGE INTO t USING s AS x VERSION AS OF 1 ON true WHEN MATCHED THEN DELETE": "time travel here",
    "MERGE INTO t USING (SELECT 1) VERSION AS OF 1 ON true WHEN MATCHED THEN DELETE": "time travel here",
    "MERGE INTO t USING s JOIN u ON s.a = u.a ON true WHEN MATCHED THEN DELETE": "JOIN after the source",
    "MERGE INTO t USING s AS x LEFT JOIN u ON s.a = u.a ON true WHEN MATCHED THEN DELETE": "LEFT after the source",
    "MERGE INTO t USING s WHERE a = 1 ON true WHEN MATCHED THEN DELETE": "WHERE after the source",
    "MERGE INTO t USING s TABLESAMPLE (1 ROWS) ON true WHEN MATCHED THEN DELETE": "TABLESAMPLE after the source",
    "MERGE INTO t USING s, u ON true WHEN MATCHED THEN DELETE": "a list of sources",
    "WITH a AS (SELECT 1) MERGE INTO t USING a ON t.b = a.b WHEN MATCHED THEN DELETE": "MERGE after WITH",
    "WITH a(b) AS (SELECT (1)), c (SELECT 2) UPDATE t SET b = 1": "UPDATE after WITH",
    "with a as (SELECT 1) delete from t": "DELETE after WITH",
    "EXPLAIN INSERT INTO t SELECT 1": "EXPLAIN of a statement that is not a query",
    "DESCRIBE t PARTITION (a = 1)": "DESCRIBE ... PARTITION",
}


@pytest.mark.parametrize("text", REFUSED)
def test_the_error_names_an_unsupported_clause(text: str) -> None:
    with pytest.raises(UnsupportedFeature, match=r"^line 1, column \d+: .* is not supported; \w") as raised:
        read(text)
    assert raised.value.feature == REFUSED[text]


@pytest.mark.parametrize(
    "text", ["CALL sys.x(a => 1, 2)", "CALL sys.x(a => 1, a => 2)", "CALL sys.x(1", "INSERT INTO t", "SHOW PARTITIONS"]
)
def test_a_syntax_error_is_refused(text: str) -> None:
    with pytest.raises(InvalidSql, match=r"^line 1, column \d+: "):
        read(text)

"""A hint of options has an effect, or its statement is refused."""

from __future__ import annotations

import pytest

from table_format.errors import InvalidSql, UnsupportedFeature
from table_format.sql import alter, calls, changes, insert, queries, show, tables, views
from table_format.sql.grammar import grammar_of
from table_format.sql.hints import refuse_idle_hint
from table_format.sql.reader import Reader
from table_format.sql.references import tables_of

GRAMMARS = [module.GRAMMAR for module in (alter, calls, changes, insert, queries, show, tables, views)]
HINT = "/*+ OPTIONS('scan.snapshot-id' = '1') */"


def read(text: str) -> None:
    """Read a statement as ``Lake.sql`` does; ``{}`` stands for a hint."""
    reader = Reader.of(text.replace("{}", HINT))
    grammar = grammar_of(reader, GRAMMARS)
    assert grammar is not None
    grammar.read(reader)
    refuse_idle_hint(reader)


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE t {} SET a = 1",
        "UPDATE t SET a = 1 {} WHERE b = 2",
        "DELETE FROM t {} WHERE a = 1",
        "MERGE INTO t {} USING s ON t.a = s.a WHEN MATCHED THEN DELETE",
        "MERGE INTO t USING s {} ON t.a = s.a WHEN MATCHED THEN DELETE",
        "INSERT INTO t (a) {} SELECT 1",
        "INSERT INTO t PARTITION (a = 1) {} SELECT 1",
        "TRUNCATE TABLE t {}",
        "DROP TABLE t {}",
        "CREATE TABLE t {} (a INT)",
        "CREATE TABLE t LIKE s {}",
        "ALTER TABLE t {} SET TBLPROPERTIES ('a' = 'b')",
        "ANALYZE TABLE t {} COMPUTE STATISTICS",
        "CALL sys.compact('t') {}",
        "SHOW PARTITIONS t {}",
        "DESCRIBE t {}",
    ],
)
def test_a_hint_that_a_statement_does_not_heed_is_refused_with_its_place(text: str) -> None:
    column = text.index("{}") + 1
    with pytest.raises(UnsupportedFeature, match=rf"line 1, column {column}: a hint of options here .* USING \(SELECT"):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM t {}",
        "EXPLAIN SELECT * FROM t {}",
        "INSERT INTO t {} (a) SELECT a FROM s {}",
        "INSERT OVERWRITE t {} PARTITION (a = 1) SELECT 1",
        "CREATE TABLE t AS SELECT * FROM s {}",
        "CREATE TEMPORARY VIEW v AS SELECT * FROM s {}",
        "UPDATE t SET a = (SELECT max(a) FROM s {}) WHERE b IN (SELECT b FROM s {})",
        "DELETE FROM t WHERE EXISTS (SELECT 1 FROM s {})",
        "MERGE INTO t USING (SELECT * FROM s {}) s ON t.a = s.a WHEN MATCHED THEN DELETE",
        "MERGE INTO t USING s ON t.a = s.a WHEN MATCHED AND s.b IN (SELECT b FROM u {}) THEN DELETE",
        'CREATE TABLE t (a INT) COMMENT "{}"',
        'DELETE FROM t WHERE a = "{}" -- {}',
        "UPDATE t SET a = 1 /* {} */",
    ],
)
def test_a_hint_in_a_query_or_behind_the_table_of_an_insert_is_left_to_it(text: str) -> None:
    read(text)


def test_a_hint_in_a_text_or_in_a_comment_has_no_effect() -> None:
    for text in ('SELECT "{}" FROM t', "SELECT * FROM t -- {}", "SELECT * FROM t /* {} */ WHERE a = 1"):
        (use,) = tables_of(text.replace("{}", HINT)).tables
        assert use.options == {}


def test_hints_and_comments_may_follow_each_other() -> None:
    text = "SELECT * FROM t /* a */ {} -- b\n VERSION AS OF 2 /*+ OPTIONS('x' = 'y') */ -- /* c".replace("{}", HINT)
    (use,) = tables_of(text).tables
    assert use.options == {"scan.snapshot-id": "1", "x": "y"}
    assert text[use.end :] == " -- /* c"


def test_a_hint_before_the_table_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidSql, match="line 1, column 8: this OPTIONS hint does not follow a table name"):
        tables_of("SELECT {} * FROM t".replace("{}", HINT))

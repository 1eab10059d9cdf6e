"""Splitting of a script into statements."""

from __future__ import annotations

import pytest

from table_format.errors import InvalidSql
from table_format.sql.reader import Reader
from table_format.sql.script import statements_of


def test_semicolons_outside_strings_names_and_comments_separate_statements() -> None:
    text = "SELECT ';' AS `a;b` -- c; d\n/* e; */ FROM t;\n\n;INSERT INTO t VALUES (\"x;y\") ;"
    first, second = statements_of(text)
    assert first == "SELECT ';' AS `a;b` -- c; d\n/* e; */ FROM t"
    assert second.strip() == 'INSERT INTO t VALUES ("x;y")'


def test_a_statement_keeps_its_line_and_column_in_the_script() -> None:
    text = "SELECT 1;\n  SELECT 2;\nSELECT 3"
    for statement, number in zip(statements_of(text), "123", strict=True):
        assert statement.index(number) == text.index(number)


def test_a_hint_after_the_last_word_is_part_of_the_statement() -> None:
    assert statements_of("SELECT * FROM t /*+ OPTIONS('a'='b') */ ;") == ("SELECT * FROM t /*+ OPTIONS('a'='b') */",)


def test_a_script_of_comments_and_semicolons_has_no_statements() -> None:
    assert statements_of(" -- nothing\n;;") == ()


@pytest.mark.parametrize("text", ["SELECT 'a", "SELECT `a", "SELECT 1 /* a"])
def test_a_quote_or_a_comment_that_is_not_closed_is_an_error(text: str) -> None:
    with pytest.raises(InvalidSql, match=r"line 1, column \d+: a quote or a comment is not closed"):
        statements_of(text)


def test_an_error_has_the_line_and_column_in_the_script() -> None:
    (statement,) = statements_of("-- one\n\n  DROP DATABASE 7")
    reader = Reader.of(statement)
    reader.expect("DROP", "DATABASE")
    with pytest.raises(InvalidSql, match="line 3, column 17: expected the name of a database, found '7'") as raised:
        reader.qualified_name("the name of a database")
    assert (raised.value.line, raised.value.column) == (3, 17)

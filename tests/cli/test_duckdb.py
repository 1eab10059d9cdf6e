"""``lakehouse sql --engine duckdb``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from table_format import Table
from tests.cli.conftest import Shell


def sql(*arguments: str) -> tuple[str, ...]:
    return ("sql", "--engine", "duckdb", *arguments)


def test_a_query_runs_without_spark(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(3, 2)
    shown = shell(*sql("SELECT state, count(*) AS n, max(id) AS last FROM shop.orders GROUP BY ALL"))
    assert [line.split() for line in shown.splitlines()] == [["state", "n", "last"], ["new", "5", "4"]]


def test_a_query_is_read_from_a_file_and_its_rows_are_written_to_one(
    shell: Shell, orders: Callable[..., Table], tmp_path: Path
) -> None:
    orders(3, 2)
    (tmp_path / "q.sql").write_text("SELECT id FROM shop.orders VERSION AS OF 1 ORDER BY id DESC;")
    shell(*sql("--file", str(tmp_path / "q.sql"), "--limit", "2", "--output", str(tmp_path / "ids.csv")))
    assert (tmp_path / "ids.csv").read_text().splitlines() == ['"id"', "2", "1"]


def test_a_query_comes_through_a_pipe(shell: Shell, orders: Callable[..., Table]) -> None:
    orders(3)
    assert (
        shell(*sql("--file", "-", "--format", "jsonl"), input="SELECT count(*) AS n FROM shop.orders") == '{"n": 3}\n'
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("DELETE FROM shop.orders", "DELETE is not supported"),
        ("SELECT price FROM shop.orders", "price"),
        ("SELECT * FROM shop.nothing", "nothing"),
        ("SELEC 1", "SELEC"),
    ],
)
def test_a_statement_that_is_not_a_query_is_refused_in_one_line(
    shell: Shell, orders: Callable[..., Table], text: str, said: str
) -> None:
    orders(1)
    line = shell.error(*sql(text))
    assert said in line
    assert "defect" not in line


def test_without_duckdb_an_error_of_one_line_names_it(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert shell.error(*sql("SELECT 1")) == "error: duckdb is not installed: pip install 'paimon-lakehouse[duckdb]'"

"""``lakehouse sql`` on the session of the tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from table_format.cli.program import lakehouse
from tests.spark.lakes import TestLake

pytestmark = pytest.mark.spark


@pytest.fixture
def warehouse(lake: TestLake, tmp_path: Path) -> Path:
    lake.lake.sql(
        "CREATE TABLE s.orders (id BIGINT NOT NULL, at TIMESTAMP, tags ARRAY<STRING>) TBLPROPERTIES ('bucket' = '-1')"
    )
    return tmp_path / "warehouse"


def run(warehouse: Path, *arguments: str) -> Result:
    return CliRunner().invoke(lakehouse, ["-w", str(warehouse), "sql", *arguments])


def test_statements_run_one_after_the_other(warehouse: Path, spark: Any) -> None:
    text = """
        INSERT INTO s.orders VALUES (2, NULL, array('a')), (1, NULL, NULL);
        SELECT id, id AS id FROM s.orders ORDER BY id
    """
    result = run(warehouse, text, "--format", "csv")
    assert result.stdout.splitlines() == ['"id","id"', "1,1", "2,2"], result.output
    assert spark.range(1).count() == 1  # a session that was there before goes on


def test_rows_keep_their_types_in_a_file(warehouse: Path, tmp_path: Path) -> None:
    statements = tmp_path / "rows.sql"
    statements.write_text("INSERT INTO s.orders VALUES (1, TIMESTAMP '2026-01-01 10:00:00+02:00', array('a', NULL));")
    assert run(warehouse, "--file", str(statements)).exit_code == 0
    file = tmp_path / "rows.parquet"
    assert run(warehouse, "SELECT * FROM s.orders", "--output", str(file)).exit_code == 0
    rows = pq.read_table(file)
    assert rows["at"].cast(pa.timestamp("us", "UTC")).to_pylist()[0].isoformat() == "2026-01-01T08:00:00+00:00"
    assert rows["tags"].to_pylist() == [["a", None]]


@pytest.mark.parametrize(
    ("text", "said"),
    [("SELECT * FROM s.nothing", "s.nothing"), ("SELEC 1", "line 1"), ("SELECT nothing FROM s.orders", "nothing")],
)
def test_a_refused_statement_is_an_error_of_one_line(warehouse: Path, text: str, said: str) -> None:
    result = run(warehouse, text)
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert said in line
    assert "defect" not in line

"""The same SQL here and by the real Paimon on Spark 3.5: equal rows, and errors for the same statements."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from table_format.sql.script import statements_of
from tests.oracle.random_dml import KINDS, differences, random_script
from tests.oracle.sql_sides import BothSides, are_equal

SCRIPT = Path(__file__).parent / "statements.sql"
SEED = 18
TABLES = 3 * len(KINDS)
"""Tables of random statements; ``python -m tests.oracle.random_dml`` runs as many as are wanted."""

_NESTED = "release 0.9.0 has no changes of nested columns, later ones have"
_QUALIFIED = "release 0.9.0 does not find a column by its qualified name there"
_INSERTED = "release 0.9.0 requires all columns in an INSERT clause, and looks for them in the source"
_CAST = "Paimon casts what it stores without a check, so a number overflows; here it is Spark's own check"
DIFFERENT = {
    "SELECT * FROM t TIMESTAMP AS OF '2001-01-01 00:00:00'": "release 0.9.0 shows the first snapshot, which is later",
    "CALL sys.rollback(table => 'd.t', version => '2')": "later releases give the ids of the two snapshots",
    "INSERT INTO ty (i8) VALUES (1000)": _CAST,
    "INSERT INTO ty (i32) VALUES ('12')": _CAST,
    "SELECT dec FROM ty WHERE i32 IS NULL": _CAST,
    "ALTER TABLE ty ALTER COLUMN s TYPE INT": "Spark itself refuses there what the catalog of 1.4.2 takes, as here",
    "ALTER TABLE ty ADD COLUMN st.w DOUBLE": _NESTED,
    "SELECT i32, st.w FROM ty WHERE b": _NESTED,
    "DESCRIBE ty": _NESTED,
    "MERGE INTO m t USING src2 s ON t.k = s.k WHEN MATCHED THEN UPDATE SET t.n = 70": _QUALIFIED,
    "MERGE INTO m USING src ON m.k = src.k WHEN NOT MATCHED THEN INSERT (k, n) VALUES (src.k, 200)": _INSERTED,
    "MERGE INTO m t USING src2 s ON t.k = s.k WHEN NOT MATCHED BY SOURCE AND t.k > 100 THEN DELETE": _QUALIFIED,
}
"""Statements whose results differ, and why."""

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BothSides]:
    with BothSides(tmp_path_factory.mktemp("sql")) as running:
        yield running


def test_statements_have_the_same_results_here_and_there(sides: BothSides) -> None:
    statements = [statement.strip() for statement in statements_of(SCRIPT.read_text())]
    assert len(statements) >= 200
    different = {
        statement: (theirs, ours)
        for statement, (theirs, ours) in zip(statements, sides.run(statements), strict=True)
        if not are_equal(theirs, ours)
    }
    shown = "\n\n".join(f"{text}\n  there: {theirs}\n  here:  {ours}" for text, (theirs, ours) in different.items())
    assert different.keys() == DIFFERENT.keys(), shown


def test_random_changes_of_rows_have_the_same_results_here_and_there(sides: BothSides) -> None:
    sides.run(["CREATE DATABASE IF NOT EXISTS random", "USE random"])
    found = [text for number in range(TABLES) for text in differences(sides, random_script(SEED, number))]
    assert not found, "\n\n".join(found)

"""What Spark's Python processes import for a task; each of them starts with it."""

from __future__ import annotations

import subprocess
import sys

import pytest

ONLY_ELSEWHERE = (
    "sqlglot",
    "table_format.catalog",
    "table_format.metastore.expiry",
    "table_format.spark.lake",
    "table_format.sql",
    "table_format.table.changes",
    "table_format.table.table",
    "table_format.table.upkeep",
    "table_format.table.verify",
)
WRITING = ("table_format.lsm.compact", "table_format.table.placement", "table_format.table.write")


@pytest.mark.parametrize(
    ("module", "unneeded"),
    [
        ("table_format.spark.tasks.read_work", (*ONLY_ELSEWHERE, *WRITING)),
        ("table_format.spark.source.reader", (*ONLY_ELSEWHERE, *WRITING)),
        ("table_format.spark.tasks.table_work", ONLY_ELSEWHERE),
    ],
)
def test_a_task_imports_nothing_that_only_other_work_needs(module: str, unneeded: tuple[str, ...]) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert module in loaded
    found = [name for name in loaded if any(name == other or name.startswith(f"{other}.") for other in unneeded)]
    assert found == []

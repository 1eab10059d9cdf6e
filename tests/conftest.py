"""What makes the tests quick: long files come first, so that no worker is left with one at the end; and Spark's JVMs,
which live for minutes, do not spend half of their time on optimising code.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

HERE: Final = Path(__file__).parent
LONG_FIRST: Final = (
    "jobs/test_demo.py",
    "wheel/test_fifteen_minutes.py",
    "spark/test_table_modes.py",
    "simulation/test_compaction_faults.py",
    "spark/test_system_tables.py",
    "simulation/test_every_call.py",
    "model/test_table_histories.py",
    "spark/jobs/test_sort_compact.py",
    "simulation/test_mutants.py",
    "races/test_dynamic_bucket_races.py",
    "spark",
    "dagster",
    "simulation",
    "races",
    "corruption",
)
"""Files and directories by the time they take, the longest first; everything else follows."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """For ``--dist loadfile --no-loadscope-reorder``; tests of a file keep their order."""
    items.sort(key=lambda item: _rank(item.path))


def _rank(path: Path) -> int:
    name = path.relative_to(HERE).as_posix() if path.is_relative_to(HERE) else ""
    ranks = (rank for rank, first in enumerate(LONG_FIRST) if name == first or name.startswith(f"{first}/"))
    return next(ranks, len(LONG_FIRST))

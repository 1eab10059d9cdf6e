"""The tables of the demo, read by the real Paimon: at every snapshot by its Java core, the latest by Spark 3.5."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from table_format import load_catalog
from tests.oracle.compare import assert_same_at_every_snapshot
from tests.oracle.install import SPARK_CONNECTOR, VERSIONS, jar_name
from tests.oracle.peer import DIRECTORY, PaimonPeer
from tests.oracle.spark_reader import plain
from tests.support.json_rows import sorted_rows
from tests.support.shared_classes import QUICK

ROOT = Path(__file__).parent.parent.parent
DAYS, EVENTS = 9, 100


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse that the demo has filled, with the schema change of day 8 behind it."""
    directory = tmp_path_factory.mktemp("demo")
    home = directory / "dagster"
    home.mkdir()
    target = directory / "warehouse"
    command = [sys.executable, "-m", "jobs.demo", f"--days={DAYS}", f"--events={EVENTS}", f"--warehouse={target}"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "DAGSTER_HOME": str(home)}, check=True)
    return target


def tables_of(warehouse: Path) -> list[str]:
    catalog = load_catalog({"warehouse": str(warehouse)})
    return [f"{database}.{table}" for database in catalog.list_databases() for table in catalog.list_tables(database)]


def test_every_table_of_the_demo_reads_equal_at_every_snapshot(
    peers: Callable[[str], PaimonPeer], warehouse: Path
) -> None:
    # All versions in one test: the demo takes longer than all comparisons, and workers share nothing.
    for version in VERSIONS:
        paimon = peers(version)
        compared = {name: assert_same_at_every_snapshot(paimon, warehouse, name) for name in tables_of(warehouse)}
        assert len(compared) >= 5
        assert all(compared.values()), version


def test_spark_3_5_with_paimon_0_9_0_reads_the_latest_rows(warehouse: Path) -> None:
    names = tables_of(warehouse)
    jar = DIRECTORY / "jars" / jar_name(SPARK_CONNECTOR)
    reader = Path(__file__).parent / "spark_reader.py"
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK", "SPARK", "PYTHON"))}
    clean["SPARK_SUBMIT_OPTS"] = QUICK
    command = [DIRECTORY / "spark" / "bin" / "python", reader, jar, warehouse, *names]
    answer = subprocess.run(command, env=clean, check=True, capture_output=True, text=True)
    lines = [line for line in answer.stdout.splitlines() if line.startswith("TABLE ")]
    found = {table["name"]: table for table in (json.loads(line.removeprefix("TABLE ")) for line in lines)}
    assert sorted(found) == sorted(names)
    catalog = load_catalog({"warehouse": str(warehouse)})
    for name, theirs in found.items():
        ours = catalog.load_table(name).scan().to_arrow()
        assert theirs["columns"] == ours.column_names
        rows = [[plain(value) for value in row.values()] for row in ours.to_pylist()]
        assert sorted_rows(theirs["rows"]) == sorted_rows(rows), name

"""``dg`` works in this project, whose definitions are in ``definitions.py``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.one_process import DG, in_one_process, printed_by_each

pytestmark = pytest.mark.dagster

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What ``dg`` prints that checks the definitions, and then lists them."""
    commands = [["dg", "check", "defs"], ["dg", "list", "defs", "--json"]]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "DAGSTER_HOME": str(tmp_path_factory.mktemp("home"))}
    command = [sys.executable, *in_one_process(DG, commands)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return printed_by_each(done.stdout)


def test_dg_checks_the_definitions_of_the_project(printed: list[str]) -> None:
    checked = printed[0]
    assert "All component YAML validated successfully" in checked
    assert "All definitions loaded successfully" in checked


def test_dg_lists_the_definitions_of_the_project(printed: list[str]) -> None:
    listed = json.loads(printed[1])
    assert {"main_pipeline", "compact_table"} <= {job["name"] for job in listed["jobs"]}
    assert "dwd/orders" in {asset["asset_key"] for asset in listed["assets"]}

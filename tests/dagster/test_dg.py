"""``dg`` works in this project, whose definitions are in ``definitions.py``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.dagster

ROOT = Path(__file__).resolve().parents[2]
_DG = "from dagster_dg_cli.cli import main; main()"


def dg(*arguments: str, home: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "DAGSTER_HOME": str(home)}
    command = [sys.executable, "-c", _DG, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def test_dg_checks_the_definitions_of_the_project(tmp_path: Path) -> None:
    printed = dg("check", "defs", home=tmp_path)
    assert "All component YAML validated successfully" in printed
    assert "All definitions loaded successfully" in printed


def test_dg_lists_the_definitions_of_the_project(tmp_path: Path) -> None:
    listed = json.loads(dg("list", "defs", "--json", home=tmp_path))
    assert {"main_pipeline", "compact_table"} <= {job["name"] for job in listed["jobs"]}
    assert "dwd/orders" in {asset["asset_key"] for asset in listed["assets"]}

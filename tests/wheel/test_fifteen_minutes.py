"""The page "Your own lakehouse in 15 minutes" works as it is written, in an environment that has only the wheel."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.support.foreign_project import ROOT, ForeignEnvironment
from tests.support.one_process import DAGSTER
from tests.support.spark_session import interpreting_java

pytestmark = pytest.mark.dagster

PAGE = (ROOT / "docs" / "lakehouse-in-15-minutes.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)


def write_files(project: Path, *, below: str = "") -> None:
    """The files of the page: each block whose first line is a comment with a name below that directory."""
    for _, block in BLOCKS:
        named = re.match(r"# (\S+\.(?:py|yaml))\n", block)
        if named and named[1].startswith(below):
            path = project / named[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block)


@pytest.mark.spark
def test_the_commands_of_the_page_make_a_lakehouse(foreign: ForeignEnvironment, tmp_path: Path) -> None:
    write_files(tmp_path)
    home = tmp_path / "home"
    home.mkdir()
    commands = [line for kind, block in BLOCKS if kind == "sh" for line in block.splitlines()]
    *dagster, read = map(shlex.split, commands)
    assert [command[0] for command in (*dagster, read)] == ["dagster", "dagster", "dagster", "python"]
    settings = {"DAGSTER_HOME": str(home), "SPARK_SUBMIT_OPTS": interpreting_java()}
    foreign.run_all(DAGSTER, *dagster, cwd=tmp_path, **settings)
    last_sold = [{"product": product, "day": "2026-01-03"} for product in ("loaf", "roll")]
    assert foreign.run(*read, cwd=tmp_path) == f"{last_sold}\n"
    code = (
        "from table_format import load_catalog\n"
        "catalog = load_catalog({'warehouse': 'warehouse'})\n"
        "for name in ('sales', 'totals'):\n"
        "    rows = catalog.load_table(f'bakery.{name}').scan().to_arrow()\n"
        "    print(name, rows.num_rows, sum(rows['sold'].to_pylist()))\n"
        "print(catalog.load_table('bakery.last_sold').latest_snapshot().commit_kind)\n"
    )
    shown = foreign.run(str(foreign.python), "-c", code, cwd=tmp_path)
    assert shown.splitlines() == ["sales 6 90", "totals 2 90", "COMPACT"]


def test_the_components_of_the_page_are_valid_and_load(foreign: ForeignEnvironment, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.dg]\ndirectory_type = "project"\n[tool.dg.project]\nroot_module = "oven"\n'
    )
    package = tmp_path / "src" / "oven"
    write_files(package, below="defs/")
    (package / "__init__.py").touch()
    (package / "definitions.py").write_text(
        "from pathlib import Path\nfrom dagster import definitions, load_from_defs_folder\n\n\n@definitions\n"
        "def defs():\n    return load_from_defs_folder(path_within_project=Path(__file__).parent)\n"
    )
    checked = foreign.run("dg", "check", "defs", cwd=tmp_path, PYTHONPATH="src")
    assert "All component YAML validated successfully" in checked
    assert "All definitions loaded successfully" in checked

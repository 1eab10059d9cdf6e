"""Type checkers see the types of an installed wheel."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.foreign_project import ForeignEnvironment

PROGRAM = """\
from typing import assert_type

from table_format import Plan, Scan, Snapshot, SystemTable, Table, col, load_catalog

catalog = load_catalog({"warehouse": "warehouse"})
table = catalog.load_table("shop.orders")
assert_type(table, Table)
assert_type(catalog.load_system_table("shop.orders$snapshots"), SystemTable)
assert_type(catalog.load_any("shop.orders"), Table | SystemTable)
scan = table.scan(columns=["id"], filter=col("id") > 1)
assert_type(scan, Scan)
assert_type(scan.plan(), Plan)
assert_type(table.snapshots(), tuple[Snapshot, ...])
"""


def test_a_typed_program_is_checked_against_the_installed_wheel(foreign: ForeignEnvironment, tmp_path: Path) -> None:
    assert checked(foreign, tmp_path, PROGRAM) == "Success: no issues found in 1 source file"
    found = checked(foreign, tmp_path, f'{PROGRAM}table.scan(colums=["id"])\n')
    assert 'Unexpected keyword argument "colums" for "scan" of "Table"' in found


def checked(environment: ForeignEnvironment, directory: Path, program: str) -> str:
    """What mypy prints about a program that uses the packages of an environment."""
    path = directory / "program.py"
    path.write_text(program)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--python-executable",
        environment.python,
        path,
    ]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False).stdout.strip()

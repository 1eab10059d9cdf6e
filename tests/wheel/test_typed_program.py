"""Type checkers see the types of an installed wheel."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.foreign_project import ForeignEnvironment

PROGRAM = """\
from typing import assert_type

from table_format import FormatTable, Plan, Scan, Snapshot, SystemTable, Table, col, load_catalog

catalog = load_catalog({"warehouse": "warehouse"})
table = catalog.load_table("shop.orders")
assert_type(table, Table)
assert_type(catalog.load_system_table("shop.orders$snapshots"), SystemTable)
assert_type(catalog.load_any("shop.orders"), Table | SystemTable | FormatTable)
scan = table.scan(columns=["id"], filter=col("id") > 1)
assert_type(scan, Scan)
assert_type(scan.plan(), Plan)
assert_type(table.snapshots(), tuple[Snapshot, ...])
"""


def test_a_typed_program_is_checked_against_the_installed_wheel(foreign: ForeignEnvironment, tmp_path: Path) -> None:
    found = checked(foreign, tmp_path, right=PROGRAM, wrong=f'{PROGRAM}table.scan(colums=["id"])\n')
    [error] = [line for line in found if ": error: " in line]
    assert error.startswith("wrong.py:")
    assert 'Unexpected keyword argument "colums" for "scan" of "Table"' in error
    assert found[-1] == "Found 1 error in 1 file (checked 2 source files)"


def checked(environment: ForeignEnvironment, directory: Path, **programs: str) -> list[str]:
    """The lines that mypy prints about programs that use the packages of an environment."""
    for name, program in programs.items():
        (directory / f"{name}.py").write_text(program)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--python-executable",
        environment.python,
        *(f"{name}.py" for name in programs),
    ]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    return done.stdout.strip().splitlines()

"""All reading of files goes through one place, which knows how much may be read."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import table_format

ROOT = Path(table_format.__file__).parent
ONE_PLACE = ROOT / "io/regular_files.py"
OBJECTS = ROOT / "object_table/table.py"
"""It opens the files that are rows of an object table, which belong to the user and have any size."""
STORES = {ROOT / "io/local.py", ROOT / "io/memory.py", ROOT / "io/file_io.py"}
VERBS = {"open_input", "read", "read_bytes", "OSFile", "memory_map"}


def calls_of(verb: str) -> set[tuple[Path, str]]:
    """Every call of a method of that name, with the text of what it is called on."""
    assert verb in VERBS
    return {(path, owner) for path, found, owner in every_call() if found == verb}


@cache
def every_call() -> set[tuple[Path, str, str]]:
    """Every call of one of the verbs: the file, the verb, and the text of what it is called on."""
    return {
        (path, node.func.attr, ast.unparse(node.func.value))
        for path in sorted(ROOT.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in VERBS
    }


def test_files_are_opened_in_one_place() -> None:
    assert {path for path, _ in calls_of("open_input")} == {ONE_PLACE, OBJECTS}


def test_whole_files_are_read_in_one_place() -> None:
    readers = {path for path, owner in calls_of("read") if owner == "io" or owner.endswith((".io", "_io"))}
    assert readers == {ONE_PLACE}


def test_nothing_else_opens_files_of_a_table() -> None:
    """What ``pathlib`` and Arrow offer is used by the local store, and for files that belong to no table."""
    found = {path for verb in ("read_bytes", "OSFile", "memory_map") for path, _ in calls_of(verb)} - STORES
    assert {str(path.relative_to(ROOT)) for path in found} <= NO_TABLE


NO_TABLE = {"io/external_sort.py", "indexes/local_store.py", "cli/input.py", "spark/tasks/code_shipping.py"}
"""Sorted runs and key indexes of this machine, files that the command line loads, and the code that Spark is sent."""

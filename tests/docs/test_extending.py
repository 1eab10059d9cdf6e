"""What docs/extending.md shows works as it is written there, and is where it says."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from table_format.catalog.global_tables import GLOBAL_TABLES
from table_format.catalog.registry import CATALOGS
from table_format.formats.registry import FORMATS
from table_format.io.stores import STORES
from table_format.kernels.aggregates.functions import FUNCTIONS
from table_format.kernels.file_index import INDEX_TYPES
from table_format.options import registry as options
from table_format.options.file_formats import FILE_FORMATS
from table_format.procedures.registry import PROCEDURES
from table_format.registry import Registry
from table_format.spark.sql.registry import STATEMENTS
from table_format.table.system.registry import SYSTEM_TABLES
from tests.support.code_blocks import code_blocks, run_block
from tests.support.registries import forgotten_again

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text()
REGISTRIES: dict[str, Registry] = {
    "an aggregate function": FUNCTIONS,
    "a system table `$name`": SYSTEM_TABLES,
    "a table `sys.name`": GLOBAL_TABLES,
    "a procedure": PROCEDURES,
    "a catalog": CATALOGS,
    "a store of files": STORES,
    "a file format": FORMATS,
    "a SQL statement": STATEMENTS,
}
MEMBERS = {
    "an aggregate function": "text",
    "a system table `$name`": "snapshots",
    "a table `sys.name`": "global_tables",
    "a procedure": "compaction",
    "a catalog": "filesystem",
    "a store of files": "local",
    "a file format": "parquet",
    "a file index type": "bloom_filter",
    "a SQL statement": "calls",
}
"""For each door a module that has gone through it."""


def doors() -> dict[str, tuple[str, list[str]]]:
    """By what is to be added: the file to write, and the files that list it."""
    rows = re.findall(r"^\| (an? .*?) \| `(.*?)` \| (.*?) \|$", PAGE, re.MULTILINE)
    return {what: (written, re.findall(r"`(.*?)`", lists)) for what, written, lists in rows}


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    with forgotten_again(*REGISTRIES.values(), FILE_FORMATS, options._REGISTERED):
        yield


def test_the_examples_run_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("extending")
    # Dataclasses look for the module of their class.
    monkeypatch.setitem(sys.modules, module.__name__, module)
    before = {what: set(registry) for what, registry in REGISTRIES.items()}
    for block in code_blocks(PAGE):
        run_block(block, module.__dict__)
    added = {what: set(registry) - before[what] for what, registry in REGISTRIES.items()}
    assert [what for what, new in added.items() if not new] == ["a table `sys.name`"]


def test_every_door_is_in_the_page() -> None:
    assert set(doors()) == set(MEMBERS)


@pytest.mark.parametrize("what", MEMBERS)
def test_a_door_is_where_the_page_says(what: str) -> None:
    written, lists = doors()[what]
    assert (ROOT / written.replace("<name>", MEMBERS[what])).is_file()
    for path in lists:
        assert (ROOT / path).is_file(), path


@pytest.mark.parametrize("what", REGISTRIES)
def test_the_list_that_the_page_names_is_the_registry(what: str) -> None:
    module = doors()[what][1][0]
    assert re.search(r"^\w+: Final = Registry\(", (ROOT / module).read_text(), re.MULTILINE), module
    assert re.search(r"^def register_\w+\(", (ROOT / module).read_text(), re.MULTILINE), module


def test_index_types_are_listed_where_the_page_says() -> None:
    assert "bloom-filter" in INDEX_TYPES
    module = (ROOT / doors()["a file index type"][1][0]).read_text()
    assert "INDEX_TYPES" in module


def test_every_other_file_that_the_page_names_exists() -> None:
    for path in re.findall(r"`((?:table_format|tests)/[\w/]+\.py)`", PAGE):
        assert (ROOT / path).is_file(), path
    for path in re.findall(r"\]\(([\w-]+\.md)\)", PAGE):
        assert (ROOT / "docs" / path).is_file(), path

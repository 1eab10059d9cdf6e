"""The examples in docstrings run and show what they say."""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format import Catalog, Scan, Schema, Table, col, load_catalog
from table_format.io.memory import MemoryFileIO

ROOT = Path(__file__).parents[2]
COLUMNS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("day", pa.string(), nullable=False),
        ("state", pa.string()),
        ("amount", pa.int64()),
    ]
)


def names_of_examples() -> dict[str, Any]:
    """What the examples on tables begin with: ``shop.orders`` with two partitions and two snapshots."""
    catalog = load_catalog({"warehouse": "/warehouse"}, file_io=MemoryFileIO())
    catalog.create_database("shop")
    schema = Schema.from_arrow(COLUMNS, ["id", "day"], ["day"], {"bucket": "1"})
    table = catalog.create_table("shop.orders", schema)
    first = {"id": [1, 2], "day": ["2026-01-01"] * 2, "state": ["new", "paid"], "amount": [10, 20]}
    second = {"id": [3], "day": ["2026-01-02"], "state": ["new"], "amount": [30]}
    for rows in (first, second):
        table.append(pa.table(rows, schema=COLUMNS))
    return {"catalog": catalog, "table": table, "pa": pa, "col": col}


def modules_with_examples(*packages: str) -> list[str]:
    """The modules of some packages that have examples."""
    return [
        ".".join(source.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for package in packages
        for source in sorted((ROOT / package).rglob("*.py"))
        if ">>> " in source.read_text()
    ]


def run_examples(name: str) -> None:
    """Run the examples of a module."""
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    shown: list[str] = []
    for example in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name)):
        if "table." in example.docstring or "catalog." in example.docstring:
            example.globs.update(names_of_examples())
        runner.run(example, out=shown.append)
    assert not runner.failures, "".join(shown)


@pytest.mark.parametrize("name", modules_with_examples("table_format"))
def test_the_examples_of_a_module_run(name: str) -> None:
    run_examples(name)


@pytest.mark.parametrize("kind", [Table, Scan, Catalog])
def test_every_method_has_an_example(kind: type) -> None:
    methods = [
        (name, member)
        for name, member in inspect.getmembers_static(kind)
        if not name.startswith("_") and inspect.isfunction(member)
    ]
    assert methods
    assert [name for name, member in methods if ">>> " not in (member.__doc__ or "")] == []


def test_methods_of_a_table_are_methods_and_do_more_than_raise() -> None:
    for name, member in inspect.getmembers_static(Table, inspect.isfunction):
        if not name.startswith("_"):
            assert (member.__name__, next(iter(inspect.signature(member).parameters))) == (name, "self")
            [*_, last] = inspect.getsource(member).strip().splitlines()
            assert not last.strip().startswith("raise"), name

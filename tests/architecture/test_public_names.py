"""Every class of the library that appears in a public signature can be imported from a public module."""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import inspect
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyspark.sql
import pyspark.sql.streaming
import pytest

import table_format
from table_format.spark import Lake
from table_format.table.read.scan_dataset import ScanDataset

PUBLIC_MODULES = (
    "table_format",
    "table_format.duckdb_sql",
    "table_format.engine",
    "table_format.engine.support",
    "table_format.errors",
    "table_format.filters",
    "table_format.runtime",
    "table_format.secrets",
    "table_format.spark",
    "table_format.spark.engine",
    "table_format.types",
)
LISTED = [name for name in PUBLIC_MODULES if hasattr(importlib.import_module(name), "__all__")]

OPAQUE = frozenset(
    [
        "Aggregation",
        "ChangeHistory",
        "DecodedFiles",
        "Directories",
        "EncodedFile",
        "FileDeletions",
        "FileIndexes",
        "Files",
        "FormatFile",
        "FormatPlan",
        "FormatTableOptions",
        "FormatWrite",
        "KeyShard",
        "PartitionList",
        "Pruning",
        "SqlState",
        "TableFacts",
        "TableOptions",
        "TableStore",
    ]
)
"""Classes whose members are not for users: they are handed from one function to the next."""

FOR_TYPES = {
    "Column": pyspark.sql.Column,
    "DataFrame": pyspark.sql.DataFrame,
    "SparkSession": pyspark.sql.SparkSession,
    "StreamingQuery": pyspark.sql.streaming.StreamingQuery,
    "ScanDataset": ScanDataset,
    "duckdb": duckdb,
    "pd": pd,
    "pl": pl,
}
"""What modules import for type-checkers only."""


def public(module: types.ModuleType) -> Iterator[object]:
    """What a public module exports: its list, or what it defines without an underscore."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        yield from (getattr(module, name) for name in listed)
        return
    for name, value in vars(module).items():
        if not name.startswith("_") and getattr(value, "__module__", "").startswith("table_format"):
            yield value


def ours(hint: Any) -> Iterator[type]:
    """The classes of the library in an annotation."""
    if isinstance(hint, list | tuple):
        for part in hint:
            yield from ours(part)
        return
    origin = typing.get_origin(hint) or hint
    if isinstance(origin, type) and origin.__module__.startswith("table_format"):
        yield origin
    if isinstance(hint, typing.TypeVar):
        yield from ours([hint.__bound__, *hint.__constraints__])
    yield from ours(list(typing.get_args(hint)))


def hints_of(value: Any) -> dict[str, Any]:
    names = {**FOR_TYPES, **vars(sys.modules[value.__module__])}
    return typing.get_type_hints(value, localns=names)


def signatures(value: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The annotations of a function, or of the public fields, properties and methods of a class."""
    if not isinstance(value, type):
        if inspect.isfunction(value):
            yield value.__name__, hints_of(value)
        return
    if dataclasses.is_dataclass(value):
        hints = hints_of(value)
        shown = [field.name for field in dataclasses.fields(value) if not field.name.startswith("_")]
        yield value.__name__, {name: hints[name] for name in shown}
    for name, member in inspect.getmembers_static(value):
        if isinstance(member, staticmethod | classmethod):
            member = member.__func__
        elif isinstance(member, property):
            member = member.fget
        elif isinstance(member, functools.cached_property):
            member = member.func
        if not name.startswith("_") and inspect.isfunction(member):
            yield f"{value.__name__}.{name}", hints_of(member)


def test_every_class_in_a_public_signature_is_exported() -> None:
    exported = {id(value): value for name in PUBLIC_MODULES for value in public(importlib.import_module(name))}
    missing = {
        f"{found.__module__}.{found.__qualname__} in {where} ({parameter})"
        for value in exported.values()
        if getattr(value, "__name__", None) not in OPAQUE
        for where, hints in signatures(value)
        for parameter, hint in hints.items()
        for found in ours(hint)
        if id(found) not in exported
    }
    assert not missing, "\n".join(sorted(missing))


def test_the_walk_finds_classes_in_every_kind_of_signature() -> None:
    found = {where: {c.__name__ for hint in hints.values() for c in ours(hint)} for where, hints in signatures(Lake)}
    assert "RowChanges" in found["Lake.delete"]
    found = {
        where: {c.__name__ for hint in hints.values() for c in ours(hint)}
        for kind in (table_format.Table, table_format.Scan, table_format.Plan)
        for where, hints in signatures(kind)
    }
    assert found["Table"] >= {"Identifier", "TableSchema", "TableStore"}
    assert found["Table.options"] == {"TableOptions"}
    assert found["Table.snapshots"] == {"Snapshot"}
    assert found["Plan.predicate"] >= {"Compare", "And"}
    assert found["Scan.to_dataset"] == {"ScanDataset"}


@pytest.mark.parametrize("name", LISTED)
def test_what_a_public_module_lists_exists_and_is_documented(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__
    assert len(set(module.__all__)) == len(module.__all__)
    for exported in module.__all__:
        value = getattr(module, exported)
        if isinstance(value, type) or inspect.isfunction(value):
            assert value.__doc__, f"{name}.{exported} has no docstring"


def test_a_name_that_is_imported_late_is_one_of_the_list() -> None:
    assert table_format.ScanDataset is ScanDataset
    assert "ScanDataset" in table_format.__all__
    with pytest.raises(AttributeError, match="module 'table_format' has no attribute 'Tabel'"):
        _ = table_format.Tabel  # type: ignore[attr-defined]


@pytest.mark.parametrize("package", [table_format, table_format.spark], ids=lambda package: package.__name__)
def test_names_that_are_imported_late_are_those_that_type_checkers_see(package: types.ModuleType) -> None:
    branches = next(node for node in ast.parse(inspect.getsource(package)).body if isinstance(node, ast.If))
    seen = {
        alias.asname or alias.name: getattr(importlib.import_module(str(node.module)), alias.name)
        for node in branches.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    places = next(node for node in ast.walk(branches.orelse[0]) if isinstance(node, ast.Dict))
    assert set(ast.literal_eval(places)) == set(seen) == set(package.__all__)
    assert {name: getattr(package, name) for name in seen} == seen
    assert set(package.__all__) <= set(dir(package))

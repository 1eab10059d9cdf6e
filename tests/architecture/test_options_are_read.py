"""An option that is declared is read by code outside of its declaration, or said to have no effect here."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import table_format
from table_format.options.declare import AnyOption, Option, OptionFamily, OptionPattern
from table_format.options.hints import HINTS
from table_format.options.identity import PATH
from table_format.options.refused import REFUSED
from table_format.options.registry import GROUPS, TABLE_OPTIONS
from table_format.options.spark_read import SparkReadOptions

ROOT = Path(table_format.__file__).parent
_OPTIONS = ROOT / "options"


@dataclass(frozen=True)
class Words:
    """What a module names: attributes and variables, and what it imports by name."""

    used: frozenset[str]
    imported: frozenset[str]


def _words(nodes: Iterable[ast.AST]) -> Words:
    used, imported = set(), set()
    for node in nodes:
        if isinstance(node, ast.Attribute):
            used.add(node.attr)
        elif isinstance(node, ast.Name):
            used.add(node.id)
        elif isinstance(node, ast.ImportFrom):
            imported.update(alias.name for alias in node.names)
    return Words(frozenset(used), frozenset(imported))


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


_DECLARING = sorted(_OPTIONS.glob("*.py"))


@cache
def outside() -> dict[Path, Words]:
    """What each module outside of the options names."""
    return {path: _words(ast.walk(_tree(path))) for path in sorted(ROOT.rglob("*.py")) if path.parent != _OPTIONS}


@cache
def functions() -> list[tuple[str, frozenset[str]]]:
    """The functions of the options, with what they name."""
    return [
        (node.name, _words(ast.walk(node)).used)
        for path in _DECLARING
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.FunctionDef)
    ]


def _members() -> Iterator[tuple[str, AnyOption]]:
    """The members of groups, by name, with the options that they hold."""
    for group in GROUPS:
        for member in dataclasses.fields(cast("Any", group)):
            declared = member.metadata.get("option")
            for option in declared.options if isinstance(declared, OptionFamily) else (declared,):
                yield member.name, option


def read_names(modules: Iterable[Words]) -> set[str]:
    """What code outside of the options names, and what functions of the options name for it."""
    used = {word for module in modules for word in module.used}
    while True:
        found = used.union(*(words for name, words in functions() if name in used))
        if found == used:
            return used
        used = found


def unread(modules: Collection[Words]) -> list[str]:
    """The options that no code reads, though they are not declared to be without effect."""
    names = read_names(modules)
    of_members = {option.key for name, option in _members() if name in names}
    imported = _constants(modules)
    constants = {
        value.key
        for path in _DECLARING
        for name, value in vars(_module(path)).items()
        if isinstance(value, Option | OptionPattern) and name in imported
    }
    without_effect = {option.key for option in (*REFUSED, *HINTS)} | {
        option.key for option in TABLE_OPTIONS if _idle(option)
    }
    return [o.key for o in TABLE_OPTIONS if o.key not in of_members | constants | without_effect]


def _idle(option: AnyOption) -> bool:
    """Whether it tunes other engines, is refused because the catalog decides, or takes no value but its default."""
    if option.hint or option is PATH:
        return True
    honoured = option.honoured if isinstance(option, Option) else None
    return honoured is not None and len(honoured) == 1 and option.default in honoured


def _module(path: Path) -> Any:
    return __import__(f"table_format.options.{path.stem}", fromlist=["_"]) if path.stem != "__main__" else object


def _constants(modules: Iterable[Words]) -> set[str]:
    """Names of constants that modules import, or take from a module of options."""
    return {word for module in modules for word in (*module.imported, *filter(str.isupper, module.used))}


def test_each_option_is_read_or_declared_to_have_no_effect_here() -> None:
    assert unread(outside().values()) == []


def test_an_option_whose_reader_is_gone_is_found() -> None:
    """What reads the way in which Spark reads merged rows lies below ``spark``; without it nothing does."""
    keys = {option.key for option in TABLE_OPTIONS if option.key.startswith("spark.read")}
    assert keys
    assert SparkReadOptions in GROUPS
    without_spark = [words for path, words in outside().items() if "spark" not in path.relative_to(ROOT).parts]
    assert keys <= set(unread(without_spark))

"""The architecture page names modules, functions and links that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
REFERENCE = re.compile(r"`([\w/]+\.py)`(?:\s+\(((?:`[\w.]+`[,\s]*)+)\))?")


def references(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """The modules that a text names, each with the names in parentheses after it."""
    return [(path, tuple(re.findall(r"`([\w.]+)`", names))) for path, names in REFERENCE.findall(text)]


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


@cache
def defined(path: Path) -> frozenset[str]:
    """The classes and functions of a module, methods as ``Class.method``."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{member.name}" for member in node.body if isinstance(member, ast.FunctionDef)}
    return frozenset(found)


@cache
def imports() -> grimp.ImportGraph:
    return grimp.build_graph("table_format", cache_dir=None)


def between_subpackages(package: str) -> set[tuple[str, str]]:
    """Which subpackages and modules of a package import which others."""
    prefix = f"{package}."
    found = set()
    for module in (name for name in imports().modules if name.startswith(prefix)):
        for other in imports().find_modules_directly_imported_by(module):
            if other.startswith(prefix):
                found.add((module.removeprefix(prefix).split(".")[0], other.removeprefix(prefix).split(".")[0]))
    return {(importer, imported) for importer, imported in found if importer != imported}


def in_the_library(path: str) -> Path:
    """The file that a reference means; those in the table of subpackages are relative to their package."""
    places = [ROOT / "table_format" / path, *(ROOT / "table_format" / package / path for package in ("table", "spark"))]
    places += [ROOT / "table_format" / "metastore" / path, ROOT / path]
    return next((place for place in places if place.is_file()), places[0])


@pytest.mark.parametrize("path", sorted({path for path, _ in references(PAGE)}))
def test_a_module_of_the_page_exists(path: str) -> None:
    assert in_the_library(path).is_file()


@pytest.mark.parametrize(("path", "name"), sorted({(path, name) for path, names in references(PAGE) for name in names}))
def test_a_function_of_the_page_exists(path: str, name: str) -> None:
    assert name in defined(in_the_library(path))


@pytest.mark.parametrize("title", ["The path of one row", "The path of one commit"])
def test_every_step_of_a_story_names_a_module(title: str) -> None:
    steps = re.findall(r"^ ?\d+\. .*\n(?: {3,4}\S.*\n)*", section(title), re.MULTILINE)
    assert len(steps) > 5
    for step in steps:
        assert references(step), step


@pytest.mark.parametrize("package", ["table", "metastore", "spark"])
def test_the_subpackages_are_those_of_the_package(package: str) -> None:
    row = re.search(rf"^\| `{package}/` \| (.*) \|$", PAGE, re.MULTILINE)
    assert row is not None
    named = set(re.findall(r"`(\w+)/`", row[1]))
    found = {init.parent.name for init in (ROOT / "table_format" / package).glob("*/__init__.py")}
    assert named == found


@pytest.mark.parametrize("package", ["table", "metastore", "spark"])
def test_a_subpackage_imports_only_what_stands_after_it(package: str) -> None:
    row = re.search(rf"^\| `{package}/` \| (.*) \|$", PAGE, re.MULTILINE)
    assert row is not None
    order = [name.removesuffix(".py").removesuffix("/") for name in re.findall(r"`(\w+(?:/|\.py))`", row[1])]
    for importer, imported in between_subpackages(f"table_format.{package}"):
        if {importer, imported} <= set(order):
            assert order.index(importer) < order.index(imported), f"{importer} imports {imported}"


def test_every_package_of_the_library_is_on_the_map() -> None:
    listed = section("The packages and their order").split("```")[1]
    for init in (ROOT / "table_format").glob("*/__init__.py"):
        assert f"{init.parent.name}/" in listed
    for module in (ROOT / "table_format").glob("*.py"):
        assert module.stem == "__init__" or re.search(rf"\b{module.stem}\b", listed)


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#]+)\)", PAGE))))
def test_a_link_of_the_page_leads_somewhere(link: str) -> None:
    assert (ROOT / "docs" / link).exists()

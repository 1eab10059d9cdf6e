"""The glossary names what exists, and the source uses its words."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
PACKAGES = ("table_format", "dagster_paimon", "resources", "assets", "jobs", "sensors")

PRIVATE_WORDS = frozenset(
    [
        "anew",
        "answers",
        "asked",
        "brought",
        "dealt",
        "early",
        "going",
        "gone",
        "heard",
        "judge",
        "judged",
        "landed",
        "marks",
        "mend",
        "met",
    ]
) | frozenset(["moving", "news", "ours", "parcels", "theirs", "told", "torn", "vain", "whoever", "works"])
"""Words that say nothing of the format to a reader who does not know this project."""


def entries() -> list[tuple[str, str, tuple[str, ...]]]:
    """The heading, the term and the modules of each entry."""
    found = []
    for section in re.split(r"^## ", GLOSSARY.read_text(), flags=re.MULTILINE)[1:]:
        heading, text = section.split("\n", 1)
        for entry in re.findall(r"^- .*\n(?:  .*\n?)*", text, re.MULTILINE):
            term = re.match(r"- \*\*(.+?)\*\*: \S", entry)
            assert term is not None, entry
            found.append((heading, term[1], tuple(re.findall(r"`([a-z_]+(?:\.[a-z_0-9]+)+)`", entry))))
    return found


def identifiers() -> Iterator[tuple[str, str]]:
    """The modules, classes, functions and arguments of the project, each with its file."""
    for path in (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))):
        where = path.relative_to(ROOT).as_posix()
        yield path.parent.name if path.stem == "__init__" else path.stem, where
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield node.name, where
            elif isinstance(node, ast.arg):
                yield node.arg, where


def words(identifier: str) -> frozenset[str]:
    """The words an identifier is made of."""
    return frozenset(part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", identifier))


def test_every_entry_names_a_module_that_exists() -> None:
    for _, term, modules in entries():
        assert modules, f"{term} names no module"
        for module in modules:
            assert importlib.util.find_spec(module) is not None, f"{term}: {module} does not exist"


@pytest.mark.parametrize("heading", ["Terms of the format", "Terms of this project"])
def test_the_terms_are_sorted(heading: str) -> None:
    terms = [term.lower() for where, term, _ in entries() if where == heading]
    assert len(terms) > 15
    assert terms == sorted(terms)


def test_no_term_is_explained_twice() -> None:
    terms = [term.lower() for _, term, _ in entries()]
    assert sorted(set(terms)) == sorted(terms)


def test_an_identifier_is_split_into_its_words() -> None:
    assert words("_asked_keys") == {"asked", "keys"}
    assert words("WhenElsewhere") == {"when", "elsewhere"}
    assert words("IOManager2") == {"io", "manager", "2"}


def test_no_identifier_is_made_of_private_words() -> None:
    found = [f"{where}: {name}" for name, where in identifiers() if words(name) & PRIVATE_WORDS]
    assert not found, "\n".join(found)


def test_the_glossary_is_linked_where_newcomers_begin() -> None:
    assert "docs/glossary.md" in (ROOT / "README.md").read_text()
    assert "glossary.md" in (ROOT / "docs" / "architecture.md").read_text()

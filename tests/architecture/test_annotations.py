"""What mypy leaves open: it lets pyarrow's generic classes stand without parameters, and asks for no reasons."""

from __future__ import annotations

import ast
import collections.abc
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("table_format", "dagster_paimon", "resources", "assets", "jobs", "sensors")
BUILT_IN = {
    *("list", "dict", "set", "frozenset", "tuple", "OrderedDict", "defaultdict", "Counter", "deque"),
    *(name for name in collections.abc.__all__ if hasattr(getattr(collections.abc, name), "__class_getitem__")),
} - {"Container"}  # a class of roaring bitmaps here


def test_generic_classes_of_annotations_have_parameters() -> None:
    generic, bare = set(BUILT_IN), []
    # One tree at a time: the garbage collector takes longer over all of them than it takes to parse them.
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        tree = ast.parse(path.read_text())
        generic.update(generic_classes(tree))
        bare += [(path, *found) for annotation in annotations(tree) for found in bare_names(annotation)]
    assert [f"{path.relative_to(ROOT)}:{line}: {name}" for path, line, name in bare if name in generic] == []


def test_each_type_error_that_is_ignored_has_a_reason() -> None:
    lines = [
        (f"{path.relative_to(ROOT)}:{number}", line)
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
    ]
    assert [where for where, line in lines if re.search(r"# type: ignore(?!\[[a-z, -]+\]  # )", line)] == []


def generic_classes(tree: ast.Module) -> Iterator[str]:
    """The classes of a module with ``Generic[...]`` or ``Protocol[...]`` among their bases."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for base in node.bases:
                if isinstance(base, ast.Subscript) and ast.unparse(base.value) in ("Generic", "Protocol"):
                    yield node.name


def annotations(tree: ast.Module) -> Iterator[ast.expr]:
    """The annotations of arguments, results and variables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            yield node.annotation
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            yield node.returns


def bare_names(annotation: ast.expr) -> Iterator[tuple[int, str]]:
    """Names in an annotation that stand without parameters."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return
    match annotation:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            yield annotation.lineno, name
        case ast.Subscript(value=ast.Name(id="Literal")):
            return
        case ast.Subscript(slice=inside):
            yield from bare_names(inside)
        case _:
            for child in ast.iter_child_nodes(annotation):
                if isinstance(child, ast.expr):
                    yield from bare_names(child)

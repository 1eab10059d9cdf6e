"""Measures the structure of the source: modules, import depth, import cycles, sizes, docstrings, annotations.

``python -m benchmarks.structure [path]`` measures the work tree at a path (default: this one) and prints Markdown. ADR
0014 quotes its figures. The import depth is the number of modules in the longest chain of imports: it is three in a
package in which a imports b and b imports c. Imports under ``TYPE_CHECKING`` and inside functions count.
"""

from __future__ import annotations

import ast
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import grimp

PACKAGES: Final = ("table_format", "dagster_paimon", "resources", "assets", "jobs", "sensors")
DIVIDED: Final = ("table_format.table", "table_format.metastore", "table_format.spark")
"""The packages that are divided into subpackages."""

Graph: TypeAlias = Mapping[str, frozenset[str]]
"""The imports of each module or package."""


@dataclass(frozen=True, slots=True)
class Imports:
    """The imports among the modules of one package."""

    modules: int
    depth: int
    cycles: int
    packages: int
    package_depth: int
    package_cycles: int


@dataclass(frozen=True, slots=True)
class Function:
    """One function or method. ``lines`` counts from ``def`` to the end; ``arguments`` without ``self`` and ``cls``."""

    where: str
    lines: int
    arguments: int
    is_annotated: bool


@dataclass(frozen=True, slots=True)
class Source:
    """The files and functions of the project without its tests."""

    files: Mapping[str, int]
    functions: tuple[Function, ...]
    public: int
    documented: int
    isinstance_calls: int
    inner_imports: int
    classes: int


def cycles(graph: Graph) -> list[frozenset[str]]:
    """Return groups of nodes that import each other, directly or indirectly.

    >>> cycles({"a": frozenset("b"), "b": frozenset("a"), "c": frozenset("a")}) == [frozenset("ab")]
    True
    """
    reached = {node: _reached(graph, node) for node in graph}
    groups = {frozenset(other for other in reached[node] if node in reached[other]) for node in graph}
    return sorted((group for group in groups if len(group) > 1), key=sorted)


def depth(graph: Graph) -> int:
    """Return the number of nodes in the longest chain of imports. A cycle counts as one node.

    >>> depth({"a": frozenset("b"), "b": frozenset("c"), "c": frozenset(), "d": frozenset("c")})
    3
    """
    owner = {node: min(group) for group in cycles(graph) for node in group}
    merged: dict[str, set[str]] = {owner.get(node, node): set() for node in graph}
    for node, imported in graph.items():
        above = owner.get(node, node)
        merged[above].update(other for name in imported if (other := owner.get(name, name)) != above)
    heights: dict[str, int] = {}
    for node in _bottom_up(merged):
        heights[node] = 1 + max((heights[other] for other in merged[node]), default=0)
    return max(heights.values(), default=0)


def imports_of(graph: grimp.ImportGraph, package: str) -> Imports:
    """Measure the imports within one package."""
    names = {name for name in graph.modules if name.startswith(f"{package}.")}
    packages = {name for name in names if graph.find_children(name)}
    modules = names - packages
    inside = {name: frozenset(graph.find_modules_directly_imported_by(name) & modules) for name in modules}
    folder = {name: _folder(package, name) for name in modules}
    between = {
        place: frozenset(folder[other] for name in modules if folder[name] == place for other in inside[name]) - {place}
        for place in set(folder.values())
    }
    return Imports(
        len(modules), depth(inside), len(cycles(inside)), len(packages), depth(between), len(cycles(between))
    )


def source_of(root: Path) -> Source:
    """Measure the files, functions and docstrings of a work tree."""
    files: dict[str, int] = {}
    functions: list[Function] = []
    public = documented = checks = inner = classes = 0
    for path in _files(root):
        text = path.read_text()
        where = path.relative_to(root).as_posix()
        files[where] = text.count("\n")
        tree = ast.parse(text)
        functions += (_function(where, node) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
        named = list(_public(tree))
        public += len(named)
        documented += sum(1 for node in named if ast.get_docstring(node) is not None)
        checks += sum(1 for node in ast.walk(tree) if _is_call_of(node, "isinstance"))
        inner += sum(1 for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and _has_import(node))
        classes += sum(1 for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return Source(files, tuple(functions), public, documented, checks, inner, classes)


def report(root: Path) -> str:
    """Return all figures as Markdown."""
    sys.path.insert(0, str(root))
    graph = grimp.build_graph("table_format", cache_dir=None)
    head = "| package | modules | import depth | import cycles | subpackages | their depth | their cycles |"
    lines = [head, "|---|---|---|---|---|---|---|"]
    for package in DIVIDED:
        found = imports_of(graph, package)
        inner = (found.packages, found.package_depth, found.package_cycles)
        cells = (found.modules, found.depth, found.cycles, *inner)
        lines.append(f"| `{package.split('.', 1)[1]}/` | {' | '.join(map(str, cells))} |")
    return "\n".join([*lines, "", *_source_lines(source_of(root))])


def _source_lines(source: Source) -> Iterator[str]:
    sizes, lengths = source.files.values(), [function.lines for function in source.functions]
    longest = max(source.functions, key=lambda function: function.lines)
    widest = max(source.functions, key=lambda function: function.arguments)
    annotated = sum(function.is_annotated for function in source.functions)
    largest = max(source.files, key=source.files.__getitem__)
    yield "| figure | value |"
    yield "|---|---|"
    yield f"| files, lines, classes | {len(sizes)}, {sum(sizes)}, {source.classes} |"
    yield f"| file: median, largest | {statistics.median(sizes):.0f}, {source.files[largest]} (`{largest}`) |"
    yield f"| function: median, largest | {statistics.median(lengths):.0f}, {longest.lines} (`{longest.where}`) |"
    yield f"| most arguments of a function | {widest.arguments} (`{widest.where}`) |"
    yield f"| functions with all annotations | {100 * annotated / len(lengths):.1f} % |"
    yield f"| public names with a docstring | {100 * source.documented / source.public:.1f} % of {source.public} |"
    yield f"| functions that import | {source.inner_imports} |"
    yield f"| calls of `isinstance` | {source.isinstance_calls} |"


def _files(root: Path) -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted((root / package).rglob("*.py"))
    yield root / "definitions.py"


def _folder(package: str, module: str) -> str:
    """Return the subpackage of a module, or the module itself if it is in none."""
    inner = module.removeprefix(f"{package}.").split(".")
    return inner[0]


def _function(where: str, node: ast.FunctionDef) -> Function:
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    extra = [argument for argument in (node.args.vararg, node.args.kwarg) if argument is not None]
    counted = [argument for argument in (*arguments, *extra) if argument.arg not in ("self", "cls")]
    is_annotated = node.returns is not None and all(argument.annotation is not None for argument in counted)
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    return Function(f"{where}:{node.name}", lines, len(counted), is_annotated)


def _public(tree: ast.Module) -> Iterator[ast.Module | ast.ClassDef | ast.FunctionDef]:
    """Yield the module, its public classes and functions, and their public methods.

    Methods that implement a documented protocol but have no docstring count as undocumented.
    """
    yield tree
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from (m for m in node.body if isinstance(m, ast.FunctionDef) and not m.name.startswith("_"))


def _has_import(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(function))


def _is_call_of(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _reached(graph: Graph, start: str) -> frozenset[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for name in graph[waiting.pop()] - found:
            found.add(name)
            waiting.append(name)
    return frozenset(found | {start})


def _bottom_up(graph: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Yield the nodes of an acyclic graph, each after the nodes that it imports."""
    done: set[str] = set()

    def visit(node: str) -> Iterator[str]:
        if node not in done:
            done.add(node)
            for other in graph[node]:
                yield from visit(other)
            yield node

    for node in sorted(graph):
        yield from visit(node)


if __name__ == "__main__":
    print(report(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()))

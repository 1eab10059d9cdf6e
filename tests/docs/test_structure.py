"""The measurement of the import graph, and the rules for the graph."""

from __future__ import annotations

import grimp
import pytest

from benchmarks.structure import DIVIDED, cycles, depth, imports_of

GRAPHS = {
    "nothing": ({}, 0, 0),
    "one module": ({"a": ""}, 1, 0),
    "a chain": ({"a": "b", "b": "c", "c": ""}, 3, 0),
    "a diamond": ({"a": "bc", "b": "d", "c": "d", "d": ""}, 3, 0),
    "a cycle counts once": ({"a": "b", "b": "ac", "c": ""}, 2, 1),
    "two cycles": ({"a": "b", "b": "a", "c": "d", "d": "c"}, 1, 2),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_depth_and_cycles_of_a_graph(name: str) -> None:
    imports, expected_depth, expected_cycles = GRAPHS[name]
    graph = {node: frozenset(imported) for node, imported in imports.items()}
    assert (depth(graph), len(cycles(graph))) == (expected_depth, expected_cycles)


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("table_format", cache_dir=None)


@pytest.mark.parametrize("package", DIVIDED)
def test_subpackages_have_no_cycle_and_at_most_eight_layers(graph: grimp.ImportGraph, package: str) -> None:
    found = imports_of(graph, package)
    assert (found.cycles, found.package_cycles) == (0, 0)
    assert 1 < found.package_depth <= 8

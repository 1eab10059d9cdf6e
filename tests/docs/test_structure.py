"""The measurement of the import graph, and the rules for the graph."""

from __future__ import annotations

import grimp
import pytest

from benchmarks.structure import ROOMS, circles, floors, imports_of

GRAPHS = {
    "nothing": ({}, 0, 0),
    "one module": ({"a": ""}, 1, 0),
    "a chain": ({"a": "b", "b": "c", "c": ""}, 3, 0),
    "a diamond": ({"a": "bc", "b": "d", "c": "d", "d": ""}, 3, 0),
    "a circle counts once": ({"a": "b", "b": "ac", "c": ""}, 2, 1),
    "two circles": ({"a": "b", "b": "a", "c": "d", "d": "c"}, 1, 2),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_floors_and_circles_of_a_graph(name: str) -> None:
    imports, expected_floors, expected_circles = GRAPHS[name]
    graph = {node: frozenset(imported) for node, imported in imports.items()}
    assert (floors(graph), len(circles(graph))) == (expected_floors, expected_circles)


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("table_format", cache_dir=None)


@pytest.mark.parametrize("package", ROOMS)
def test_the_rooms_of_a_package_have_no_circle_and_at_most_eight_floors(graph: grimp.ImportGraph, package: str) -> None:
    found = imports_of(graph, package)
    assert (found.circles, found.package_circles) == (0, 0)
    assert 1 < found.package_floors <= 8

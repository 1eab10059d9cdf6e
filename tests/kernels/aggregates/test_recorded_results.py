"""Thousands of results of Apache Paimon 1.4.2's own functions, over every type, with every action.

The file holds, line by line, a function, a type, options, groups of (action, value) and what ``FieldAggregator`` made
of each group; values are plain (see ``columns``). Arrays and maps are compared with their order.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import zstandard

from table_format.codecs.type_json import parse_type
from table_format.kernels.aggregates.functions import FUNCTIONS
from table_format.kernels.aggregates.spec import AggregateSpec
from tests.kernels.aggregates.columns import folded, import_library_of, spec_of

RECORDED = Path(__file__).parent / "data" / "paimon_1_4_2.jsonl.zst"
EXTENSIONS = {"count"}


def recordings() -> list[dict[str, Any]]:
    text = zstandard.ZstdDecompressor().decompress(RECORDED.read_bytes()).decode()
    return [json.loads(line) for line in text.splitlines()]


def by_function() -> list[Any]:
    runs = groupby(recordings(), key=lambda line: line["function"])
    return [pytest.param(list(lines), id=function) for function, lines in runs]


def spec(line: dict[str, Any]) -> AggregateSpec:
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in line["options"].items()}
    return spec_of(line["function"], parse_type(line["type"]), **options)


@pytest.mark.parametrize("lines", by_function())
def test_a_function_gives_what_paimon_gives(lines):
    import_library_of(lines[0]["function"])
    for line in lines:
        assert folded(spec(line), line["groups"]) == line["results"], line["type"]


@pytest.mark.parametrize("lines", by_function())
def test_a_group_alone_gives_what_it_gives_among_others(lines):
    import_library_of(lines[0]["function"])
    for line in lines[::3]:
        for group, result in zip(line["groups"][:2], line["results"], strict=False):
            assert folded(spec(line), [group]) == [result], line["type"]


def test_every_function_is_recorded_but_the_one_that_paimon_lacks():
    recorded = Counter(line["function"] for line in recordings())
    assert set(recorded) == set(FUNCTIONS) - EXTENSIONS

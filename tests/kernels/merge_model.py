"""The merge of runs row by row in plain Python: slow and obvious."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from functools import cmp_to_key
from typing import Any

import pyarrow as pa

from table_format.kernels.merge import MergeSpec

Row = dict[str, Any]


def comparable(value: Any) -> Any:
    """A value whose ``<`` is the order of keys: NaN last, -0.0 equal to 0.0, strings by UTF-8 bytes."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value + 0.0)
    return value.encode() if isinstance(value, str) else value


def key_of(row: Row, spec: MergeSpec) -> tuple[Any, ...]:
    return tuple(comparable(row[name]) for name in spec.key_columns)


def compare_versions(left: tuple[int, Row], right: tuple[int, Row], spec: MergeSpec) -> int:
    """Negative if ``left`` is the older version; each is the age of its run and the row."""
    for name in spec.sequence_columns:
        a, b = left[1][name], right[1][name]
        if a is None or b is None:
            if (a is None) != (b is None):
                return -1 if a is None else 1
            continue
        a, b = comparable(a), comparable(b)
        if a != b:
            return (-1 if a < b else 1) * (-1 if spec.sequence_descending else 1)
    if spec.by_sequence_number:
        for name, rank in (("_SEQUENCE_NUMBER", lambda v: v), ("_VALUE_KIND", lambda v: 0 if v in (1, 3) else 1)):
            a, b = rank(left[1].get(name, 0)), rank(right[1].get(name, 0))
            if a != b:
                return -1 if a < b else 1
    return left[0] - right[0]


def merged_groups(runs: Sequence[Sequence[Row]], spec: MergeSpec) -> list[list[Row]]:
    """The versions of every key, oldest first, keys ascending."""
    groups: dict[tuple[Any, ...], list[tuple[int, Row]]] = defaultdict(list)
    for age, run in enumerate(runs):
        for row in run:
            groups[key_of(row, spec)].append((age, row))
    by_age = cmp_to_key(lambda a, b: compare_versions(a, b, spec))
    return [[row for _, row in sorted(groups[key], key=by_age)] for key in sorted(groups)]


def merged_rows(runs: Sequence[Sequence[Row]], spec: MergeSpec) -> list[Row]:
    """The winning rows after a merge of runs that are given oldest first."""
    kept = []
    for versions in merged_groups(runs, spec):
        counted = versions
        if spec.ignore_delete and len(versions) > 1:
            counted = [row for row in versions if row["_VALUE_KIND"] not in (1, 3)]
        kept += counted[-1:]
    return kept


def as_run(rows: Sequence[Row], schema: pa.Schema, spec: MergeSpec) -> pa.RecordBatch:
    """A sorted run of unique keys: the first of equal keys is kept."""
    unique = {key_of(row, spec): row for row in reversed(rows)}
    return pa.RecordBatch.from_pylist([unique[key] for key in sorted(unique)], schema=schema)

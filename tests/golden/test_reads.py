"""Every golden table reads as the real Paimon reads it, at every snapshot, or waits for a feature that is named."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from typing import Any

import pytest

from table_format import Table, load_catalog
from table_format.errors import PackageMissing, UnsupportedFeature
from table_format.table.read.scan import Scan
from tests.golden.waiting import LATEST_ONLY, WAITING
from tests.support.golden import case_names, golden_case
from tests.support.json_rows import json_rows, rows_with_floats


def expectations(facts: dict[str, Any]) -> list[tuple[str | None, dict[str, Any]]]:
    """What Paimon reads, by snapshot id; ``None`` is the latest state.

    Where the writing version and 1.4.2 read a table differently, 1.4.2 is right: it mended the older reader. Tables
    that no version reads are left out.
    """
    later = facts.get("cross_read", {}).get("1.4.2", "same")
    if later == "same":
        return [(snapshot, state) for snapshot, state in facts["snapshots"].items() if "rows" in state]
    return [(None, later["different"])] if "different" in later else []


TABLES = [
    (case, table) for case in case_names() for table, facts in golden_case(case).tables.items() if expectations(facts)
]


def feature_waited_for(case: str, table: str) -> str | None:
    """The feature a table waits for, or ``None``."""
    name = f"{case}/{table}"
    for feature, patterns in WAITING.items():
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            return feature
    return None


@pytest.mark.parametrize(("case", "table"), TABLES, ids=lambda value: value)
def test_a_golden_table_reads_equal_at_every_snapshot(case: str, table: str) -> None:
    feature = feature_waited_for(case, table)
    if feature is None:
        try:
            assert differences(case, table) == []
        except PackageMissing as missing:
            pytest.skip(str(missing))  # on a Python for which the package has no wheels
        return
    # Strict: a table that reads right no longer waits.
    with pytest.raises(UnsupportedFeature) as refusal:
        differences(case, table)
    assert refusal.value.feature == feature


def differences(case: str, table: str) -> list[str]:
    """What differs between our answers and Paimon's: nothing, if all is well."""
    golden = golden_case(case)
    opened = load_catalog({"warehouse": str(golden.warehouse)}).load_table(table)
    expected = expectations(golden.tables[table])
    return [
        difference
        for snapshot, state in (expected[-1:] if f"{case}/{table}" in LATEST_ONLY else expected)
        for difference in _differences(f"snapshot {snapshot or 'latest'}", _scan(opened, snapshot), state)
    ]


def _scan(table: Table, snapshot: str | None) -> Scan:
    return table.scan(options={"scan.snapshot-id": snapshot} if snapshot else None)


def _differences(what: str, scan: Scan, state: dict[str, Any]) -> Iterator[str]:
    fields = scan.plan().fields
    if [f.name for f in fields] != state["columns"]:
        yield f"{what}: columns {[f.name for f in fields]}, expected {state['columns']}"
    types = [str(f.type) for f in fields]
    if types != state["types"]:
        yield f"{what}: types {types}, expected {state['types']}"
    rows = json_rows(scan.to_arrow(), fields)
    expected = rows_with_floats(state["rows"], fields)
    if rows != expected:
        yield f"{what}: {len(rows)} rows {rows[:3]}, expected {expected[:3]}"

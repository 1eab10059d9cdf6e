"""Every golden table reads as the real Paimon reads it, at every snapshot, or waits for a feature that is named."""

from __future__ import annotations

import fnmatch

import pytest

from table_format import load_catalog
from table_format.codecs.type_json import type_json
from table_format.errors import UnsupportedFeature
from tests.golden.waiting import WAITING
from tests.support.golden import case_names, golden_case
from tests.support.json_rows import json_rows

TABLES = [(case, table) for case in case_names() for table in golden_case(case).tables]


def feature_waited_for(case: str, table: str) -> str | None:
    """The feature a table waits for, or ``None``."""
    name = f"{case}/{table}"
    return next((feature for pattern, feature in WAITING.items() if fnmatch.fnmatchcase(name, pattern)), None)


@pytest.mark.parametrize(("case", "table"), TABLES, ids=lambda value: value)
def test_a_golden_table_reads_equal_at_every_snapshot(case: str, table: str) -> None:
    feature = feature_waited_for(case, table)
    if feature is None:
        assert differences(case, table) == []
        return
    # Strict: a table that reads right no longer waits.
    with pytest.raises(UnsupportedFeature) as refusal:
        differences(case, table)
    assert feature in str(refusal.value)


def differences(case: str, table: str) -> list[str]:
    """What differs between our answers and Paimon's: nothing, if all is well."""
    golden = golden_case(case)
    facts = golden.tables[table]
    opened = load_catalog({"warehouse": str(golden.warehouse)}).load_table(table)
    found = []
    for snapshot, state in facts["snapshots"].items():
        if "rows" not in state:
            continue  # Paimon itself fails on this table
        at = opened.copy({"scan.snapshot-id": snapshot})
        fields = at.schema.fields
        if [f.name for f in fields] != state["columns"]:
            found.append(f"snapshot {snapshot}: columns {[f.name for f in fields]}, expected {state['columns']}")
            continue
        types = [type_json(f.type) for f in fields]
        if types != state["types"]:
            found.append(f"snapshot {snapshot}: types {types}, expected {state['types']}")
        rows = json_rows(at.scan().to_arrow(), fields)
        if rows != state["rows"]:
            found.append(f"snapshot {snapshot}: {len(rows)} rows {rows[:3]}, expected {state['rows'][:3]}")
    return found

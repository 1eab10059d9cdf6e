"""Every tag and every branch of the golden tables reads as the real Paimon reads it."""

from __future__ import annotations

from typing import Any

import pytest

from table_format import Table, load_catalog
from table_format.table.read.scan import Scan
from tests.support.golden import case_names, golden_case
from tests.support.json_rows import json_rows, rows_with_floats

TAGS = [
    (case, table, tag)
    for case in case_names()
    for table, facts in golden_case(case).tables.items()
    for tag in facts.get("tags", {})
]
BRANCHES = [
    (case, table, branch)
    for case in case_names()
    for table, facts in golden_case(case).tables.items()
    for branch in facts.get("branches", {})
]


def opened(case: str, table: str) -> Table:
    found = load_catalog({"warehouse": str(golden_case(case).warehouse)}).load_table(table)
    assert isinstance(found, Table)
    return found


def assert_reads(scan: Scan, state: dict[str, Any]) -> None:
    fields = scan.plan().fields
    assert [f.name for f in fields] == state["columns"]
    assert [str(f.type) for f in fields] == state["types"]
    assert json_rows(scan.to_arrow(), fields) == rows_with_floats(state["rows"], fields)


def test_there_are_tags_and_branches_to_read() -> None:
    assert len(TAGS) >= 10
    assert len(BRANCHES) >= 8


@pytest.mark.parametrize(("case", "table", "tag"), TAGS, ids=lambda value: value)
def test_a_tag_reads_equal(case: str, table: str, tag: str) -> None:
    expected = golden_case(case).tables[table]["tags"][tag]
    assert_reads(opened(case, table).scan(options={"scan.tag-name": tag}), expected)


@pytest.mark.parametrize(("case", "table"), sorted({(c, t) for c, t, _ in TAGS}), ids=lambda value: value)
def test_the_tags_are_listed(case: str, table: str) -> None:
    assert sorted(opened(case, table).tags()) == sorted(golden_case(case).tables[table]["tags"])


@pytest.mark.parametrize(("case", "table"), sorted({(c, t) for c, t, _ in BRANCHES}), ids=lambda value: value)
def test_the_branches_are_listed(case: str, table: str) -> None:
    assert sorted(opened(case, table).branches()) == sorted(golden_case(case).tables[table]["branches"])


@pytest.mark.parametrize(("case", "table", "branch"), BRANCHES, ids=lambda value: value)
def test_a_branch_reads_equal_at_every_snapshot(case: str, table: str, branch: str) -> None:
    expected = golden_case(case).tables[table]["branches"][branch]
    found = opened(case, f"{table}$branch_{branch}")
    assert [snapshot.id for snapshot in found.snapshots()] == expected["snapshot_ids"]
    assert_reads(found.scan(), expected["latest"])
    for snapshot_id, state in expected["snapshots"].items():
        assert_reads(found.scan(options={"scan.snapshot-id": snapshot_id}), state)


@pytest.mark.parametrize("case", ["fallback_branch", "fallback_branch__1.4.2"])
def test_missing_partitions_come_from_the_fallback_branch(case: str) -> None:
    facts = golden_case(case).tables["db.t"]
    assert_reads(opened(case, "db.t").scan(), facts["latest"])


@pytest.mark.parametrize("case", ["tags_branches", "tags_branches__1.4.2"])
def test_consumers_are_listed(case: str) -> None:
    facts = golden_case(case).tables["db.t"]["system_tables"]["consumers"]
    assert sorted(opened(case, "db.t").consumers().items()) == [tuple(row) for row in facts["rows"]]

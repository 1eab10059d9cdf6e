"""Verification finds nothing in tables that the real Paimon wrote."""

from __future__ import annotations

import pytest

from table_format import Table, load_catalog
from tests.golden.waiting import WAITING
from tests.support.golden import case_names, golden_case

UNREADABLE = {"file_options/db.data_dir": "data file"}
"""The release that wrote it ignored 'data-file.path-directory', so that its files do not lie where that says."""


@pytest.mark.parametrize("case", case_names())
def test_a_table_of_paimon_has_no_finding(case: str) -> None:
    golden = golden_case(case)
    catalog = load_catalog({"warehouse": str(golden.warehouse)})
    waiting = {pattern for patterns in WAITING.values() for pattern in patterns}
    for name in golden.tables:
        if f"{case}/*" in waiting:
            continue
        table = catalog.load_table(name)
        if not isinstance(table, Table):
            continue
        report = table.verify(depth="rows")
        expected = UNREADABLE.get(f"{case}/{name}")
        assert {finding.check for finding in report.findings} == ({expected} if expected else set()), str(report)

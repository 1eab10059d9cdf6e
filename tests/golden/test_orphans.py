"""Of tables that the real Paimon wrote nothing is an orphan, but what it leaves to the cleaning itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from table_format import Table, load_catalog
from tests.support.golden import case_names, golden_case
from tests.support.reachable import check_files
from tests.support.tables import rows_of

FUTURE = 1 << 60
SEEN = ("changelog", "deletion_vectors", "dynamic", "streaming", "append_compaction", "expire")


@pytest.mark.parametrize("case", [case for case in case_names() if any(word in case for word in SEEN)])
def test_nothing_of_a_table_of_paimon_is_an_orphan(case: str) -> None:
    golden = golden_case(case)
    catalog = load_catalog({"warehouse": str(golden.warehouse)})
    for name in golden.tables:
        table = catalog.load_table(name)
        assert isinstance(table, Table)
        assert table.remove_orphan_files(older_than_ms=FUTURE, dry_run=True, nobody_else_writes=True).paths == ()


@pytest.mark.parametrize("name", ["db.rollback", "db.rollback_tag"])
def test_what_a_rollback_of_paimon_leaves_behind_goes(name: str, tmp_path: Path) -> None:
    warehouse = golden_case("tags_branches__1.4.2").writable_copy(tmp_path)
    table = load_catalog({"warehouse": str(warehouse)}).load_table(name)
    assert isinstance(table, Table)
    states = {s.id: rows_of(table, options={"scan.snapshot-id": str(s.id)}) for s in table.snapshots()}
    assert len(table.remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True).paths) in (8, 12)
    check_files(table)
    assert {number: rows_of(table, options={"scan.snapshot-id": str(number)}) for number in states} == states

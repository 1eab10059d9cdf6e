"""Tables written by Paimon open whatever they hold; only an operation with a wrong result is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from table_format import Table, load_catalog
from table_format.errors import UnsupportedFeature
from tests.support.golden import golden_case
from tests.support.json_rows import json_rows, rows_with_floats


def opened(case: str, name: str, warehouse: Path | None = None) -> Table:
    catalog = load_catalog({"warehouse": str(warehouse or golden_case(case).warehouse)})
    table = catalog.load_table(name)
    assert isinstance(table, Table)
    return table


def first_table(case: str) -> str:
    return next(iter(golden_case(case).tables))


@pytest.mark.parametrize(
    ("case", "feature"),
    [
        ("pk_aggregation", "'merge-engine' = 'aggregation'"),
        ("pk_partial_update", "'merge-engine' = 'partial-update'"),
        ("pk_first_row", "'merge-engine' = 'first-row'"),
        ("pk_deletion_vectors", "'deletion-vectors.enabled' = 'true'"),
        ("types_orc", "file format 'orc'"),
        ("types_avro", "file format 'avro'"),
        ("fallback_branch", "'scan.fallback-branch' = "),
    ],
)
def test_rows_that_would_be_wrong_are_not_read(case: str, feature: str) -> None:
    table = opened(case, first_table(case))
    assert table.snapshots()
    with pytest.raises(UnsupportedFeature, match=feature):
        table.scan().to_arrow()


@pytest.mark.parametrize(
    ("case", "feature"),
    [
        ("pk_dynamic_bucket", r"'bucket' = '-1' \(dynamic bucket\)"),
        ("pk_postpone_bucket", r"'bucket' = '-2' \(postpone bucket\)"),
        ("thin_mode", "'data-file.thin-mode' = 'true'"),
        ("append_row_tracking", "'row-tracking.enabled' = 'true'"),
    ],
)
def test_what_may_be_read_and_not_written(case: str, feature: str, tmp_path: Path) -> None:
    golden = golden_case(case)
    name = first_table(case)
    table = opened(case, name, golden.writable_copy(tmp_path))
    fields = table.scan().plan().fields
    latest = golden.tables[name]["latest"]
    rows = table.scan().to_arrow()
    assert json_rows(rows, fields) == rows_with_floats(latest["rows"], fields)
    with pytest.raises(UnsupportedFeature, match=feature):
        table.append(rows)


def test_a_branch_is_read_and_not_written(tmp_path: Path) -> None:
    golden = golden_case("tags_branches")
    name, facts = next((n, f) for n, f in golden.tables.items() if f.get("branches"))
    branch, state = next(iter(facts["branches"].items()))
    table = opened("tags_branches", f"{name}$branch_{branch}", golden.writable_copy(tmp_path))
    fields = table.scan().plan().fields
    assert json_rows(table.scan().to_arrow(), fields) == rows_with_floats(state["latest"]["rows"], fields)
    with pytest.raises(UnsupportedFeature, match=f"main branch only, not '{branch}'"):
        table.append(table.scan().to_arrow())


def test_a_table_of_paimon_takes_our_rows(tmp_path: Path) -> None:
    golden = golden_case("pk_deduplicate")
    table = opened("pk_deduplicate", "db.levels", golden.writable_copy(tmp_path))
    before = table.scan().to_arrow().sort_by("k")
    table.append(before.slice(0, 3))
    table.delete(f"k = {before['k'][5]}")
    table.compact(full=True)
    after = table.scan().to_arrow().sort_by("k")
    assert len(after) == len(before) - 1
    assert after.slice(0, 5).equals(before.slice(0, 5))

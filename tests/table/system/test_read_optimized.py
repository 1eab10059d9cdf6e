"""``$ro``: what is read without a merge."""

from __future__ import annotations

from typing import Any

import pytest

from table_format import load_catalog
from table_format.catalog.filesystem import FileSystemCatalog
from table_format.errors import UnsupportedFeature
from table_format.table.read.scan import Scan
from table_format.table.system.read_optimized import ReadOptimizedTable
from tests.support.golden import case_names, golden_case
from tests.support.json_rows import json_rows, rows_with_floats
from tests.support.tables import Warehouse, keyed, memory_warehouse


@pytest.fixture
def warehouse() -> Warehouse:
    return memory_warehouse()


def view_of(warehouse: Warehouse, name: str = "db.t$ro") -> ReadOptimizedTable:
    opened = warehouse.catalog.load_table(name)
    assert isinstance(opened, ReadOptimizedTable)
    return opened


def rows(scan: Scan) -> list[tuple[Any, ...]]:
    found = scan.to_arrow()
    return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True))


def test_a_primary_key_table_shows_what_a_full_compaction_left(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"write-only": "true"})
    table.append(keyed([(i, "a", i) for i in range(10)]))
    view = view_of(warehouse)
    assert rows(view.scan()) == []
    table.compact(full=True)
    table.append(keyed([(3, "b", 30), (20, "b", 200)]))
    assert rows(view.scan()) == [(i, "a", i) for i in range(10)]
    plan = view.scan().plan()
    assert all(split.raw_convertible for split in plan)
    assert {file.level for split in plan for file in split.files} == {table.options.compaction.num_levels - 1}
    table.compact(full=True)
    assert rows(view.scan()) == rows(table.scan())


def test_the_highest_level_follows_the_options_of_the_table(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"num-levels": "3", "write-only": "true"})
    table.append(keyed([(1, "a", 1)]))
    table.compact(full=True)
    assert rows(view_of(warehouse).scan()) == [(1, "a", 1)]


def test_an_append_table_is_shown_whole(warehouse: Warehouse) -> None:
    table = warehouse.table()
    for i in range(3):
        table.append(keyed([(i, "a", i)]))
    assert rows(view_of(warehouse).scan()) == rows(table.scan()) == [(i, "a", i) for i in range(3)]


def test_the_view_takes_columns_filters_and_time_travel(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1", "write-only": "true"})
    table.append(keyed([(i, "a", i) for i in range(5)]))
    table.compact(full=True)
    table.append(keyed([(i, "b", 10 * i) for i in range(5)]))
    table.compact(full=True)
    view = view_of(warehouse)
    assert view.name == "db.t$ro"
    assert [f.name for f in view.fields] == ["id", "dt", "v"]
    assert rows(view.scan(["v"], "id >= 3")) == [(30,), (40,)]
    assert rows(view.scan(["v"], "v >= 30", {"scan.snapshot-id": "2"})) == []
    assert rows(view.scan(["v"], "v >= 3", {"scan.snapshot-id": "2"})) == [(3,), (4,)]
    assert rows(view.scan(options={"scan.snapshot-id": "1"})) == []
    assert view.scan(filter="v = 7000").plan().file_count == 0
    assert view.scan().to_pandas().shape == (5, 3)


def test_changes_of_the_view_are_refused(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"])
    table.append(keyed([(1, "a", 1)]))
    with pytest.raises(UnsupportedFeature, match="changes of a read-optimized table"):
        view_of(warehouse).scan(options={"incremental-between": "0,1"}).to_arrow()


def shown_by_paimon() -> list[tuple[str, str]]:
    return [
        (case, table)
        for case in case_names()
        if case.startswith(("append_deletion", "pk_deletion", "pk_deduplicate", "pk_first_row", "spark_modes", "thin"))
        for table, facts in golden_case(case).tables.items()
        if "rows" in facts.get("system_tables", {}).get("ro", {})
        # Version 0.9 reads all levels of a table with deletion vectors here; since 1.3 it is the highest one.
        and not ("0.9.0" in golden_case(case).expected["written_by"] and _merges_on_write(facts))
    ]


def _merges_on_write(facts: dict[str, Any]) -> bool:
    return "deletion-vectors.enabled" in facts["schema"].get("options", {})


@pytest.mark.parametrize(("case", "table"), shown_by_paimon(), ids=lambda value: value)
def test_the_view_is_that_of_the_real_paimon(case: str, table: str) -> None:
    golden = golden_case(case)
    catalog = load_catalog({"warehouse": str(golden.warehouse)})
    assert isinstance(catalog, FileSystemCatalog)
    view = catalog.load_table(f"{table}$ro")
    assert isinstance(view, ReadOptimizedTable)
    expected = golden.tables[table]["system_tables"]["ro"]["rows"]
    assert json_rows(view.scan().to_arrow(), view.fields) == rows_with_floats(expected, view.fields)

"""Another changelog producer is refused while a compaction has yet to write the changelog of some rows."""

from __future__ import annotations

import pytest

from table_format.errors import InvalidOption
from table_format.model.schema_change import RemoveOption, SetOption
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of

KEY = "changelog-producer"


@pytest.fixture
def warehouse() -> Warehouse:
    return memory_warehouse()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("lookup", "none"),
        ("lookup", "input"),
        ("full-compaction", "none"),
        ("full-compaction", "lookup"),
        ("lookup", "full-compaction"),
    ],
)
def test_rows_on_low_levels_are_in_the_way(warehouse: Warehouse, before: str, after: str) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1", KEY: before, "write-only": "true"})
    table.append(keyed([(1, "a", 1)]))
    message = rf"'{KEY}': may not change from {before} to {after} while bucket 0 of snapshot 1 .* full compaction first"
    with pytest.raises(InvalidOption, match=message):
        warehouse.catalog.alter_table("db.t", SetOption(KEY, after))
    table.compact(full=True)
    assert rows_of(warehouse.catalog.alter_table("db.t", SetOption(KEY, after))) == [(1, "a", 1)]


@pytest.mark.parametrize(("before", "after"), [("full-compaction", "none"), ("input", "none"), ("input", "lookup")])
def test_rows_that_have_no_bucket_yet_are_in_the_way(warehouse: Warehouse, before: str, after: str) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "-2", KEY: before})
    table.append(keyed([(1, "a", 1)]))
    with pytest.raises(InvalidOption, match="bucket -2 of snapshot 1 has rows that have no bucket yet"):
        warehouse.catalog.alter_table("db.t", SetOption(KEY, after))


@pytest.mark.parametrize(
    ("before", "after"),
    [("none", "input"), ("input", "none"), ("none", "lookup"), ("input", "lookup"), ("input", "full-compaction")],
)
def test_they_are_not_if_commits_have_all_changes(warehouse: Warehouse, before: str, after: str) -> None:
    table = warehouse.table(primary_keys=["id"], options={KEY: before, "write-only": "true"})
    table.append(keyed([(1, "a", 1)]))
    assert warehouse.catalog.alter_table("db.t", SetOption(KEY, after)).schema.options[KEY] == after


def test_a_table_without_snapshots_may_change(warehouse: Warehouse) -> None:
    warehouse.table(primary_keys=["id"], options={KEY: "lookup"})
    assert KEY not in warehouse.catalog.alter_table("db.t", RemoveOption(KEY)).schema.options

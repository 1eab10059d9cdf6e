"""A table is switched to marking deleted rows and back where that changes no read, and refused where it would."""

from __future__ import annotations

import pytest

from table_format import Table
from table_format.errors import InvalidOption
from table_format.model.schema_change import RemoveOption, SetOption
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of

ON = SetOption("deletion-vectors.enabled", "true")
OFF = RemoveOption("deletion-vectors.enabled")


def a_table(warehouse: Warehouse, **options: str) -> Table:
    return warehouse.table("t", primary_keys=["id"], options={"bucket": "1", **options})


def test_the_modes_follow_one_another_by_alter() -> None:
    warehouse = memory_warehouse()
    a_table(warehouse).append(keyed([(1, "a", 1), (2, "a", 1)]))
    cow = warehouse.catalog.alter_table("db.t", SetOption("full-compaction.delta-commits", "1"))
    cow.append(keyed([(1, "a", 2)]))
    mow = warehouse.catalog.alter_table("db.t", [RemoveOption("full-compaction.delta-commits"), ON])
    mow.append(keyed([(1, "a", 3), (3, "a", 1)]))
    assert rows_of(mow) == [(1, "a", 3), (2, "a", 1), (3, "a", 1)]
    assert not any(split.deletion_files is None and len(split.files) > 1 for split in mow.scan().plan().splits)
    mow.compact(full=True)
    mor = warehouse.catalog.alter_table("db.t", OFF)
    mor.append(keyed([(1, "a", 4)]))
    assert rows_of(mor) == [(1, "a", 4), (2, "a", 1), (3, "a", 1)]


def test_rows_that_have_to_be_merged_are_in_the_way() -> None:
    warehouse = memory_warehouse()
    table = a_table(warehouse)
    table.append(keyed([(1, "a", 1)]))
    with pytest.raises(
        InvalidOption, match=r"from False to True while bucket 0 of snapshot 1 .* run a full compaction"
    ):
        warehouse.catalog.alter_table("db.t", ON)
    table.compact(full=True)
    assert rows_of(warehouse.catalog.alter_table("db.t", ON)) == [(1, "a", 1)]


def test_marked_rows_are_in_the_way() -> None:
    warehouse = memory_warehouse()
    table = a_table(warehouse, **{"deletion-vectors.enabled": "true"})
    table.append(keyed([(key, "a", 1) for key in range(1000)]))
    table.append(keyed([(1, "a", 2)]))
    with pytest.raises(InvalidOption, match="marked as deleted"):
        warehouse.catalog.alter_table("db.t", OFF)
    table.compact(full=True)
    assert rows_of(warehouse.catalog.alter_table("db.t", OFF), filter="id < 3") == [
        (0, "a", 1),
        (1, "a", 2),
        (2, "a", 1),
    ]


def test_an_append_table_may_begin_to_mark_rows() -> None:
    warehouse = memory_warehouse()
    warehouse.table("t").append(keyed([(1, "a", 1), (2, "a", 2)]))
    table = warehouse.catalog.alter_table("db.t", ON)
    table.delete("id = 1")
    assert rows_of(table) == [(2, "a", 2)]
    with pytest.raises(InvalidOption, match="marked as deleted"):
        warehouse.catalog.alter_table("db.t", OFF)


def test_who_says_so_may_change_it_all_the_same() -> None:
    warehouse = memory_warehouse()
    a_table(warehouse).append(keyed([(1, "a", 1)]))
    table = warehouse.catalog.alter_table("db.t", [SetOption("deletion-vectors.modifiable", "true"), ON])
    assert rows_of(table) == []
    table.compact()
    assert rows_of(table) == [(1, "a", 1)]


def test_one_call_cannot_change_it() -> None:
    table = a_table(memory_warehouse())
    with pytest.raises(InvalidOption, match=r"deletion-vectors\.enabled.*alter the table"):
        table.scan(options={"deletion-vectors.enabled": "true"})


def test_a_row_that_a_vector_marks_stays_deleted_under_full_compaction_changelogs() -> None:
    warehouse = memory_warehouse()
    options = {"bucket": "1", "deletion-vectors.enabled": "true", "deletion-vectors.modifiable": "true"}
    table = warehouse.table(primary_keys=["id"], options=options)
    table.append(keyed([(1, "a", 1), (2, "a", 2)]))
    table.compact(full=True)
    table.delete("id = 2")
    changes = [
        SetOption("deletion-vectors.enabled", "false"),
        SetOption("changelog-producer", "full-compaction"),
    ]
    table = warehouse.catalog.alter_table("db.t", changes)
    table.append(keyed([(1, "a", 9)]))
    table.compact(full=True)
    assert rows_of(table) == [(1, "a", 9)]

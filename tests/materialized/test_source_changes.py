"""What the commits to a source tell about the rows that have changed since it was read."""

from __future__ import annotations

import pytest

from table_format import Table
from table_format.materialized.source_changes import SourceChanges, changes_since
from table_format.model.consumed import Consumed
from tests.support.tables import keyed, memory_warehouse

VECTORS = {"deletion-vectors.enabled": "true"}


def a_table(*, keyed_by: bool = False, options: dict[str, str] | None = None) -> Table:
    """A table with the partitions ``a``, ``b`` and ``c``, each with a row."""
    arguments = {"primary_keys": ["id", "dt"]} if keyed_by else {}
    own = {"bucket": "1"} if keyed_by else {}
    table = memory_warehouse().table(partition_keys=["dt"], options={**own, **(options or {})}, **arguments)
    table.append(keyed([(1, dt, 1) for dt in "abc"]))
    return table


def read(table: Table) -> Consumed:
    return Consumed.of(table.snapshots()[-1])


def changes(table: Table, since: Consumed) -> SourceChanges | None:
    return changes_since(table.facts, since, table.snapshots()[-1])


def partitions(table: Table, found: SourceChanges | None) -> list[str]:
    assert found is not None
    return sorted(str(table.facts.partitions.values(partition)[0]) for partition in found.partitions)


@pytest.mark.parametrize("keyed_by", [False, True])
def test_new_rows_are_changes_of_their_partitions_and_compactions_are_none(keyed_by: bool) -> None:
    table = a_table(keyed_by=keyed_by)
    before = read(table)
    table.append(keyed([(2, "b", 2)]))
    table.compact(full=True)
    found = changes(table, before)
    assert (partitions(table, found), found and found.are_rows) == (["b"], True)
    after = read(table)
    table.compact(full=True)
    assert changes(table, after) is None or partitions(table, changes(table, after)) == []


@pytest.mark.parametrize("options", [{}, VECTORS])
def test_deleted_rows_of_an_append_table_are_not_told_by_rows(options: dict[str, str]) -> None:
    table = a_table(options=options)
    before = read(table)
    table.delete("dt = 'b' and id = 1")
    found = changes(table, before)
    assert (partitions(table, found), found and found.are_rows) == (["b"], False)


def test_a_delete_of_a_key_writes_a_row_with_the_key() -> None:
    table = a_table(keyed_by=True)
    before = read(table)
    table.delete("dt = 'b'")
    found = changes(table, before)
    assert (partitions(table, found), found and found.are_rows) == (["b"], True)


def test_an_overwrite_changes_the_partitions_that_it_empties() -> None:
    table = a_table()
    before = read(table)
    table.overwrite(keyed([(5, "b", 5)]), partition={"dt": "b"})
    assert partitions(table, changes(table, before)) == ["b"]
    table.copy({"dynamic-partition-overwrite": "false"}).overwrite(keyed([(5, "c", 5)]))
    found = changes(table, before)
    assert (partitions(table, found), found and found.are_rows) == (["a", "b", "c"], False)


def test_a_compaction_that_shows_rows_is_a_change() -> None:
    table = a_table(keyed_by=True, options={**VECTORS, "write-only": "true"})
    before = read(table)
    table.compact(full=True)
    found = changes(table, before)
    assert (partitions(table, found), found and found.are_rows) == (["a", "b", "c"], False)


def test_commits_that_are_gone_or_replaced_tell_nothing() -> None:
    table = a_table()
    first = read(table)
    for number in range(3):
        table.append(keyed([(number, "b", 2)]))
    last = read(table)
    assert changes(table, last) is None
    assert changes(table, Consumed(first.id, "another")) is None
    table.rollback_to(first.id)
    table.append(keyed([(9, "c", 2)]))
    assert changes(table, last) is None
    assert partitions(table, changes(table, first)) == ["c"]
    table.append(keyed([(9, "c", 2)]))
    table.expire_snapshots(retain_max=1, retain_min=1, older_than_ms=2**60, retain_floor_ms=0)
    assert changes(table, first) is None


def test_a_source_that_was_empty_has_changed_in_all_its_partitions() -> None:
    table = a_table()
    found = changes(table, Consumed(0, ""))
    assert (partitions(table, found), found and (found.first_id, found.last_id)) == (["a", "b", "c"], (0, 1))

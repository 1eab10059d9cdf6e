"""Rollback to before the commits of a job: what is removed, and whose commits are affected."""

from __future__ import annotations

import pytest

from table_format import Table
from table_format.errors import ConflictError, InvalidInputError, SnapshotExpired, SnapshotNotFound
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of

RUN = {"run": "r1", "job": "load"}


@pytest.fixture
def warehouse() -> Warehouse:
    return memory_warehouse()


def a_table(warehouse: Warehouse) -> Table:
    """Two commits of other users, then two commits of a run with another commit between them."""
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1", "write-only": "true"})
    table.append(keyed([(1, "a", 1)]), commit_user="first", identifier=1)
    table.append(keyed([(2, "a", 1)]), commit_user="second", identifier=1)
    table.append(keyed([(1, "a", 10)]), properties=RUN)
    table.append(keyed([(3, "a", 1)]), commit_user="other", identifier=1, properties={"run": "r2"})
    table.append(keyed([(1, "a", 11)]), properties=RUN)
    return table


def test_a_rollback_to_before_a_run_refuses_to_take_back_what_others_committed_and_names_it(
    warehouse: Warehouse,
) -> None:
    table = a_table(warehouse)
    rows = rows_of(table)
    with pytest.raises(ConflictError, match=r"to snapshot 2, .*run='r1'.*snapshot 4 \(APPEND by 'other', run=r2\)\."):
        table.rollback_before(properties={"run": "r1"})
    assert rows_of(table) == rows
    report = table.rollback_before(properties={"run": "r1"}, including_others=True)
    assert (report.snapshot.id, report.snapshot_ids) == (2, (3, 4, 5))
    assert rows_of(table) == [(1, "a", 1), (2, "a", 1)]


def test_the_plan_lists_what_would_be_removed_and_changes_nothing(warehouse: Warehouse) -> None:
    table = a_table(warehouse)
    table.create_tag("late", 4)
    files = warehouse.files(table)
    plan = table.plan_rollback_before(properties=RUN)
    assert (plan.target.id, [s.id for s in plan.removed], [s.id for s in plan.others], plan.tags) == (
        2,
        [3, 4, 5],
        [4],
        ("late",),
    )
    assert str(plan).splitlines()[0] == "back to snapshot 2; 3 snapshots and 1 tag would be deleted"
    assert str(plan).splitlines()[-1] == "of others: 4"
    to_tag, to_time = table.plan_rollback("late"), table.plan_rollback_to_timestamp(1 << 60)
    assert ([s.id for s in to_tag.removed], to_tag.others, to_tag.tags) == ([5], (), ())
    assert to_time.removed == ()
    assert warehouse.files(table) == files


def test_all_properties_and_the_user_must_match(warehouse: Warehouse) -> None:
    table = a_table(warehouse)
    assert table.plan_rollback_before(commit_user="second").target.id == 1
    assert table.plan_rollback_before(commit_user="other", properties={"run": "r2"}).target.id == 3
    for wanted in ({"commit_user": "first", "properties": RUN}, {"properties": {**RUN, "job": "other"}}):
        with pytest.raises(SnapshotNotFound, match="no retained snapshot is of a commit with"):
            table.rollback_before(**wanted)
    with pytest.raises(InvalidInputError, match="found neither"):
        table.rollback_before()


def test_compactions_and_analyze_since_are_nobody_elses_rows(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1"})
    table.append(keyed([(1, "a", 1)]))
    table.append(keyed([(1, "a", 2)]), properties=RUN)
    table.compact(full=True)
    table.analyze()
    assert table.plan_rollback_before(properties=RUN).others == ()
    table.rollback_before(properties=RUN)
    assert rows_of(table) == [(1, "a", 1)]


def test_before_the_first_snapshot_there_is_nothing_to_go_back_to(warehouse: Warehouse) -> None:
    table = a_table(warehouse)
    with pytest.raises(SnapshotNotFound, match="truncate the table instead"):
        table.rollback_before(commit_user="first", including_others=True)


def test_a_state_that_has_been_expired_is_gone_unless_a_tag_keeps_it(warehouse: Warehouse) -> None:
    table = a_table(warehouse)
    table.create_tag("kept", 2)
    table.expire_snapshots(retain_min=3, retain_max=3, retain_floor_ms=0, older_than_ms=1 << 60)
    assert [s.id for s in table.snapshots()] == [3, 4, 5]
    assert table.plan_rollback_before(properties=RUN).target.id == 2
    table.delete_tag("kept")
    with pytest.raises(SnapshotExpired):
        table.rollback_before(properties=RUN, including_others=True)

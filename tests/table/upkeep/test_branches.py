from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from table_format.errors import (
    AlreadyExistsError,
    BranchNotFound,
    ConflictError,
    InvalidIdentifier,
    InvalidInputError,
    InvalidOption,
    NotFoundError,
    SnapshotExpired,
    SnapshotNotFound,
    TagNotFound,
    UnsupportedFeature,
)
from table_format.model.schema_change import AddColumn, SetOption
from table_format.model.types import IntType
from table_format.table.table import Table
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of


@pytest.fixture
def warehouse() -> Warehouse:
    return memory_warehouse()


@pytest.fixture
def table(warehouse: Warehouse) -> Table:
    """Rows 1 and 2 in two snapshots; the tag ``t1`` on the first."""
    made = warehouse.table(primary_keys=["id"], options={"bucket": "1"})
    made.append(keyed([(1, "d", 1)]))
    made.create_tag("t1")
    made.append(keyed([(2, "d", 2)]))
    return made


def branch_of(warehouse: Warehouse, name: str) -> Table:
    found = warehouse.catalog.load_table(f"db.t$branch_{name}")
    assert isinstance(found, Table)
    return found


def ids(table: Table, **options: str) -> list[int]:
    return [row[0] for row in rows_of(table, options=options or None)]


def expire_all_but(table: Table, count: int) -> None:
    table.expire_snapshots(retain_min=count, retain_max=count, older_than_ms=1 << 60, retain_floor_ms=0)


# --- making, naming, listing ---------------------------------------------------------------------------------------


def test_a_branch_begins_with_the_snapshot_of_its_tag(warehouse: Warehouse, table: Table):
    table.create_branch("b1", tag="t1")
    branch = branch_of(warehouse, "b1")
    assert ids(branch) == [1]
    assert [s.id for s in branch.snapshots()] == [1]
    assert list(branch.tags()) == ["t1"]
    assert list(table.branches()) == ["b1"]
    assert table.branches()["b1"].created_ms > 0


def test_a_branch_without_tag_has_columns_and_no_rows(warehouse: Warehouse, table: Table):
    table.create_branch("empty")
    branch = branch_of(warehouse, "empty")
    assert (ids(branch), branch.snapshots(), branch.schema.fields) == ([], (), table.schema.fields)


def test_a_branch_may_begin_with_an_expired_snapshot(warehouse: Warehouse, table: Table):
    expire_all_but(table, 1)
    table.create_branch("b1", tag="t1")
    table.delete_tag("t1")
    assert ids(branch_of(warehouse, "b1")) == [1]


def test_a_branch_can_be_made_of_a_branch(warehouse: Warehouse, table: Table):
    table.create_branch("b1", tag="t1")
    branch = branch_of(warehouse, "b1")
    branch.append(keyed([(7, "d", 7)]))
    branch.create_tag("t7")
    branch.create_branch("b2", tag="t7")
    assert ids(branch_of(warehouse, "b2")) == [1, 7]
    assert sorted(table.branches()) == sorted(branch.branches()) == ["b1", "b2"]


def test_a_branch_from_a_snapshot_without_tag_is_refused(table: Table):
    with pytest.raises(UnsupportedFeature, match="create a tag of the snapshot"):
        table.create_branch("b1", snapshot_id=1)
    assert table.branches() == {}


def test_a_name_is_taken_once(warehouse: Warehouse, table: Table):
    table.create_branch("b1", tag="t1")
    table.create_branch("b1", ignore_if_exists=True)
    assert ids(branch_of(warehouse, "b1")) == [1]
    with pytest.raises(AlreadyExistsError, match="branch 'b1'"):
        table.create_branch("b1")
    with pytest.raises(TagNotFound):
        table.create_branch("b2", tag="unknown")


@pytest.mark.parametrize("name", ["main", "", " ", "12", "../x", "a/b", "a$b"])
def test_names_of_branches_are_checked(table: Table, name: str):
    with pytest.raises(InvalidIdentifier):
        table.create_branch(name)
    table.create_branch("good")
    with pytest.raises(InvalidIdentifier):
        table.rename_branch("good", name)
    assert list(table.branches()) == ["good"]


def test_a_branch_gets_another_name(warehouse: Warehouse, table: Table):
    table.create_branch("old", tag="t1")
    table.create_branch("other")
    table.rename_branch("old", "new")
    assert (sorted(table.branches()), ids(branch_of(warehouse, "new"))) == (["new", "other"], [1])
    with pytest.raises(AlreadyExistsError):
        table.rename_branch("new", "other")
    with pytest.raises(BranchNotFound, match="the branches beside 'main' are new, other"):
        table.rename_branch("old", "newer")
    for name in ("main", "old"):
        with pytest.raises((InvalidIdentifier, BranchNotFound)):
            table.delete_branch(name)


# --- writing ---------------------------------------------------------------------------------------------------------


def test_a_branch_is_written_compacted_and_expired_beside_main(warehouse: Warehouse, table: Table):
    table.create_branch("b1", tag="t1")
    branch = branch_of(warehouse, "b1")
    for number in (11, 12, 13, 14):
        branch.append(keyed([(number, "d", number)]))
    branch.compact(full=True)
    branch.delete("id = 12")
    branch.create_tag("mine")
    expire_all_but(branch, 1)
    assert (ids(branch), ids(table)) == ([1, 11, 13, 14], [1, 2])
    assert ids(table, **{"scan.snapshot-id": "1"}) == [1]
    table.compact(full=True)
    expire_all_but(table, 1)
    assert (ids(branch), ids(table), ids(branch, **{"scan.tag-name": "t1"})) == ([1, 11, 13, 14], [1, 2], [1])


@pytest.mark.parametrize("order", ["main first", "branch first"])
def test_neither_main_nor_branch_deletes_what_the_other_needs(warehouse: Warehouse, table: Table, order: str):
    table.create_branch("b1", tag="t1")
    branch = branch_of(warehouse, "b1")
    branch.append(keyed([(7, "d", 7)]))

    def forget(one: Table) -> None:
        one.overwrite(keyed([(99, "d", 99)]))
        expire_all_but(one, 1)
        one.delete_tag("t1")

    first, second = (table, branch) if order == "main first" else (branch, table)
    before = ids(second)
    forget(first)
    assert ids(second) == before
    assert ids(second, **{"scan.tag-name": "t1"}) == [1]
    forget(second)
    assert (ids(first), ids(second)) == ([99], [99])


def test_a_deleted_branch_takes_along_what_only_it_needs(warehouse: Warehouse, table: Table):
    before = warehouse.files(table)
    table.create_branch("b1", tag="t1")
    branch = branch_of(warehouse, "b1")
    for number in (11, 12, 13):
        branch.append(keyed([(number, "d", number)]))
    table.delete_branch("b1")
    assert warehouse.files(table) == before
    assert (ids(table), ids(table, **{"scan.tag-name": "t1"})) == ([1, 2], [1])
    with pytest.raises(BranchNotFound):
        branch_of(warehouse, "b1")


def test_a_branch_has_columns_of_its_own(warehouse: Warehouse, table: Table):
    table.create_branch("b1", tag="t1")
    altered = warehouse.catalog.alter_table("db.t$branch_b1", AddColumn("extra", IntType()))
    altered.append(keyed([(7, "d", 7)], extra=pa.array([70], pa.int32())))
    assert rows_of(altered) == [(1, "d", 1, None), (7, "d", 7, 70)]
    assert warehouse.reopened(table).schema.field_names == ("id", "dt", "v")


def test_a_branch_is_altered_and_neither_dropped_nor_renamed_as_a_table(warehouse: Warehouse, table: Table):
    table.create_branch("b1", tag="t1")
    for action in (
        lambda: warehouse.catalog.drop_table("db.t$branch_b1"),
        lambda: warehouse.catalog.rename_table("db.t$branch_b1", "db.u"),
        lambda: warehouse.catalog.alter_table("db.t$files", SetOption("write-only", "true")),
    ):
        with pytest.raises(InvalidIdentifier):
            action()


def test_automatic_tags_and_consumers_belong_to_a_branch(warehouse: Warehouse, table: Table):
    table.create_branch("b1", tag="t1")
    branch = branch_of(warehouse, "b1")
    branch.reset_consumer("c", 1)
    branch.copy({"tag.automatic-creation": "batch"}).append(keyed([(7, "d", 7)]))
    assert (list(table.consumers()), list(table.tags())) == ([], ["t1"])
    assert (branch.consumers(), len(branch.tags())) == ({"c": 1}, 2)


# --- consumers ------------------------------------------------------------------------------------------------------


def test_consumers_keep_what_they_have_still_to_read(table: Table):
    table.append(keyed([(3, "d", 3)]))
    table.reset_consumer("slow", 3)
    table.reset_consumer("fast", 9)
    expire_all_but(table, 1)
    assert [s.id for s in table.snapshots()] == [2, 3]
    table.delete_consumer("slow")
    table.delete_consumer("slow")
    expire_all_but(table, 1)
    assert ([s.id for s in table.snapshots()], table.consumers()) == ([3], {"fast": 9})
    for name, snapshot_id in (("../x", 1), ("ok", 0), ("ok", -1)):
        with pytest.raises(InvalidInputError):
            table.reset_consumer(name, snapshot_id)


def test_silent_consumers_are_forgotten_after_a_commit(table: Table):
    table.reset_consumer("silent", 1)
    table.append(keyed([(3, "d", 3)]))
    assert table.consumers() == {"silent": 1}
    table.store.runtime.clock.sleep_ms(5)
    table.copy({"consumer.expiration-time": "1 ms"}).append(keyed([(4, "d", 4)]))
    assert table.consumers() == {}


# --- going forward and back -----------------------------------------------------------------------------------------


def test_a_fast_forward_gives_exactly_the_snapshots_of_the_branch(warehouse: Warehouse, table: Table):
    table.append(keyed([(3, "d", 3)]))
    table.create_branch("b1", tag="t1")
    branch_of(warehouse, "b1").append(keyed([(7, "d", 7)]))
    report = table.fast_forward("b1")
    forwarded = warehouse.reopened(table)
    assert (ids(forwarded), [s.id for s in forwarded.snapshots()]) == ([1, 7], [1, 2])
    assert (report.snapshot_ids, report.removed_ids, report.tags) == ((1, 2), (2, 3), ("t1",))
    assert ids(branch_of(warehouse, "b1")) == [1, 7]
    forwarded.append(keyed([(8, "d", 8)]))
    assert ids(forwarded) == [1, 7, 8]


def test_a_fast_forward_brings_schemas_and_tags_and_leaves_nothing_behind(warehouse: Warehouse, table: Table):
    table.create_branch("b1", tag="t1")
    warehouse.catalog.alter_table("db.t", AddColumn("of_main", IntType()))
    warehouse.reopened(table).create_tag("late")
    branch = warehouse.catalog.alter_table("db.t$branch_b1", AddColumn("of_branch", IntType()))
    branch.append(keyed([(7, "d", 7)], of_branch=pa.array([70], pa.int32())))
    branch.create_tag("t7")
    warehouse.reopened(table).fast_forward("b1")
    forwarded = warehouse.reopened(table)
    assert rows_of(forwarded) == [(1, "d", 1, None), (7, "d", 7, 70)]
    assert (forwarded.schema.field_names[-1], sorted(forwarded.tags())) == ("of_branch", ["t1", "t7"])
    forwarded.delete_branch("b1")
    assert rows_of(warehouse.reopened(table)) == [(1, "d", 1, None), (7, "d", 7, 70)]
    assert len([f for f in warehouse.files(table) if "/data-" in f]) == 2


def test_a_fast_forward_keeps_what_came_before_the_branch(warehouse: Warehouse, table: Table):
    table.create_tag("t2")
    table.create_branch("b1", tag="t2")
    branch = branch_of(warehouse, "b1")
    branch.append(keyed([(7, "d", 7)]))
    table.fast_forward("b1")
    assert [s.id for s in table.snapshots()] == [1, 2, 3]
    assert (ids(table, **{"scan.snapshot-id": "1"}), ids(table)) == ([1], [1, 2, 7])


def test_a_fast_forward_takes_the_snapshot_that_was_expected_and_no_later_one(warehouse: Warehouse, table: Table):
    table.create_branch("b1", tag="t1")
    branch = branch_of(warehouse, "b1")
    branch.append(keyed([(7, "d", 7)]))
    audited = branch.latest_snapshot()
    branch.append(keyed([(8, "d", 8)]))
    before = warehouse.files(table)
    with pytest.raises(ConflictError, match=r"latest snapshot of the branch is 3 by .* not the expected 2 by"):
        table.fast_forward("b1", expected=audited)
    assert warehouse.files(table) == before
    table.fast_forward("b1", expected=branch_of(warehouse, "b1").latest_snapshot())
    assert ids(warehouse.reopened(table)) == [1, 7, 8]


def test_what_cannot_be_fast_forwarded(warehouse: Warehouse, table: Table):
    table.create_branch("empty")
    with pytest.raises(SnapshotNotFound, match="has no snapshot"):
        table.fast_forward("empty")
    with pytest.raises(BranchNotFound):
        table.fast_forward("unknown")
    for one, name in ((table, "main"), (branch_of(warehouse, "empty"), "empty")):
        with pytest.raises(InvalidIdentifier):
            one.fast_forward(name)


ROLLBACKS: dict[str, Callable[[Table], object]] = {
    "id": lambda t: t.rollback_to(2),
    "tag": lambda t: t.rollback_to("t2"),
    "time": lambda t: t.rollback_to_timestamp(t.snapshots()[1].time_millis),
}


@pytest.mark.parametrize("target", ROLLBACKS)
def test_a_rollback_removes_what_came_later(warehouse: Warehouse, table: Table, target: str):
    table.create_tag("t2", 2)
    before = warehouse.files(table)
    table.store.runtime.clock.sleep_ms(2)
    for number in (3, 4, 5):
        table.append(keyed([(number, "d", number)]))
    table.create_tag("late")
    ROLLBACKS[target](table)
    assert (ids(table), [s.id for s in table.snapshots()], sorted(table.tags())) == ([1, 2], [1, 2], ["t1", "t2"])
    assert warehouse.files(table) == before
    table.append(keyed([(6, "d", 6)]))
    assert (ids(table), [s.id for s in table.snapshots()]) == ([1, 2, 6], [1, 2, 3])


@pytest.mark.parametrize("target", [1, "t1"])
def test_a_rollback_goes_back_to_what_only_a_tag_keeps(table: Table, target: int | str):
    for number in (3, 4, 5):
        table.append(keyed([(number, "d", number)]))
    expire_all_but(table, 2)
    table.rollback_to(target)
    assert (ids(table), [s.id for s in table.snapshots()]) == ([1], [1])
    table.append(keyed([(6, "d", 6)]))
    table.create_tag("again")
    assert (ids(table), [s.id for s in table.snapshots()]) == ([1, 6], [1, 2])


HISTORIES: dict[str, Callable[[Table], object]] = {
    "rollback": lambda table: table.rollback_to("t1"),
    "branch": lambda table: table.create_branch("b1", tag="t1"),
    "fast-forward": lambda table: (table.create_branch("b1", tag="t1"), table.fast_forward("b1")),
}


@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("long_lived", [False, True])
@pytest.mark.parametrize("producer", ["none", "input", "lookup", "full-compaction"])
def test_a_history_that_begins_with_what_only_a_tag_keeps_is_whole(
    warehouse: Warehouse, producer: str, long_lived: bool, history: str
):
    """The changelog of an expired snapshot was deleted with it, so nothing may name it any more."""
    options = {"bucket": "1", "changelog-producer": producer}
    if producer == "full-compaction":
        options["full-compaction.delta-commits"] = "1"
    if long_lived:
        options |= {"changelog.num-retained.min": "50", "changelog.num-retained.max": "60"}
    table = warehouse.table("c", primary_keys=["id"], options=options)
    table.append(keyed([(1, "d", 1)]))
    table.create_tag("t1")
    for number in (2, 3):
        table.append(keyed([(number, "d", number)]))
    expire_all_but(table, 1)
    HISTORIES[history](table)
    found = warehouse.catalog.load_table("db.c$branch_b1") if history == "branch" else table
    assert isinstance(found, Table)
    assert ids(found) == [1]
    assert found.verify(depth="rows").findings == ()
    assert table.verify(depth="rows").findings == ()
    first = found.snapshots()[0].id
    stream = found.stream(options={"scan.mode": "from-snapshot", "scan.snapshot-id": str(first)})
    found.append(keyed([(7, "d", 7)]))
    read = []
    while (plan := stream.next_plan()) is not None:
        read += stream.to_arrow(plan)["id"].to_pylist()
    assert read[-1] == 7
    expire_all_but(found, 1)
    assert found.verify(depth="rows").is_healthy


def test_a_rollback_leaves_branches_and_consumers_alone(warehouse: Warehouse, table: Table):
    table.append(keyed([(3, "d", 3)]))
    table.create_tag("t3")
    table.create_branch("b3", tag="t3")
    table.reset_consumer("c", 3)
    table.rollback_to(1)
    assert (ids(table), ids(branch_of(warehouse, "b3")), table.consumers()) == ([1], [1, 2, 3], {"c": 3})


def test_a_rollback_to_nothing_is_refused(table: Table):
    with pytest.raises(SnapshotNotFound):
        table.rollback_to(9)
    with pytest.raises(TagNotFound):
        table.rollback_to("unknown")
    with pytest.raises(SnapshotNotFound):
        table.rollback_to_timestamp(1)
    table.delete_tag("t1")
    expire_all_but(table, 1)
    with pytest.raises(SnapshotExpired):
        table.rollback_to(1)
    assert ids(table) == [1, 2]


# --- the fallback branch --------------------------------------------------------------------------------------------


@pytest.fixture
def partitioned(warehouse: Warehouse) -> Table:
    """Main has the partitions a and b; the branch, with a key and another format of names, b and c."""
    main = warehouse.table(partition_keys=["dt"], options={"file.format": "parquet"})
    main.append(keyed([(1, "a", 1), (2, "b", 2)]))
    main.create_branch("stream")
    branch_of(warehouse, "stream").append(keyed([(9, "b", 9), (3, "c", 3), (4, "c", None)]))
    return warehouse.catalog.alter_table("db.t", SetOption("scan.fallback-branch", "stream"))


def test_partitions_that_main_has_not_come_from_the_fallback_branch(partitioned: Table):
    assert rows_of(partitioned) == [(1, "a", 1), (2, "b", 2), (3, "c", 3), (4, "c", None)]
    plan = partitioned.scan().plan()
    assert [split.branch for split in plan.splits] == [None, None, "stream"]
    assert "scan of db.t$branch_stream, snapshot 1" in str(plan)
    assert plan.row_count == 4


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ("dt = 'c'", [3, 4]),
        ("dt = 'b'", [2]),
        ("id = 9", []),  # main has partition b, and nobody looks into the branch's
        ("v >= 2", [2, 3]),
        ("dt >= 'b' and v is null", [4]),
    ],
)
def test_filters_and_columns_reach_both_branches(partitioned: Table, filter: str, expected: list[int]):
    assert rows_of(partitioned, filter=filter, columns=["id"]) == [(number,) for number in expected]


def test_the_state_of_a_time_is_read_in_both_branches(warehouse: Warehouse, partitioned: Table):
    partitioned.store.runtime.clock.sleep_ms(2)
    branch_of(warehouse, "stream").append(keyed([(5, "c", 5)]))
    partitioned.store.runtime.clock.sleep_ms(2)
    partitioned.append(keyed([(6, "a", 6)]))
    assert ids(partitioned) == [1, 2, 3, 4, 5, 6]
    # Main's second snapshot is younger than both of the branch.
    assert ids(partitioned, **{"scan.snapshot-id": "2"}) == [1, 2, 3, 4, 5, 6]
    # Its first is older than all of them: then the branch's first is meant.
    assert ids(partitioned, **{"scan.snapshot-id": "1"}) == [1, 2, 3, 4]


def test_a_tag_that_only_main_has_is_reported_as_missing_in_the_fallback_branch(partitioned: Table):
    partitioned.create_tag("t1")
    for options in ({"scan.tag-name": "t1"}, {"scan.version": "t1"}):
        with pytest.raises(NotFoundError, match=r"branch 'stream', which 'scan.fallback-branch' of db.t names, lacks"):
            rows_of(partitioned.copy(options))
    with pytest.raises(TagNotFound, match=r"^tag 'unknown'"):
        rows_of(partitioned.copy({"scan.tag-name": "unknown"}))


def test_an_empty_main_reads_all_of_the_fallback_branch(warehouse: Warehouse):
    main = warehouse.table(partition_keys=["dt"])
    main.create_branch("b")
    read = main.copy({"scan.fallback-branch": "b"})
    assert rows_of(read) == []
    branch_of(warehouse, "b").append(keyed([(3, "c", 3)]))
    assert rows_of(read) == [(3, "c", 3)]
    assert rows_of(main) == []


def test_writing_does_not_see_the_fallback_branch(warehouse: Warehouse):
    main = warehouse.table(primary_keys=["id", "dt"], partition_keys=["dt"], schema=NOT_NULL, options={"bucket": "1"})
    main.create_branch("b")
    branch_of(warehouse, "b").append(keyed([(3, "c", 3)]))
    read = main.copy({"scan.fallback-branch": "b"})
    read.delete("id = 3")
    assert rows_of(read) == [(3, "c", 3)]


NOT_NULL = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), pa.field("dt", pa.string(), nullable=False), ("v", pa.int32())]
)


def test_a_fallback_branch_with_other_columns_or_none_is_an_error(warehouse: Warehouse, partitioned: Table):
    warehouse.catalog.alter_table("db.t$branch_stream", AddColumn("extra", IntType()))
    with pytest.raises(InvalidOption, match=r"must have the same columns"):
        partitioned.scan().plan()
    with pytest.raises(BranchNotFound, match=r"scan.fallback-branch"):
        partitioned.copy({"scan.fallback-branch": "unknown"}).scan().plan()


def test_a_fallback_branch_in_use_is_neither_deleted_nor_renamed(partitioned: Table):
    for action in (lambda: partitioned.delete_branch("stream"), lambda: partitioned.rename_branch("stream", "x")):
        with pytest.raises(InvalidInputError, match=r"scan.fallback-branch"):
            action()
    assert list(partitioned.branches()) == ["stream"]

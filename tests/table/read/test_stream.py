"""Streams: where they start, what they show of each snapshot, and how they continue after a stop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format import Table, load_catalog
from table_format.errors import (
    InvalidOption,
    MissingFile,
    SnapshotExpired,
    SnapshotNotFound,
    TableNotFound,
    TableReplaced,
)
from table_format.metastore.references.consumers import next_snapshot, reset_consumer
from table_format.table.read import consumer_position
from table_format.table.read.stream import StreamScan
from tests.simulation.tracing import Instructions
from tests.support.golden import golden_case
from tests.support.tables import Warehouse, disk_warehouse, keyed, memory_warehouse


def stored(warehouse: Warehouse, **options: str) -> Table:
    return warehouse.table(primary_keys=["id"], options={"bucket": "1", **keys(options)})


def keys(options: dict[str, str]) -> dict[str, str]:
    return {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}


def rows_of_plan(stream: StreamScan, plan: Any) -> list[tuple[Any, ...]]:
    columns = [column.to_pylist() for column in stream.to_arrow(plan).columns]
    return sorted(zip(*columns, strict=True))


def expire_all_but_one(table: Table) -> None:
    table.expire_snapshots(retain_max=1, retain_min=1, older_than_ms=2**60, retain_floor_ms=0)


def all_plans(stream: StreamScan) -> list[tuple[int, list[tuple[Any, ...]]]]:
    """Snapshot and rows of every plan there is at the moment."""
    found = []
    while (plan := stream.next_plan()) is not None:
        assert plan.snapshot is not None
        found.append((plan.snapshot.id, rows_of_plan(stream, plan)))
    return found


@pytest.fixture
def three_commits() -> Table:
    table = stored(memory_warehouse(), write_only="true")
    table.append(keyed([(1, "a", 1), (2, "b", 2)]))
    table.append(keyed([(1, "a", 10)]))
    table.delete("id = 2")
    return table


def test_a_stream_begins_with_the_latest_state_and_goes_on_with_changes(three_commits: Table) -> None:
    stream = three_commits.stream()
    assert all_plans(stream) == [(3, [("+I", 1, "a", 10)])]
    assert stream.next_plan() is None
    three_commits.append(keyed([(3, "c", 3)]))
    three_commits.append(keyed([(1, "a", 11)]))
    assert all_plans(stream) == [(4, [("+I", 3, "c", 3)]), (5, [("+I", 1, "a", 11)])]


def test_rows_of_snapshot_1_and_then_the_inserts_of_2_and_3() -> None:
    table = stored(memory_warehouse())
    table.append(keyed([(1, "a", 1)]))
    stream = table.stream()
    table.append(keyed([(2, "b", 2)]))
    table.append(keyed([(3, "c", 3)]))
    # What was there when the first plan was made is its state.
    assert all_plans(stream) == [(3, [("+I", 1, "a", 1), ("+I", 2, "b", 2), ("+I", 3, "c", 3)])]
    started = table.stream(options={"scan.mode": "from-snapshot-full", "scan.snapshot-id": "1"})
    assert all_plans(started) == [
        (1, [("+I", 1, "a", 1)]),
        (2, [("+I", 2, "b", 2)]),
        (3, [("+I", 3, "c", 3)]),
    ]


def test_latest_shows_later_commits_only(three_commits: Table) -> None:
    stream = three_commits.stream(options={"scan.mode": "latest"})
    assert stream.next_plan() is None
    three_commits.append(keyed([(7, "x", 7)]))
    assert all_plans(stream) == [(4, [("+I", 7, "x", 7)])]


def test_latest_of_an_empty_table_begins_with_its_first_snapshot() -> None:
    table = stored(memory_warehouse())
    stream = table.stream(options={"scan.mode": "latest"})
    assert stream.next_plan() is None
    table.append(keyed([(1, "a", 1)]))
    assert all_plans(stream) == [(1, [("+I", 1, "a", 1)])]


def test_an_empty_table_streams_from_its_first_commit() -> None:
    table = stored(memory_warehouse())
    stream = table.stream()
    assert (stream.next_plan(), stream.checkpoint()) == (None, None)
    table.append(keyed([(1, "a", 1)]))
    assert all_plans(stream) == [(1, [("+I", 1, "a", 1)])]
    assert stream.checkpoint() == 2


def test_from_snapshot_shows_the_changes_of_that_snapshot_and_after(three_commits: Table) -> None:
    stream = three_commits.stream(options={"scan.snapshot-id": "2"})
    assert all_plans(stream) == [(2, [("+I", 1, "a", 10)]), (3, [("-D", 2, "b", 2)])]
    assert all_plans(three_commits.stream(options={"scan.version": "3"})) == [(3, [("-D", 2, "b", 2)])]


def test_from_timestamp_shows_what_was_committed_then_and_later(three_commits: Table) -> None:
    times = [s.time_millis for s in three_commits.snapshots()]
    for millis, first in ((0, 1), (times[1], next(i for i, t in enumerate(times, 1) if t >= times[1]))):
        stream = three_commits.stream(options={"scan.timestamp-millis": str(millis)})
        assert [snapshot for snapshot, _ in all_plans(stream)] == list(range(first, 4))
    late = three_commits.stream(options={"scan.timestamp-millis": str(times[2] + 1)})
    assert (late.next_plan(), late.checkpoint()) == (None, 4)


def test_compacted_full_begins_with_the_last_compacted_state() -> None:
    table = stored(memory_warehouse(), write_only="true")
    table.append(keyed([(1, "a", 1)]))
    table.compact(full=True)
    table.append(keyed([(1, "a", 2)]))
    stream = table.stream(options={"scan.mode": "compacted-full"})
    assert all_plans(stream) == [(2, [("+I", 1, "a", 1)]), (3, [("+I", 1, "a", 2)])]


def test_from_file_creation_time_begins_with_files_made_since(three_commits: Table) -> None:
    stream = three_commits.stream(options={"scan.file-creation-time-millis": "0"})
    assert all_plans(stream) == [(3, [("+I", 1, "a", 10)])]
    stream = three_commits.stream(options={"scan.file-creation-time-millis": str(2**50)})
    assert (all_plans(stream), stream.checkpoint()) == ([], 4)


def test_from_creation_timestamp_begins_with_changes_when_the_snapshot_before_is_known(three_commits: Table) -> None:
    stream = three_commits.stream(options={"scan.creation-time-millis": "1"})
    assert [snapshot for snapshot, _ in all_plans(stream)] == [3]


def test_compaction_is_no_change_and_an_overwrite_only_when_asked_for() -> None:
    table = stored(memory_warehouse())
    table.append(keyed([(1, "a", 1), (2, "b", 2)]))
    table.compact(full=True)
    table.overwrite(keyed([(1, "a", 5)]))
    plain = table.stream(options={"scan.snapshot-id": "1"})
    assert all_plans(plain) == [(1, [("+I", 1, "a", 1), ("+I", 2, "b", 2)])]
    asked = table.stream(options={"scan.snapshot-id": "2", "streaming-read-overwrite": "true"})
    assert all_plans(asked) == [(3, [("+I", 1, "a", 5), ("-D", 1, "a", 1), ("-D", 2, "b", 2)])]


def test_an_overwrite_deletes_rows_that_an_update_has_written() -> None:
    """A reader that leaves out ``-U``, as upserts may, would keep them."""
    table = stored(memory_warehouse())
    table.append(keyed([(1, "a", 1)], _row_kind=pa.array(["+U"])))
    table.truncate()
    asked = table.stream(options={"scan.snapshot-id": "2", "streaming-read-overwrite": "true"})
    assert all_plans(asked) == [(2, [("-D", 1, "a", 1)])]


def test_an_overwrite_of_an_append_table_shows_what_it_added_when_asked_for() -> None:
    table = memory_warehouse().table()
    table.append(keyed([(1, "a", 1)]))
    table.overwrite(keyed([(2, "b", 2)]))
    assert all_plans(table.stream(options={"scan.snapshot-id": "2"})) == []
    stream = table.stream(options={"scan.snapshot-id": "2", "streaming-read-append-overwrite": "true"})
    assert all_plans(stream) == [(2, [("+I", 2, "b", 2)])]


def test_columns_and_filter_hold_for_states_and_changes(three_commits: Table) -> None:
    options = {"scan.mode": "from-snapshot-full", "scan.snapshot-id": "1"}
    stream = three_commits.stream(columns=["v"], filter="id = 1 and v < 11", options=options)
    assert stream.schema.names == ["rowkind", "v"]
    assert all_plans(stream) == [(1, [("+I", 1)]), (2, [("+I", 10)])]


def test_postponed_rows_are_in_the_first_plan_though_no_batch_shows_them() -> None:
    table = load_catalog({"warehouse": str(golden_case("pk_postpone_bucket").warehouse)}).load_table("db.t")
    assert isinstance(table, Table)
    assert table.scan().to_arrow().num_rows == 0
    assert all_plans(table.stream()) == [(2, [("+I", 1, "a", 1), ("+I", 1, "a2", 1), ("+I", 2, "b", 2)])]


# --- position --------------------------------------------------------------------------------------------------------


def test_a_restored_stream_goes_on_at_its_checkpoint(three_commits: Table) -> None:
    first = three_commits.stream(options={"scan.snapshot-id": "1"})
    assert first.next_plan() is not None
    again = three_commits.stream(options={"scan.snapshot-id": "1"})
    again.restore(first.checkpoint())
    assert all_plans(again) == [(2, [("+I", 1, "a", 10)]), (3, [("-D", 2, "b", 2)])]
    assert again.checkpoint() == 4


def test_what_was_expired_before_it_was_read_is_an_error_that_says_how_to_go_on(three_commits: Table) -> None:
    stream = three_commits.stream(options={"scan.snapshot-id": "1"})
    assert stream.next_plan() is not None
    three_commits.expire_snapshots(retain_max=1, retain_min=1, older_than_ms=2**60, retain_floor_ms=0)
    with pytest.raises(SnapshotExpired, match=r"snapshot 2 expired.*restore\(3\).*consumer-id"):
        stream.next_plan()
    stream.restore(3)
    assert [snapshot for snapshot, _ in all_plans(stream)] == [3]


def test_a_new_stream_from_an_expired_snapshot_begins_with_the_earliest(three_commits: Table) -> None:
    expire_all_but_one(three_commits)
    assert [s for s, _ in all_plans(three_commits.stream(options={"scan.snapshot-id": "1"}))] == [3]


def test_a_position_behind_the_end_of_history_is_an_error(three_commits: Table) -> None:
    stream = three_commits.stream()
    stream.restore(9)
    with pytest.raises(SnapshotNotFound, match=r"at snapshot 9; since then, .* its latest snapshot is 3"):
        stream.next_plan()


def test_a_stream_does_not_skip_snapshots_that_replace_one_that_it_has_passed(three_commits: Table) -> None:
    stream = three_commits.stream()
    three_commits.compact(full=True)
    assert [snapshot for snapshot, _ in all_plans(stream)] == [4]
    three_commits.rollback_to(3)
    three_commits.append(keyed([(5, "a", 5)]))
    with pytest.raises(SnapshotNotFound, match="at snapshot 5; since then, the table was rolled back"):
        stream.next_plan()
    stream.restore(4)
    assert all_plans(stream) == [(4, [("+I", 5, "a", 5)])]


def test_files_expired_between_plan_and_read_are_an_expired_snapshot(three_commits: Table) -> None:
    stream = three_commits.stream(options={"scan.snapshot-id": "1"})
    plan = stream.next_plan()
    assert plan is not None
    three_commits.compact(full=True)
    three_commits.expire_snapshots(retain_max=1, retain_min=1, older_than_ms=2**60, retain_floor_ms=0)
    with pytest.raises(SnapshotExpired):
        stream.to_arrow(plan)


@pytest.mark.parametrize("commits", [0, 1, 2])
def test_files_removed_by_a_rollback_between_plan_and_read_are_explained_by_it(
    three_commits: Table, commits: int
) -> None:
    stream = three_commits.stream(options={"scan.snapshot-id": "2"})
    plan = stream.next_plan()
    assert plan is not None
    three_commits.rollback_to(1)
    for number in range(commits):
        three_commits.append(keyed([(number, "c", number)]))
    with pytest.raises(SnapshotNotFound, match=r"rolled back|removed by a rollback"):
        stream.to_arrow(plan)


def test_files_of_a_dropped_table_between_plan_and_read_are_explained_by_it(tmp_path: Path) -> None:
    warehouse = disk_warehouse(tmp_path)
    table = warehouse.table()
    table.append(keyed([(1, "a", 1)]))
    stream, scan = table.stream(), table.scan()
    plan, state = stream.next_plan(), scan.plan()
    assert plan is not None
    warehouse.catalog.drop_table("db.t")
    with pytest.raises(TableNotFound, match="was dropped"):
        stream.to_arrow(plan)
    with pytest.raises(TableNotFound, match="was dropped"):
        list(scan.read(state.splits[0]))
    warehouse.table().append(keyed([(2, "a", 2)]))
    with pytest.raises(TableReplaced, match="dropped after it was opened, and created again"):
        stream.to_arrow(plan)


def test_a_stream_of_a_dropped_table_records_no_consumer_in_the_table_in_its_place(tmp_path: Path) -> None:
    warehouse = disk_warehouse(tmp_path)
    table = warehouse.table()
    table.append(keyed([(1, "a", 1)]))
    stream = table.stream(options={"consumer-id": "c"})
    assert stream.next_plan() is not None
    warehouse.catalog.drop_table("db.t")
    with pytest.raises(TableNotFound, match="was dropped"):
        stream.acknowledge()
    assert not Path(table.store.paths.root).exists()
    again = warehouse.table(options={"write-only": "true"})
    with pytest.raises(TableReplaced, match="dropped after it was opened, and created again"):
        stream.acknowledge()
    assert again.consumers() == {}


def test_a_consumer_that_is_recorded_while_the_table_is_dropped_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse = disk_warehouse(tmp_path)
    table = warehouse.table()
    table.append(keyed([(1, "a", 1)]))
    stream = table.stream(options={"consumer-id": "c"})
    assert stream.next_plan() is not None

    def dropped(*_: object, **__: object) -> None:
        warehouse.catalog.drop_table("db.t")
        raise FileNotFoundError

    monkeypatch.setattr(consumer_position, "reset_consumer", dropped)
    with pytest.raises(TableNotFound, match="was dropped"):
        stream.acknowledge()


def test_a_file_that_is_lost_is_not_explained_away(tmp_path: Path) -> None:
    table = disk_warehouse(tmp_path).table()
    table.append(keyed([(1, "a", 1)]))
    stream = table.stream(options={"scan.snapshot-id": "1"})
    plan = stream.next_plan()
    assert plan is not None
    (file,) = plan.splits[0].files
    table.store.io.delete(table.store.paths.data_file("", plan.splits[0].bucket, file))
    with pytest.raises(MissingFile, match=r"does not exist"):
        stream.to_arrow(plan)


# --- consumers -------------------------------------------------------------------------------------------------------


def test_progress_is_recorded_when_it_is_acknowledged_and_a_new_stream_goes_on_there(three_commits: Table) -> None:
    options = {"consumer-id": "c", "scan.snapshot-id": "1"}
    stream = three_commits.stream(options=options)
    assert stream.next_plan() is not None
    assert next_snapshot(three_commits.store, "c") is None
    stream.acknowledge()
    assert next_snapshot(three_commits.store, "c") == 2
    assert stream.next_plan() is not None
    # What was not acknowledged is read again.
    assert [s for s, _ in all_plans(three_commits.stream(options=options))] == [2, 3]


def test_progress_is_not_recorded_at_a_table_that_was_dropped_or_created_again(tmp_path: Path) -> None:
    warehouse = disk_warehouse(tmp_path)
    table = warehouse.table()
    table.append(keyed([(1, "a", 1)]))
    stream = table.stream(options={"consumer-id": "c"})
    stream.next_plan()
    warehouse.catalog.drop_table("db.t")
    with pytest.raises(TableNotFound, match="was dropped"):
        stream.acknowledge()
    assert not list(tmp_path.glob("db.db/*"))
    again = warehouse.table()
    with pytest.raises(TableReplaced, match="created again"):
        stream.acknowledge()
    assert again.consumers() == {}


def test_at_least_once_records_what_was_given_out_when_more_is_asked_for(three_commits: Table) -> None:
    options = {"consumer-id": "c", "consumer.mode": "at-least-once", "scan.snapshot-id": "1"}
    stream = three_commits.stream(options=options)
    stream.next_plan()
    assert next_snapshot(three_commits.store, "c") is None
    stream.next_plan()
    assert next_snapshot(three_commits.store, "c") == 2


def test_ignored_progress_starts_by_the_scan_options(three_commits: Table) -> None:
    reset_consumer(three_commits.store, "c", 3)
    options = {"consumer-id": "c", "scan.snapshot-id": "1"}
    assert [s for s, _ in all_plans(three_commits.stream(options=options))] == [3]
    ignoring = three_commits.stream(options={**options, "consumer.ignore-progress": "true"})
    assert [s for s, _ in all_plans(ignoring)] == [1, 2, 3]


@pytest.mark.parametrize("new_commits", [0, 1, 2])
def test_a_consumer_does_not_skip_snapshots_that_replace_those_it_has_read(
    three_commits: Table, new_commits: int
) -> None:
    options = {"consumer-id": "c", "scan.snapshot-id": "1"}
    stream = three_commits.stream(options=options)
    assert len(all_plans(stream)) == 3
    stream.acknowledge()
    three_commits.rollback_to(1)
    for number in range(new_commits):
        three_commits.append(keyed([(5 + number, "e", 5)]))
    again = three_commits.stream(options=options)
    with pytest.raises(SnapshotNotFound, match=r"'c' reads snapshot 4 next, .*reset_consumer\('c', id\)"):
        again.next_plan()
    three_commits.reset_consumer("c", 2)
    assert [s for s, _ in all_plans(three_commits.stream(options=options))] == [2, 3][:new_commits]


def test_a_rollback_to_what_a_consumer_has_read_does_not_disturb_it(three_commits: Table) -> None:
    options = {"consumer-id": "c", "scan.snapshot-id": "1"}
    stream = three_commits.stream(options=options)
    stream.next_plan()
    stream.acknowledge()
    three_commits.rollback_to(1)
    three_commits.append(keyed([(5, "e", 5)]))
    assert all_plans(three_commits.stream(options=options)) == [(2, [("+I", 5, "e", 5)])]


def test_a_consumer_goes_on_after_the_expiry_of_what_it_has_read(three_commits: Table) -> None:
    options = {"consumer-id": "c", "scan.snapshot-id": "1"}
    stream = three_commits.stream(options=options)
    stream.next_plan()
    stream.acknowledge()
    expire_all_but_one(three_commits)
    assert [s for s, _ in all_plans(three_commits.stream(options=options))] == [2, 3]


def test_expiry_keeps_what_a_consumer_has_still_to_read(three_commits: Table) -> None:
    stream = three_commits.stream(options={"consumer-id": "c", "scan.snapshot-id": "1"})
    stream.next_plan()
    stream.acknowledge()
    expire_all_but_one(three_commits)
    assert [s for s, _ in all_plans(stream)] == [2, 3]


def test_a_consumer_notices_replaced_snapshots_although_they_have_expired(three_commits: Table) -> None:
    options = {"consumer-id": "c", "scan.snapshot-id": "1"}
    stream = three_commits.stream(options=options)
    assert len(all_plans(stream)) == 3
    stream.acknowledge()
    three_commits.rollback_to(1)
    for number in range(4):
        three_commits.append(keyed([(5 + number, "e", 5)]))
    expire_all_but_one(three_commits)
    with pytest.raises(SnapshotNotFound, match=r"'c' reads snapshot 4 next, .*rolled back"):
        three_commits.stream(options=options).next_plan()


def test_expiry_keeps_the_rows_that_an_overwrite_removed_until_a_consumer_has_read_it() -> None:
    table = stored(memory_warehouse(), streaming_read_overwrite="true")
    table.append(keyed([(1, "a", 1)]))
    stream = table.stream(options={"consumer-id": "c"})
    stream.next_plan()
    stream.acknowledge()
    table.overwrite(keyed([(2, "b", 2)]))
    table.append(keyed([(3, "c", 3)]))
    expire_all_but_one(table)
    assert all_plans(table.stream(options={"consumer-id": "c"})) == [
        (2, [("+I", 2, "b", 2), ("-D", 1, "a", 1)]),
        (3, [("+I", 3, "c", 3)]),
    ]


@pytest.mark.parametrize("change", ["rescale", "overwrite"])
def test_an_overwrite_deletes_old_rows_before_it_adds_new_ones_in_other_buckets(change: str) -> None:
    dynamic = {"bucket": "-1", "dynamic-bucket.target-row-num": "4"}
    options = {"streaming-read-overwrite": "true", **({"bucket": "3"} if change == "rescale" else dynamic)}
    table = memory_warehouse().table(primary_keys=["id"], options=options)
    rows = [(number, "a", number) for number in range(12)]
    table.append(keyed(rows))
    stream = table.stream()
    stream.next_plan()
    table.rescale(2) if change == "rescale" else table.overwrite(keyed(rows[::-1]))
    plan = stream.next_plan()
    assert plan is not None
    kinds = stream.to_arrow(plan)["rowkind"].to_pylist()
    assert kinds == ["-D"] * 12 + ["+I"] * 12


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"incremental-between": "1,2"}, "'scan.mode'.*for batch scans"),
        ({"scan.watermark": "5"}, "'scan.watermark'.*not at 5"),
        ({"scan.tag-name": "t"}, "'scan.tag-name'.*not at 't'"),
        ({"scan.version": "t"}, "'scan.version'.*not at 't'"),
    ],
)
def test_a_start_that_no_stream_has_is_refused_by_name(
    three_commits: Table, options: dict[str, str], message: str
) -> None:
    with pytest.raises(InvalidOption, match=message):
        three_commits.stream(options=options)


def test_streaming_overwrites_of_an_append_table_is_refused_with_the_option_that_does_it() -> None:
    table = memory_warehouse().table()
    with pytest.raises(InvalidOption, match="streaming-read-append-overwrite"):
        table.stream(options={"streaming-read-overwrite": "true"})


def test_a_delay_leaves_out_what_is_too_young(three_commits: Table) -> None:
    delayed = three_commits.stream(options={"scan.snapshot-id": "1", "streaming.read.snapshot.delay": "1 d"})
    assert (delayed.next_plan(), delayed.checkpoint()) == (None, 1)
    at_once = three_commits.stream(options={"scan.snapshot-id": "1", "streaming.read.snapshot.delay": "0 s"})
    assert len(all_plans(at_once)) == 3


STREAM = tuple(f"table/read/{name}.py" for name in ("stream", "stream_start", "stream_plans"))


@pytest.mark.parametrize("step", range(40))
def test_a_stream_that_was_interrupted_shows_every_change_once(three_commits: Table, step: int) -> None:
    stream = three_commits.stream(options={"scan.mode": "from-snapshot", "scan.snapshot-id": "1"})
    found = []
    while True:
        instructions = Instructions(STREAM, len(found) * 7 + step * 11, KeyboardInterrupt)
        plans: list[Any] = []
        instructions.run(lambda plans=plans: plans.append(stream.next_plan()))
        if not plans:
            plans.append(stream.next_plan())
        if plans[0] is None:
            break
        found.append(plans[0].snapshot.id)
    assert found == sorted(set(found))
    assert len(found) == 3

"""Postponed buckets: rows are put aside, and a compaction gives them their buckets in the order they came in."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from table_format import Table
from table_format.errors import (
    BucketCountChanged,
    FileConflict,
    InvalidData,
    InvalidOption,
    RetractNotSupported,
    UnsupportedFeature,
)
from table_format.model.data_file import EMPTY_STATS
from table_format.model.manifest import FileKind, ManifestEntry
from table_format.model.schema_change import AddColumn, RenameColumn, SetOption
from table_format.model.snapshot import CommitKind
from table_format.model.types import IntType
from table_format.options.bucket_mode import Postponed
from table_format.runtime import SystemClock
from table_format.table.system.audit_log import AuditLogTable
from table_format.table.upkeep.bucket_compaction import compact, perform_work
from table_format.table.upkeep.postponed import postponed_partitions
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of

POSTPONED = {"bucket": "-2"}
PARTITIONED = {"primary_keys": ["id", "dt"], "partition_keys": ["dt"]}
NAME = re.compile(r"data--u-[\w-]+-s-\d+-w-[0-9a-f-]{36}-\d+\.avro")


@pytest.fixture
def warehouse() -> Warehouse:
    return memory_warehouse()


def live(table: Table) -> list[ManifestEntry]:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    alive: dict[Any, ManifestEntry] = {}
    for found in table.snapshots():
        for entry in table.facts.manifests.delta_entries(found):
            if entry.kind is FileKind.ADD:
                alive[entry.identifier] = entry
            else:
                del alive[entry.identifier]
    return list(alive.values())


def buckets(table: Table) -> dict[str, set[tuple[int, int]]]:
    found: dict[str, set[tuple[int, int]]] = {}
    for entry in live(table):
        found.setdefault(table.facts.partitions.text(entry.partition), set()).add((entry.bucket, entry.total_buckets))
    return found


def test_rows_are_put_aside_and_shown_after_a_compaction(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options=POSTPONED)
    table.append(keyed([(1, "a", 1), (2, "b", 2), (1, "again", 3)]), commit_user="job-7", identifier=1)
    table.append(keyed([(2, "c", 4)]))
    assert rows_of(table) == []
    first, second = (entry.file for entry in live(table))
    assert NAME.fullmatch(first.file_name)
    assert first.file_name.startswith("data--u-job-7-s-")
    assert (first.level, first.row_count, first.min_sequence_number, first.max_sequence_number) == (0, 3, -1, -1)
    assert (first.value_stats, first.value_stats_cols, first.key_stats.null_counts) == (EMPTY_STATS, (), (None,))
    assert [f for f in warehouse.files(table) if f.startswith("bucket")] == sorted(
        f"bucket-postpone/{file.file_name}" for file in (first, second)
    )
    [snapshot] = table.compact()
    assert snapshot.commit_kind is CommitKind.COMPACT
    assert rows_of(table) == [(1, "again", 3), (2, "c", 4)]
    assert buckets(table) == {"": {(0, 1)}}
    assert (snapshot.total_record_count, snapshot.delta_record_count) == (2, -2)
    assert table.compact() == ()


def test_a_user_that_a_file_name_cannot_hold_is_left_out_of_it(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options=POSTPONED)
    for turn, user in enumerate(("a/b", "a-s-1-w-b", "x y", "../..")):
        table.append(keyed([(turn, "a", turn)]), commit_user=user, identifier=1)
    assert all(NAME.fullmatch(entry.file.file_name) for entry in live(table))
    table.compact()
    assert len(rows_of(table)) == 4


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"dt=a": 1, "dt=b": 1}),
        ({"postpone.default-bucket-num": "3"}, {"dt=a": 3, "dt=b": 3}),
        ({"postpone.target-row-num-per-bucket": "10"}, {"dt=a": 4, "dt=b": 1}),
    ],
)
def test_a_partition_gets_its_number_of_buckets_once(
    warehouse: Warehouse, options: dict[str, str], expected: dict[str, int]
) -> None:
    table = warehouse.table(**PARTITIONED, options={**POSTPONED, **options})
    table.append(keyed([(i, "a", i) for i in range(40)] + [(i, "b", i) for i in range(4)]))
    table.compact()
    found = {partition: {total for _, total in pairs} for partition, pairs in buckets(table).items()}
    assert found == {partition: {count} for partition, count in expected.items()}
    assert all(bucket < total for pairs in buckets(table).values() for bucket, total in pairs)
    # Many more rows come: the number stays.
    table.append(keyed([(i, "b", i) for i in range(100)]))
    table.compact(full=True)
    found = {partition: {total for _, total in pairs} for partition, pairs in buckets(table).items()}
    assert found == {partition: {count} for partition, count in expected.items()}
    assert len(rows_of(table)) == 140
    scan = table.scan(filter="id = 33 AND dt = 'b'")
    assert scan.to_arrow().num_rows == 1
    assert len(scan.plan().splits) == 1


def test_the_number_of_buckets_goes_before_the_rows_of_one(warehouse: Warehouse) -> None:
    rows_of_a_bucket = {"postpone.target-row-num-per-bucket": "1"}
    table = warehouse.table(**PARTITIONED, options={**POSTPONED, **rows_of_a_bucket})
    table.append(keyed([(i, "a", i) for i in range(40)] + [(i, "b", i) for i in range(4)]))
    with pytest.raises(InvalidOption, match=r"row-num-per-bucket': would have no effect: it needs a primary key and"):
        warehouse.table("t2", options=rows_of_a_bucket)
    with pytest.raises(InvalidOption, match=r"it needs no 'postpone.default-bucket-num', which takes precedence"):
        warehouse.catalog.alter_table(str(table.identifier), SetOption("postpone.default-bucket-num", "2"))
    table.copy({"postpone.default-bucket-num": "2"}).compact()
    found = {partition: {total for _, total in pairs} for partition, pairs in buckets(table).items()}
    assert found == {"dt=a": {2}, "dt=b": {2}}


def test_a_rescaled_partition_is_written_with_its_new_number(warehouse: Warehouse) -> None:
    table = warehouse.table(**PARTITIONED, options=POSTPONED)
    table.append(keyed([(i, dt, i) for i in range(20) for dt in "ab"]))
    table.compact()
    table.append(keyed([(i, "a", -i) for i in range(5, 25)]))
    table.rescale(4, partitions=[{"dt": "a"}])
    # What is postponed stays so.
    assert buckets(table)["dt=a"] == {(-2, -2), *((bucket, 4) for bucket in range(4))}
    assert len(rows_of(table)) == 40
    table.compact()
    assert buckets(table) == {"dt=a": {(bucket, 4) for bucket in range(4)}, "dt=b": {(0, 1)}}
    expected = {i: i for i in range(5)} | {i: -i for i in range(5, 25)}
    assert rows_of(table, filter="dt = 'a'") == sorted(((i, "a", v) for i, v in expected.items()), key=repr)


def test_postponed_files_die_with_the_snapshots_that_name_them(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options=POSTPONED)
    table.append(keyed([(1, "a", 1)]))
    table.compact()
    table.append(keyed([(2, "a", 2)]))
    table.expire_snapshots(retain_max=1, retain_min=1, retain_floor_ms=0)
    [waiting] = [f for f in warehouse.files(table) if f.startswith("bucket-postpone")]
    assert waiting.endswith(live_names(table)[-1])
    table.compact()
    assert rows_of(table) == [(1, "a", 1), (2, "a", 2)]


def live_names(table: Table) -> list[str]:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return [entry.file.file_name for entry in table.facts.manifests.delta_entries(snapshot)]


def test_only_some_partitions_are_compacted(warehouse: Warehouse) -> None:
    table = warehouse.table(**PARTITIONED, options=POSTPONED)
    table.append(keyed([(i, dt, i) for i in range(3) for dt in "ab"]))
    table.compact(partitions=[{"dt": "a"}])
    assert rows_of(table) == [(i, "a", i) for i in range(3)]
    table.compact()
    assert len(rows_of(table)) == 6


def test_the_last_commit_wins_whatever_the_clocks_of_writers_say(warehouse: Warehouse) -> None:
    options = {**POSTPONED, "manifest.full-compaction-threshold-size": "1 b", "manifest.merge-min-count": "3"}
    table = warehouse.table(primary_keys=["id"], options=options)
    for turn in range(12):
        table = at(table, 100_000 - 1_000 * turn)
        table.append(keyed([(i, "a", turn) for i in range(turn, 12)]))
    made = [entry.file.creation_time for entry in live(table)]
    assert made == sorted(made, reverse=True)
    table.compact()
    assert rows_of(table) == sorted(((i, "a", i) for i in range(12)), key=repr)


def test_without_the_snapshots_that_brought_them_files_are_ordered_by_when_they_were_made(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options=POSTPONED)
    for turn in (2, 1, 3):
        at(table, 1_000 * turn).append(keyed([(1, "a", turn)]))
    table.expire_snapshots(retain_max=1, retain_min=1, retain_floor_ms=0)
    at(table, 500).append(keyed([(2, "a", 0)]))
    at(table, 100).append(keyed([(2, "a", 1)]))
    assert [snapshot.id for snapshot in table.snapshots()] == [3, 4, 5]
    table.compact()
    assert rows_of(table) == [(1, "a", 3), (2, "a", 1)]


class StoppedClock(SystemClock):
    """A wall clock that shows one time."""

    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        return self._now_ms

    def local_now_ms(self) -> int:
        return self._now_ms


def at(table: Table, now_ms: int) -> Table:
    """The table as a process with another clock has it."""
    runtime = replace(table.store.runtime, clock=StoppedClock(now_ms))
    return Table(table.identifier, replace(table.store, runtime=runtime), table.schema)


def test_a_buffer_that_is_full_makes_more_files_and_keeps_the_order(warehouse: Warehouse) -> None:
    small = {"write-buffer-size": "1 kb", "page-size": "128 b", "target-file-size": "2 kb"}
    options = {**POSTPONED, **small, "postpone.default-bucket-num": "3"}
    table = warehouse.table(**PARTITIONED, options=options)
    rows = [(i % 500, "ab"[i % 7 == 0], i) for i in range(4_000)]
    table.append(keyed(rows))
    assert len(live(table)) > 2
    table.compact()
    expected = {row[:2]: row[2] for row in rows}
    assert rows_of(table) == sorted(((*key, v) for key, v in expected.items()), key=repr)


def test_an_overwrite_replaces_what_is_postponed_too(warehouse: Warehouse) -> None:
    table = warehouse.table(**PARTITIONED, options=POSTPONED)
    table.append(keyed([(i, dt, i) for i in range(3) for dt in "ab"]))
    table.compact()
    table.append(keyed([(i, "a", -i) for i in range(3)]))
    table.overwrite(keyed([(9, "a", 9)]))
    assert rows_of(table) == [(i, "b", i) for i in range(3)]
    table.compact()
    assert rows_of(table) == sorted([(9, "a", 9), *((i, "b", i) for i in range(3))], key=repr)
    table.append(keyed([(1, "a", 1)]))
    table.truncate()
    assert table.compact() == ()


def test_what_avro_cannot_hold_is_stored_in_the_format_of_the_table(warehouse: Warehouse) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("at", pa.timestamp("ns"))])
    table = warehouse.table(schema=schema, primary_keys=["id"], options=POSTPONED)
    rows = pa.table({"id": [1], "at": pa.array([1_234_567_891], pa.timestamp("ns"))}, schema=schema)
    table.append(rows)
    [entry] = live(table)
    assert entry.file.file_name.endswith(".parquet")
    table.compact()
    assert table.scan().to_arrow().equals(rows)


def test_columns_added_later_are_null_in_what_was_postponed_before(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options=POSTPONED)
    table.append(keyed([(1, "a", 1)]))
    table = warehouse.catalog.alter_table("db.t", [AddColumn("later", IntType()), RenameColumn("v", "w")])
    table.append(keyed([(2, "b", 2)], later=pa.array([5], pa.int32())).rename_columns(["id", "dt", "w", "later"]))
    table.compact()
    assert rows_of(table) == [(1, "a", 1, None), (2, "b", 2, 5)]


def test_what_the_merge_engine_cannot_take_back_is_refused_when_it_is_written(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={**POSTPONED, "merge-engine": "first-row"})
    with pytest.raises(RetractNotSupported):
        table.append(keyed([(1, "a", 1)], _row_kind=pa.array(["-D"])))
    with pytest.raises(InvalidData):
        table.append(keyed([(1, "a", 1)]).set_column(0, "id", pa.array([None], pa.int64())))
    assert not [f for f in warehouse.files(table) if f.startswith("bucket")]


def test_two_compactions_at_once_do_not_show_rows_twice(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={**POSTPONED, "postpone.default-bucket-num": "2"})
    table.append(keyed([(i, "a", i) for i in range(10)]))

    def after_another(pieces: Any) -> Any:
        messages = [m for work in pieces for m in perform_work(table.facts, work, full=False)]
        warehouse.reopened(table).compact()
        warehouse.reopened(table).append(keyed([(3, "new", 3)]))
        yield from messages

    with pytest.raises(FileConflict):
        compact(table.facts, "late", perform=after_another)
    named = {entry.file.file_name for entry in live(table)}
    assert {f.rpartition("/")[2] for f in warehouse.files(table) if re.match(r"bucket-\d", f)} <= named
    table.compact()
    assert len(rows_of(table)) == 10
    assert (3, "new", 3) in rows_of(table)


def test_rows_written_while_a_compaction_runs_stay_postponed(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options=POSTPONED)
    table.append(keyed([(1, "a", 1)]))

    def while_others_write(pieces: Any) -> Any:
        warehouse.reopened(table).append(keyed([(1, "b", 2), (2, "b", 2)]))
        for work in pieces:
            yield from perform_work(table.facts, work, full=True)

    compact(table.facts, "c", full=True, perform=while_others_write)
    assert rows_of(table) == [(1, "a", 1)]
    table.compact()
    assert rows_of(table) == [(1, "b", 2), (2, "b", 2)]


def test_shares_of_a_partition_make_the_same_table(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={**POSTPONED, "postpone.default-bucket-num": "5"})
    for turn in range(3):
        table.append(keyed([(i, "a", turn) for i in range(turn, 50)]))
        seen: list[list[int]] = []

        def shared(pieces: Any, seen: list[list[int]] = seen) -> Any:
            for work in pieces:
                seen.append(sorted(work.wanted))
                yield from perform_work(table.facts, work, full=False)

        assert len(compact(table.facts, "c", perform=shared, shares=3).snapshots) == 1
        assert seen == [[0, 3], [1, 4], [2]]
    assert rows_of(table) == sorted(((i, "a", min(i, 2)) for i in range(50)), key=repr)


def test_files_that_disagree_on_the_number_of_buckets_are_told(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options=POSTPONED)
    table.append(keyed([(5, "a", 5)]))
    table.compact()
    table.append(keyed([(6, "a", 6)]))
    found = live(table)
    stray = [replace(entry, bucket=1, total_buckets=2) for entry in found if entry.bucket == 0]
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    with pytest.raises(BucketCountChanged, match="has files written with 1 bucket and others written with 2"):
        postponed_partitions(table.facts, snapshot, [*found, *stray])


def test_options_that_would_have_no_effect_are_refused(warehouse: Warehouse) -> None:
    for key, value in (
        ("postpone.merge-on-read", "true"),
        ("postpone.batch-write-fixed-bucket", "true"),
        ("postpone.batch-write-fixed-bucket.max-parallelism", "4"),
    ):
        with pytest.raises(UnsupportedFeature, match=re.escape(key)):
            warehouse.table("x", primary_keys=["id"], options={**POSTPONED, key: value})
    with pytest.raises(InvalidOption, match="needs a primary key"):
        warehouse.table("x", options=POSTPONED)
    options = {**POSTPONED, "postpone.batch-write-fixed-bucket": "false", "bucket-key": "id"}
    assert warehouse.table("x", primary_keys=["id"], options=options).facts.bucket_mode == Postponed()


# --- a law: after a compaction a table with postponed buckets shows what one with fixed buckets shows -----------------

ROWS = st.lists(
    st.tuples(st.integers(0, 6), st.sampled_from("ab"), st.none() | st.integers(0, 5)), min_size=1, max_size=8
)
KINDS = st.lists(st.sampled_from(["+I", "+U", "-U", "-D"]), min_size=8, max_size=8)
STEP = st.one_of(
    st.tuples(st.just("write"), ROWS, KINDS),
    st.tuples(st.just("write"), ROWS, KINDS),
    st.tuples(st.just("compact"), st.booleans()),
)
ENGINES = (
    {},
    {"sequence.field": "v", "ignore-delete": "true"},
    {"deletion-vectors.enabled": "true"},
    {"changelog-producer": "input"},
    {"changelog-producer": "lookup"},
    {"changelog-producer": "full-compaction"},
    {"ignore-delete": "true"},
    {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum", "fields.v.ignore-retract": "true"},
    {"merge-engine": "partial-update", "ignore-delete": "true"},
    {"merge-engine": "first-row", "ignore-delete": "true"},
)


@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STEP, min_size=2, max_size=9), st.sampled_from(ENGINES), st.integers(1, 3))
def test_postponed_rows_become_what_they_would_have_been(
    history: list[tuple[Any, ...]], engine: dict[str, str], count: int
) -> None:
    warehouse = memory_warehouse()
    options = {"num-sorted-run.compaction-trigger": "3", **engine}
    postponed = {**options, **POSTPONED, "postpone.default-bucket-num": str(count)}
    table = warehouse.table("postponed", **PARTITIONED, options=postponed)
    fixed = warehouse.table("fixed", **PARTITIONED, options={**options, "bucket": str(count)})
    # Two retracts of a key make a row where they are ignored; one that a compaction has forgotten makes none. Where all
    # keys are there from the beginning it does not matter when tables are compacted.
    all_keys = [(key, date, 0) for key in range(7) for date in "ab"]
    begun = [("write", all_keys, ["+I"] * len(all_keys))] if "fields.v.ignore-retract" in engine else []
    for step in [*begun, *history, ("compact", True)]:
        match step:
            case ("write", rows, kinds):
                batch = keyed(rows, _row_kind=pa.array(kinds[: len(rows)]))
                table.append(batch)
                fixed.append(batch)
            case ("compact", full):
                table.compact(full=full)
                fixed.compact(full=full)
                assert rows_of(table) == rows_of(fixed)
                assert not any(entry.bucket == -2 for entry in live(table)) if table.snapshots() else True
    if "changelog-producer" in engine and table.snapshots():
        span = {"incremental-between": f"0,{table.facts.snapshots.latest_id()}"}
        changes = AuditLogTable(table).scan(options={**span, "incremental-between-scan-mode": "changelog"}).to_arrow()
        state: dict[Any, Any] = {}
        for kind, key, date, value in zip(*(c.to_pylist() for c in changes.columns), strict=True):
            if kind in ("+I", "+U"):
                state[key, date] = value
            else:
                state.pop((key, date), None)
        assert sorted(((*key, v) for key, v in state.items()), key=repr) == rows_of(table)

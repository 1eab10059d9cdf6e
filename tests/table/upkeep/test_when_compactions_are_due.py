"""When a write, or the compaction job, compacts: by time, by size, in quiet hours, every so many commits."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from table_format import Table
from table_format.model.schema_change import SetOption
from table_format.model.snapshot import CommitKind
from table_format.table.changes.merge_into import Insert
from tests.support.compaction import HOUR_MS, MINUTE_MS, MovableClock, kinds, levels
from tests.support.deletion_marks import live
from tests.support.tables import keyed, memory_warehouse, rows_of

TOP = 5


def a_table(clock: MovableClock | None = None, **options: str) -> Table:
    given = {"bucket": "1", **{key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}}
    return memory_warehouse(clock or MovableClock()).table(primary_keys=["id"], options=given)


def upsert(table: Table, *ids: int, v: int = 0) -> None:
    table.append(keyed([(i, "a", v) for i in ids]))


# --- compaction.optimization-interval -------------------------------------------------------------------------------


def test_two_commits_more_than_an_interval_apart_make_one_full_compaction() -> None:
    clock = MovableClock()
    table = a_table(clock, compaction__optimization_interval="1 h")
    upsert(table, 1, v=1)
    assert kinds(table) == "A"
    clock.ms += 61 * MINUTE_MS
    upsert(table, 1, 2, v=2)
    assert kinds(table) == "AAC"
    assert levels(table) == [TOP]


def test_the_interval_begins_with_the_last_full_compaction_of_any_process() -> None:
    clock = MovableClock()
    table = a_table(clock, compaction__optimization_interval="1 h")
    upsert(table, 1)
    table.compact(full=True)
    upsert(table, 2)
    # The file moved up was written when the table began.
    clock.ms += HOUR_MS
    upsert(table, 3)
    assert CommitKind.COMPACT not in [s.commit_kind for s in table.snapshots()[2:]]
    clock.ms += 1
    upsert(table, 1, 4)
    assert table.snapshots()[-1].commit_kind is CommitKind.COMPACT
    assert levels(table) == [TOP]
    clock.ms += 59 * MINUTE_MS
    upsert(table, 5)
    assert levels(table) == [0, TOP]


def test_the_compaction_job_and_a_stream_keep_to_the_interval_as_well() -> None:
    clock = MovableClock()
    table = a_table(clock, compaction__optimization_interval="1 h", write_only="true")
    for i in range(3):
        upsert(table, i)
    assert kinds(table) == "AAA"
    assert len(table.compact()) == 1
    assert levels(table) == [TOP]
    upsert(table, 0)
    assert table.compact() == ()
    clock.ms += 61 * MINUTE_MS
    assert len(table.compact()) == 1
    stream = table.copy({"write-only": "false"})
    write, commit = stream.new_write("s"), stream.new_commit("s")
    made = []
    for identifier in range(1, 8):
        clock.ms += 20 * MINUTE_MS
        made.append(len(commit.commit(write.write(keyed([(0, "a", identifier)])), identifier=identifier)))
    # The job compacted at minute 61; the fourth commit from then on is 80 minutes later, and so on.
    assert made == [1, 1, 1, 2, 1, 1, 1]


def test_the_read_optimized_table_is_not_older_than_the_interval() -> None:
    clock = MovableClock()
    table = a_table(clock, compaction__optimization_interval="30 min")
    for turn in range(1, 10):
        clock.ms += 10 * MINUTE_MS
        upsert(table, 1, 2, v=turn)
        youngest = max((e.file.creation_time or 0 for e in live(table) if e.file.level == TOP), default=0)
        assert turn < 2 or clock.ms - youngest <= 30 * MINUTE_MS


def test_a_single_run_is_left_alone() -> None:
    clock = MovableClock()
    table = a_table(clock, compaction__optimization_interval="1 h")
    upsert(table, 1)
    clock.ms += 5 * HOUR_MS
    assert table.compact() == ()


@pytest.mark.parametrize("mode", [{"deletion-vectors.enabled": "true"}, {"merge-engine": "first-row"}])
def test_tables_that_look_up_are_optimized_too(mode: Mapping[str, str]) -> None:
    clock = MovableClock()
    table = memory_warehouse(clock).table(
        primary_keys=["id"], options={"bucket": "1", "compaction.optimization-interval": "1 h", **mode}
    )
    table.append(keyed([(i, "a", 0) for i in range(2000)]))
    upsert(table, 1, 5000)
    assert len(levels(table)) == 2
    clock.ms += 61 * MINUTE_MS
    upsert(table, 2, 6000)
    assert levels(table) == [TOP]


# --- sizes and hours ------------------------------------------------------------------------------------------------


def test_a_bucket_below_a_size_is_compacted_with_each_commit_and_a_larger_one_is_not() -> None:
    small, large = a_table(compaction__total_size_threshold="1 mb"), a_table(compaction__total_size_threshold="1 kb")
    for table in (small, large):
        for i in range(3):
            upsert(table, i)
    assert (levels(small), levels(large)) == ([TOP], [0, 0, 0])


def test_enough_new_data_is_compacted_at_once() -> None:
    table = a_table(compaction__incremental_size_threshold="6 kb", num_sorted_run__compaction_trigger="50")
    upsert(table, 0)
    size = live(table)[0].file.file_size
    counts = []
    for i in range(1, 12):
        upsert(table, i)
        counts.append(len(levels(table)))
    # As many as fit, and the file that came of the compaction before.
    assert max(counts) == 6 * 1024 // size + 1
    assert counts.count(1) in (1, 2)


def test_level_0_may_be_forced_up_without_lookups() -> None:
    table = a_table(compaction__force_up_level_0="true")
    upsert(table, *range(2000))
    upsert(table, 1)
    assert kinds(table) == "ACAC"
    assert 0 not in levels(table)


def test_all_files_may_be_rewritten_when_there_is_no_need() -> None:
    table = a_table()
    upsert(table, 1)
    table.compact(full=True)
    before = [entry.file.file_name for entry in live(table)]
    assert table.compact(full=True) == ()
    assert len(table.copy({"compaction.force-rewrite-all-files": "true"}).compact(full=True)) == 1
    after = [entry.file.file_name for entry in live(table)]
    assert (len(after), set(after) & set(before)) == (1, set())
    assert rows_of(table) == [(1, "a", 0)]


# --- full-compaction.delta-commits ----------------------------------------------------------------------------------


def test_copy_on_write_compacts_with_each_insert_to_the_top() -> None:
    warehouse = memory_warehouse()
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1"})
    upsert(table, 1, 2)
    assert kinds(table) == "A"
    warehouse.catalog.alter_table(str(table.identifier), [SetOption("full-compaction.delta-commits", "1")])
    table = warehouse.reopened(table)
    for i in range(3):
        upsert(table, i, v=i)
        assert levels(table) == [TOP]
    assert kinds(table) == "AACACAC"


def test_each_third_commit_compacts_fully_for_every_committer() -> None:
    table = a_table(full_compaction__delta_commits="3")
    for i in range(3):
        upsert(table, i)
    assert kinds(table) == "AAAC"
    write, commit = table.new_write("s"), table.new_commit("s")
    for identifier in range(1, 6):
        commit.commit(write.write(keyed([(identifier, "a", 1)])), identifier=identifier)
    upsert(table, 9)
    assert kinds(table) == "AAACAAACAAAC"
    assert levels(table) == [TOP]


def in_partitions(commits: int, **options: str) -> Table:
    return memory_warehouse().table(
        primary_keys=["id", "dt"],
        partition_keys=["dt"],
        options={"bucket": "1", "full-compaction.delta-commits": str(commits), **options},
    )


def test_the_third_commit_compacts_what_the_first_two_wrote_elsewhere() -> None:
    table = in_partitions(3, **{"changelog-producer": "full-compaction"})
    for dt in "abc":
        table.append(keyed([(1, dt, 1)]))
    assert kinds(table) == "AAAC"
    assert levels(table) == [TOP] * 3
    assert [s.changelog_record_count for s in table.snapshots()] == [0, 0, 0, 3]


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.delete("dt = 'b'"),
        lambda table: table.update({"v": 5}, "dt = 'b'"),
        lambda table: table.merge(keyed([(2, "b", 1)]), ["id", "dt"], when_not_matched=Insert()),
    ],
    ids=["delete", "update", "merge"],
)
def test_a_statement_that_is_the_third_commit_compacts_what_the_first_two_wrote_elsewhere(
    change: Callable[[Table], object],
) -> None:
    table = in_partitions(3)
    for dt in "ab":
        table.append(keyed([(1, dt, 1)]))
    table.delete("id = 9")
    table.append(keyed([]))
    assert kinds(table) == "AA"
    change(table)
    assert kinds(table) == "AAAC"
    assert set(levels(table)) == {TOP}


def test_a_bucket_that_a_compaction_has_emptied_is_compacted_for_the_period() -> None:
    table = in_partitions(3)
    table.append(keyed([(1, "a", 1)]))
    table.append(keyed([(1, "b", 1)]))
    table.delete("dt = 'a'")
    for number in range(5):
        table.append(keyed([(number, "b", 1)]))
    assert kinds(table) == "AAACAAACAA"


def test_a_partition_with_another_number_of_buckets_is_let_alone() -> None:
    warehouse = memory_warehouse()
    table = warehouse.table(
        primary_keys=["id", "dt"],
        partition_keys=["dt"],
        options={"bucket": "1", "full-compaction.delta-commits": "2"},
    )
    table.append(keyed([(1, "a", 1)]))
    warehouse.catalog.alter_table(str(table.identifier), [SetOption("bucket", "2")])
    table = warehouse.reopened(table)
    table.append(keyed([(1, "b", 1)]))
    assert kinds(table) == "AAC"
    assert levels(table) == [0, TOP]


def test_three_commits_of_one_key_are_one_net_change() -> None:
    table = a_table(full_compaction__delta_commits="3", changelog_producer="full-compaction")
    for v in range(6):
        upsert(table, 1, v=v)
    assert [s.changelog_record_count for s in table.snapshots()] == [0, 0, 0, 1, 0, 0, 0, 2]


# --- write-only, and two snapshots at most --------------------------------------------------------------------------


def test_a_commit_makes_two_snapshots_where_a_compaction_was_due_and_else_one() -> None:
    table = a_table(num_sorted_run__compaction_trigger="3")
    made = []
    for i in range(5):
        made.append("".join(s.commit_kind.value[0] for s in table.append(keyed([(i, "a", 0)]))))
    assert made == ["A", "A", "AC", "A", "AC"]


def test_a_write_only_table_by_lookup_has_its_changelog_after_the_compaction_job() -> None:
    table = a_table(write_only="true", changelog_producer="lookup")
    upsert(table, 1)
    upsert(table, 1, 2)
    assert kinds(table) == "AA"
    assert [s.changelog_record_count for s in table.snapshots()] == [0, 0]
    report = table.run_compaction()
    assert [(b.bucket, b.files_before, b.files_after) for b in report.buckets] == [(0, 2, 1)]
    assert report.dropped == ()
    assert kinds(table) == "AAC"
    assert table.snapshots()[-1].changelog_record_count == 2

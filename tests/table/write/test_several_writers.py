"""Several writers of one table whose steps interleave: nobody fails, no row is lost or doubled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TypeAlias

import pyarrow as pa
import pytest

from table_format import Table
from table_format.errors import BucketLost, ConflictError, SchemaChanged
from table_format.model.commit import CommitMessage
from table_format.model.schema_change import SetOption
from table_format.model.snapshot import CommitKind
from table_format.table.upkeep.bucket_compaction import BucketCompaction, Work, compact, compact_work, outcomes_of
from table_format.table.write.batch_commit import BatchCommit
from tests.support.compaction import data_files
from tests.support.reachable import check_files
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of

Prepared: TypeAlias = tuple[BatchCommit, tuple[CommitMessage, ...], dict[int, int]]


@pytest.fixture
def warehouse() -> Warehouse:
    return memory_warehouse()


MODES: list[dict[str, str]] = [
    {},
    {"deletion-vectors.enabled": "true"},
    {"changelog-producer": "lookup"},
    {"changelog-producer": "lookup", "deletion-vectors.enabled": "true"},
    {"compaction.optimization-interval": "1 h"},
]


@pytest.mark.parametrize("mode", MODES)
def test_two_writers_and_a_compactor_never_fail_beside_each_other(warehouse: Warehouse, mode: dict[str, str]) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "2", "write-only": "true", **mode})
    expected: dict[int, int] = {}
    table.append(keyed([(-1, "a", 0)]))
    expected[-1] = 0
    for turn in range(10):
        prepared = []
        for writer in ("w1", "w2"):
            # The writers share keys; the later commit has the last word.
            rows = {key: turn * 10 + len(prepared) for key in (turn % 5, 100 + turn)}
            write, commit = table.new_write(writer), table.new_commit(writer)
            prepared.append((commit, write.write(keyed([(k, "a", v) for k, v in rows.items()])), rows))

        report = compact(table.facts, f"c{turn}", perform=partial(_while_others_commit, table, turn, prepared))
        assert report.dropped == ()
        expected |= prepared[0][2] | prepared[1][2]
        if not table.options.skips_level_0:
            assert rows_of(table) == sorted(((k, "a", v) for k, v in expected.items()), key=repr)
    table.compact()
    assert rows_of(table) == sorted(((k, "a", v) for k, v in expected.items()), key=repr)
    kinds = [s.commit_kind for s in table.snapshots()]
    assert kinds.count(CommitKind.APPEND) == 21
    assert kinds.count(CommitKind.COMPACT) > 0


@pytest.mark.parametrize("mode", MODES)
def test_writers_that_compact_beside_a_compactor_lose_compactions_and_no_rows(
    warehouse: Warehouse, mode: dict[str, str]
) -> None:
    options = {"bucket": "2", "num-sorted-run.compaction-trigger": "2", **mode}
    table = warehouse.table(primary_keys=["id"], options=options)
    expected: dict[int, int] = {}
    for turn in range(8):
        rows = dict.fromkeys((turn % 5, 100 + turn, 200 + turn), turn)
        write, commit = table.new_write("w"), table.new_commit("w")
        messages = write.write(keyed([(k, "a", v) for k, v in rows.items()]))
        table.compact(full=turn % 2 == 0)
        assert commit.commit(messages, identifier=turn)[0].commit_kind is CommitKind.APPEND
        expected |= rows
    table.compact()
    assert rows_of(table) == sorted(((k, "a", v) for k, v in expected.items()), key=repr)
    named, found = data_files(table, warehouse.files(table))
    assert found == named


def _while_others_commit(
    table: Table, turn: int, prepared: Sequence[Prepared], pieces: Sequence[BucketCompaction]
) -> Iterable[CommitMessage]:
    first, second = prepared
    first[0].commit(first[1], identifier=turn)
    yield from [compact_work(table.facts, work, full=False) for work in pieces]
    second[0].commit(second[1], identifier=turn)


def test_writers_of_different_partitions_do_not_meet(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["dt", "id"], partition_keys=["dt"], options={"bucket": "1"})
    writers = {dt: (table.new_write(dt), table.new_commit(dt)) for dt in "ab"}
    for turn in range(20):
        prepared = {dt: write.write(keyed([(turn, dt, turn)])) for dt, (write, _) in writers.items()}
        for dt, (_, commit) in writers.items():
            commit.commit(prepared[dt], identifier=turn)
    assert rows_of(table) == sorted(((turn, dt, turn) for turn in range(20) for dt in "ab"), key=repr)
    assert sum(s.commit_kind is CommitKind.APPEND for s in table.snapshots()) == 40


def test_writers_of_one_partition_may_mix_and_lose_no_key(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1", "write-only": "true"})
    first, second = table.new_write("w1"), table.new_write("w2")
    of_first, of_second = (
        first.write(keyed([(1, "a", 0), (10, "a", 0)])),
        second.write(keyed([(1, "a", 1), (11, "a", 1)])),
    )
    table.new_commit("w2").commit(of_second, identifier=1)
    table.new_commit("w1").commit(of_first, identifier=1)
    found = {k: v for k, _, v in rows_of(table)}
    assert found.keys() == {1, 10, 11}
    assert found[1] in (0, 1)


def test_an_append_and_an_overwrite_of_another_partition_both_survive(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["dt", "id"], partition_keys=["dt"], options={"bucket": "1"})
    table.append(keyed([(1, "yesterday", 0), (1, "today", 0)]))
    late = table.new_write("late")
    prepared = late.write(keyed([(2, "today", 2)]))
    table.overwrite(keyed([(9, "yesterday", 9)]), partition={"dt": "yesterday"})
    table.new_commit("late").commit(prepared, identifier=1)
    assert rows_of(table) == [(1, "today", 0), (2, "today", 2), (9, "yesterday", 9)]


def test_micro_batches_go_on_after_a_crash_by_their_user_and_identifiers(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1"})
    committed = 0
    for crash_after_commit in (False, True):
        for identifier in range(committed + 1, 6):
            commit = table.new_commit("stream")
            messages = table.new_write("stream").write(keyed([(identifier, "a", identifier)]))
            if identifier == 3 and not crash_after_commit:
                break  # files are written, the commit is not: the next attempt does it all again
            commit.commit(messages, identifier=identifier)
            if identifier == 3:
                # committed, but the job did not get to know: it repeats the batch
                assert table.new_commit("stream").commit(messages, identifier=3) == ()
            committed = identifier
    identifiers = [s.commit_identifier for s in table.snapshots() if s.commit_kind is CommitKind.APPEND]
    assert identifiers == [1, 2, 3, 4, 5]
    assert rows_of(table) == [(i, "a", i) for i in range(1, 6)]


def test_of_two_overwrites_from_one_state_the_second_is_planned_again(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1"})
    table.append(keyed([(1, "a", 1)]))
    prepared = [table.new_write(user).write(keyed([(value, "a", value)])) for user, value in (("w1", 10), ("w2", 20))]
    for user, messages in zip(("w1", "w2"), prepared, strict=True):
        table.new_commit(user).overwrite(messages, identifier=1)
    assert rows_of(table) == [(20, "a", 20)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("full", [False, True])
def test_of_two_compactions_of_a_bucket_the_second_drops_it_and_goes_on_with_the_others(
    warehouse: Warehouse, mode: dict[str, str], full: bool
) -> None:
    table = warehouse.table(
        primary_keys=["id", "dt"], partition_keys=["dt"], options={"bucket": "1", "write-only": "true", **mode}
    )
    for value in range(6):
        table.append(keyed([(1, dt, value) for dt in "abc"] + [(value + 2, "a", value)]))

    def after_another(pieces: Sequence[BucketCompaction]) -> Iterable[CommitMessage]:
        messages = [compact_work(table.facts, work, full=full) for work in pieces]
        table.compact(full=True, partitions=[{"dt": "b"}])
        return messages

    report = compact(table.facts, "late", full=full, perform=after_another)
    (lost,) = report.dropped
    assert (lost.partition, lost.bucket) == ("dt=b", 0)
    assert "data-" in lost.reason
    assert [(b.partition, b.files_before, b.files_after) for b in report.buckets] == [("dt=a", 6, 1), ("dt=c", 6, 1)]
    assert [s.commit_user for s in report.snapshots] == ["late"]
    assert [s.commit_kind for s in table.snapshots()[-2:]] == [CommitKind.COMPACT, CommitKind.COMPACT]
    assert rows_of(table) == sorted(
        [(1, dt, 5) for dt in "abc"] + [(value + 2, "a", value) for value in range(6)], key=repr
    )
    named, found = data_files(table, warehouse.files(table))
    assert found == named


@pytest.mark.parametrize("mode", [*MODES, None])
def test_a_bucket_whose_files_were_expired_meanwhile_is_dropped_and_named(
    warehouse: Warehouse, mode: dict[str, str] | None
) -> None:
    keys = () if mode is None else ("id", "dt")
    options = {"bucket": "-1"} if mode is None else {"bucket": "1", "write-only": "true", **mode}
    table = warehouse.table(primary_keys=keys, partition_keys=["dt"], options=options)
    for value in range(6):
        table.append(keyed([(1, dt, value) for dt in "abc"]))
    before = rows_of(table)

    def after_another(pieces: Sequence[Work]) -> Iterable[CommitMessage | BucketLost]:
        table.compact(full=True, partitions=[{"dt": "b"}])
        table.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=1 << 60, retain_floor_ms=0)
        return [outcome for work in pieces for outcome in outcomes_of(table.facts, work, full=True)]

    report = compact(table.facts, "late", full=True, perform=after_another)
    (lost,) = report.dropped
    assert (lost.partition, lost.bucket) == ("dt=b", 0)
    assert "start again" in lost.reason
    assert "dropped: dt=b, bucket 0: another commit replaced /" in str(report)
    assert [(b.partition, b.files_before, b.files_after) for b in report.buckets] == [("dt=a", 6, 1), ("dt=c", 6, 1)]
    if mode is None or not table.options.skips_level_0:
        assert rows_of(table) == before
    check_files(table)


def test_a_compaction_that_lost_all_its_buckets_says_so_and_leaves_nothing(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1", "write-only": "true"})
    for value in range(6):
        table.append(keyed([(1, "a", value)]))

    def after_another(pieces: Sequence[BucketCompaction]) -> Iterable[CommitMessage]:
        messages = [compact_work(table.facts, work, full=True) for work in pieces]
        table.compact(full=True)
        return messages

    report = compact(table.facts, "late", full=True, perform=after_another)
    assert (report.snapshots, report.buckets) == ((), ())
    assert str(report).startswith("0 buckets compacted, 1 dropped\ndropped: bucket 0: File deletion conflicts")
    assert table.snapshots()[-1].commit_kind is CommitKind.COMPACT
    assert rows_of(table) == [(1, "a", 5)]
    named, found = data_files(table, warehouse.files(table))
    assert found == named


def test_a_bucket_dropped_by_one_compactor_is_compacted_by_the_next_run(warehouse: Warehouse) -> None:
    """Two compactors take turns in the middle of each other's work, next to a writer."""
    table = warehouse.table(
        primary_keys=["id"], options={"bucket": "3", "write-only": "true", "deletion-vectors.enabled": "true"}
    )
    expected: dict[int, int] = {}
    dropped = 0
    for turn in range(10):
        rows = {(turn * 5 + n) % 17: turn for n in range(6)}
        table.append(keyed([(k, "a", v) for k, v in rows.items()]))
        expected |= rows

        def crossed(pieces: Sequence[BucketCompaction], turn: int = turn) -> Iterable[CommitMessage]:
            messages = [compact_work(table.facts, work, full=turn % 2 == 0) for work in pieces]
            compact(table.facts, f"first{turn}", perform=lambda all_: [_compacted(table, w) for w in all_[: turn % 4]])
            return messages

        dropped += len(compact(table.facts, f"second{turn}", full=turn % 2 == 0, perform=crossed).dropped)
        assert rows_of(table) == sorted(((k, "a", v) for k, v in expected.items()), key=repr)
    assert dropped > 5
    named, found = data_files(table, warehouse.files(table))
    assert found == named


@pytest.mark.parametrize("marked", [False, True])
@pytest.mark.parametrize("whole_first", [False, True])
def test_marks_and_a_rewrite_of_the_marked_file_exclude_each_other(
    warehouse: Warehouse, marked: bool, whole_first: bool
) -> None:
    """The two compactions take in different files; only the deletion vectors tell that they do not fit together."""
    table = warehouse.table(
        primary_keys=["id"], options={"bucket": "1", "write-only": "true", "deletion-vectors.enabled": "true"}
    )
    table.append(keyed([(k, "a", 0) for k in range(2000)]))
    table.compact(full=True)
    second = range(7, 607) if marked else range(3000, 3600)
    table.append(keyed([(k, "a", 1) for k in second]))
    table.compact()
    expected = dict.fromkeys(range(2000), 0) | dict.fromkeys(second, 1) | {9: 2}

    def rewrite_whole(pieces: Sequence[BucketCompaction]) -> Iterable[CommitMessage]:
        whole = [compact_work(table.facts, work, full=True) for work in pieces]
        table.append(keyed([(9, "a", 2)]))

        def mark(later: Sequence[BucketCompaction]) -> Iterable[CommitMessage]:
            messages = [compact_work(table.facts, work, full=False) for work in later]
            assert not {f.file_name for m in messages for f in m.compact_before} & {
                f.file_name for m in whole for f in m.compact_before
            }
            if whole_first:
                assert compact(table.facts, "whole", perform=lambda _: whole).dropped == ()
            return messages

        assert len(compact(table.facts, "mark", perform=mark).dropped) == whole_first
        return [] if whole_first else whole

    assert len(compact(table.facts, "late", perform=rewrite_whole).dropped) == (not whole_first)
    table.compact()
    assert rows_of(table) == sorted(((k, "a", v) for k, v in expected.items()), key=repr)


def _compacted(table: Table, work: BucketCompaction) -> CommitMessage:
    return compact_work(table.facts, work, full=False)


INDEXED = {
    "file-index.bloom-filter.columns": "id",
    "file-index.bloom-filter.id.items": "3000",
    "file-index.in-manifest-threshold": "0 b",
}
NOW_ONLY = {"retain_min": 1, "retain_max": 1, "older_than_ms": 1 << 60, "retain_floor_ms": 0}


@pytest.mark.parametrize("mode", [{}, INDEXED])
def test_a_writer_gives_up_a_compaction_whose_files_others_replaced_and_keeps_its_rows(
    warehouse: Warehouse, mode: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1", "deletion-vectors.enabled": "true", **mode})
    table.append(keyed([(k, "a", 0) for k in range(2000)]))
    table.compact(full=True)
    table.append(keyed([(1, "a", 1)]))

    def rows() -> Iterable[pa.RecordBatch]:
        yield from keyed([(2, "a", 2)]).to_batches()
        table.compact(full=True)
        table.expire_snapshots(**NOW_ONLY)

    write, commit = table.new_write("w"), table.new_commit("w")
    commit.commit(write.write(pa.RecordBatchReader.from_batches(keyed([]).schema, rows())), identifier=1)
    assert "a compaction was dropped" in caplog.text
    table.compact()
    found = {key: value for key, _, value in rows_of(table)}
    assert (len(found), found[1], found[2]) == (2000, 1, 2)
    check_files(table)


@pytest.mark.parametrize("commits", [1, 3])
@pytest.mark.parametrize("others", [0, 1, 2, 4])
@pytest.mark.parametrize("mode", [{"write-only": "true"}, {"changelog-producer": "lookup"}], ids=str)
def test_a_writer_goes_on_after_a_rollback_from_the_rows_that_others_wrote_then(
    warehouse: Warehouse, mode: dict[str, str], others: int, commits: int
) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1", **mode})
    table.append(keyed([(1, "a", 0)]))
    first = table.snapshots()[-1].id
    write, commit = table.new_write("w"), table.new_commit("w")
    for turn in range(1, commits + 1):
        commit.commit(write.write(keyed([(1, "a", turn)])), identifier=turn)
    table.rollback_to(first)
    for turn in range(others):
        # Many rows: their sequence numbers are larger than those which the writer has used.
        table.append(keyed([(key, "b", turn) for key in range(50)]))
    commit.commit(write.write(keyed([(1, "c", 77)])), identifier=commits + 1)
    assert (1, "c", 77) in rows_of(table)
    table.compact(full=True)
    commit.commit(write.write(keyed([(2, "c", 78)])), identifier=commits + 2)
    assert {(1, "c", 77), (2, "c", 78)} <= set(rows_of(table))
    assert len(rows_of(table)) == (50 if others else 2)


@pytest.mark.parametrize("others", [0, 2])
def test_messages_whose_commit_was_rolled_back_are_not_reported_as_committed(warehouse: Warehouse, others: int) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1", "write-only": "true"})
    table.append(keyed([(1, "a", 0)]))
    write, commit = table.new_write("w"), table.new_commit("w")
    messages = write.write(keyed([(1, "b", 1)]))
    commit.commit(messages, identifier=1)
    table.rollback_to(1)
    for turn in range(others):
        table.append(keyed([(5 + turn, "c", turn)]))
    with pytest.raises(ConflictError, match=r"as snapshot 2, which was rolled back since. .*write the rows again"):
        commit.commit(messages, identifier=1)
    commit.commit(write.write(keyed([(1, "b", 1)])), identifier=1)
    assert (1, "b", 1) in rows_of(table)


@pytest.mark.parametrize("is_overwrite", [False, True])
@pytest.mark.parametrize("keys", [["id"], []], ids=["primary-key", "append"])
def test_a_new_commit_of_messages_whose_files_a_rollback_deleted_is_refused(
    warehouse: Warehouse, keys: list[str], is_overwrite: bool
) -> None:
    table = warehouse.table(primary_keys=keys, options={"bucket": "1" if keys else "-1", "write-only": "true"})
    table.append(keyed([(1, "a", 0)]))
    messages = table.new_write("w").write(keyed([(1, "b", 1)]))
    table.new_commit("w").commit(messages, identifier=1)
    table.rollback_to(1)
    restarted = table.new_commit("w")
    for _ in range(2):
        with pytest.raises(ConflictError, match=r"data-.*no longer exists.*write the rows again"):
            (restarted.overwrite if is_overwrite else restarted.commit)(messages, identifier=1)
    assert rows_of(table) == [(1, "a", 0)]
    assert table.new_write("w").write(keyed([(2, "b", 1)]))


KINDS_OF_BUCKETS: list[tuple[list[str], dict[str, str]]] = [
    (["id"], {"bucket": "1", "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}),
    (["id"], {"bucket": "-1"}),
    (["id"], {"bucket": "-2"}),
    ([], {"bucket": "-1"}),
]


@pytest.mark.parametrize("keeps", ["all", "latest", "tag"])
@pytest.mark.parametrize(("keys", "options"), KINDS_OF_BUCKETS, ids=str)
def test_messages_are_committed_only_once_and_an_abort_after_a_second_try_leaves_their_rows(
    warehouse: Warehouse, keys: list[str], options: dict[str, str], keeps: str
) -> None:
    table = warehouse.table(primary_keys=keys, options=options)
    write, first = table.new_write("w"), table.new_commit("w")
    messages = write.write(keyed([(1, "a", 5)]))
    first.commit(messages, identifier=1)
    others: list[tuple[int, str, int | None]] = [] if keeps == "all" else [(2, "a", 6)]
    if others:
        if keeps == "tag":
            table.create_tag("kept")
            table.compact(full=True)
        table.append(keyed(others))
        table.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=1 << 60, retain_floor_ms=0)
    before = len(table.snapshots())
    for commit, identifier in ((first, 2), (table.new_commit("w"), 3), (table.new_commit(), None)):
        with pytest.raises(ConflictError, match="Nothing was committed"):
            commit.commit(messages, identifier=identifier)
        commit.abort(messages)
    assert len(table.snapshots()) == before
    table.compact(full=True)
    assert rows_of(table) == [(1, "a", 5), *others]


def test_a_commit_that_was_refused_and_whose_files_others_deleted_since_is_refused_again(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1"})
    commit = table.new_commit("w")
    messages = table.new_write("w").write(keyed([(1, "a", 5)]))
    warehouse.catalog.alter_table("db.t", SetOption("bucket", "2"))
    with pytest.raises(SchemaChanged):
        commit.commit(messages, identifier=1)
    warehouse.catalog.alter_table("db.t", SetOption("bucket", "1"))
    warehouse.reopened(table).new_commit("w").abort(messages)
    with pytest.raises(ConflictError, match=r"no longer exists.*write the rows again"):
        commit.commit(messages, identifier=1)
    assert rows_of(table) == []


@pytest.mark.parametrize("kept_by", ["nothing", "tag", "changelog", "latest"])
@pytest.mark.parametrize("mode", [{"write-only": "true"}, {"changelog-producer": "lookup"}], ids=str)
def test_a_writer_whose_commit_has_expired_goes_on_from_the_rows_that_others_wrote_since(
    warehouse: Warehouse, mode: dict[str, str], kept_by: str
) -> None:
    kept = {"changelog.num-retained.max": "100"} if kept_by == "changelog" else {}
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1", **mode, **kept})
    write, commit = table.new_write("w"), table.new_commit("w")
    for turn in range(1, 4):
        commit.commit(write.write(keyed([(1, "a", turn)])), identifier=turn)
        if kept_by == "tag":
            table.create_tag(f"t{turn}")
        for later in range(2):
            table.append(keyed([(key, "b", later) for key in range(50)]))
        if kept_by != "latest":
            table.compact(full=True)
        table.expire_snapshots(**NOW_ONLY)
    commit.commit(write.write(keyed([(1, "c", 77)])), identifier=4)
    assert (1, "c", 77) in rows_of(table)
    table.compact(full=True)
    table.expire_snapshots(**NOW_ONLY)
    commit.commit(write.write(keyed([(2, "c", 78)])), identifier=5)
    assert {(1, "c", 77), (2, "c", 78)} <= set(rows_of(table))
    assert len(rows_of(table)) == 50


SUMS = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}


@pytest.mark.parametrize(
    ("mode", "of_writer", "of_both"),
    [
        ({**SUMS, "changelog-producer": "lookup"}, 10, 10 + 100),
        ({**SUMS, "deletion-vectors.enabled": "true"}, 10, 10 + 100),
        ({"merge-engine": "partial-update", "changelog-producer": "lookup"}, None, 100),
        ({"deletion-vectors.enabled": "true"}, 10, 10),
        ({"merge-engine": "first-row"}, 10, 100),
    ],
    ids=str,
)
@pytest.mark.parametrize("compacts_first", [False, True])
def test_keys_looked_up_before_others_compacted_the_bucket_neither_hide_nor_double_their_rows(
    warehouse: Warehouse, mode: dict[str, str], of_writer: int | None, of_both: int, *, compacts_first: bool
) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1", **mode})
    table.append(keyed([(1, "a", None), (3, "a", 3)]))
    table.compact(full=True)
    write, commit = table.new_write("w"), table.new_commit("w")
    if compacts_first:
        commit.commit(write.write(keyed([(4, "a", 4)])), identifier=1)
    messages = write.write(keyed([(2, "a", of_writer)]))
    table.append(keyed([(2, "a", 100)]))
    table.compact(full=True)
    assert [s.commit_kind for s in commit.commit(messages, identifier=2)] == [CommitKind.APPEND]
    for _ in range(2):
        found = {key: value for key, _, value in rows_of(table)}
        assert len(rows_of(table)) == len(found) == 3 + compacts_first
        table.compact(full=True)
    assert found[2] in {of_both, of_writer} if "merge-engine" not in mode else found[2] == of_both
    assert found[3] == 3
    # The writer goes on from the table as it is now, and compacts again.
    kinds = [s.commit_kind for s in commit.commit(write.write(keyed([(5, "a", 5)])), identifier=3)]
    assert kinds == [CommitKind.APPEND, CommitKind.COMPACT]
    named, on_disk = data_files(table, warehouse.files(table))
    assert named <= on_disk


def test_what_a_writer_has_committed_itself_others_may_replace(
    warehouse: Warehouse, caplog: pytest.LogCaptureFixture
) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1", "deletion-vectors.enabled": "true"})
    write, commit = table.new_write("w"), table.new_commit("w")
    messages = [write.write(keyed([(k, "a", n) for k in range(2000)])) for n in (1, 2)]
    for turn in range(3, 6):
        commit.commit(messages.pop(0), identifier=turn)
        messages.append(write.write(keyed([(turn, "a", turn)])))
    # The writer has never been without work that waits, so it is the one that wrote all of this.
    table.compact(full=True)
    table.expire_snapshots(**NOW_ONLY)
    messages.append(write.write(keyed([(6, "a", 6)])))
    assert "a compaction was dropped" in caplog.text
    for turn, message in enumerate(messages, 6):
        commit.commit(message, identifier=turn)
    table.compact()
    found = {key: value for key, _, value in rows_of(table)}
    assert (len(found), [found[k] for k in range(3, 8)]) == (2000, [3, 4, 5, 6, 2])
    check_files(table)

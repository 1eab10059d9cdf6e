from __future__ import annotations

import pytest

from table_format.errors import (
    BucketCountChanged,
    CommitRetriesExhausted,
    FileConflict,
    InvalidInputError,
    LsmConflict,
)
from table_format.model.snapshot import CommitKind
from tests.support.metastore_table import a_table, committable, once

KEYED = {"primary_keys": ("k",)}


def test_the_first_commit_makes_snapshot_one_and_both_hints():
    table = a_table()
    snapshot = table.append(table.file(rows=3))
    paths = table.store.paths
    assert (snapshot.id, snapshot.commit_kind, snapshot.commit_identifier) == (1, CommitKind.APPEND, 1)
    assert (snapshot.total_record_count, snapshot.delta_record_count, snapshot.changelog_record_count) == (3, 3, 0)
    assert table.store.io.read(paths.latest_hint) == b"1"
    assert table.store.io.read(paths.earliest_hint) == b"1"
    assert table.snapshots.load(1) == snapshot


def test_a_snapshot_is_the_base_of_the_next():
    table = a_table()
    first, second = table.file(rows=2), table.file(rows=5)
    table.append(first)
    snapshot = table.append(second, identifier=2)
    assert table.live_names() == [first.file_name, second.file_name]
    assert (snapshot.id, snapshot.total_record_count, snapshot.delta_record_count) == (2, 7, 5)
    base = table.manifests.read_list(snapshot.base_manifest_list, size=snapshot.base_manifest_list_size)
    assert [m.num_added_files for m in base] == [1]


def test_new_files_and_compaction_make_two_snapshots_of_one_identifier():
    table = a_table(**KEYED)
    new, result = table.file(1, 2), table.file(1, 2, level=1)
    message = table.message(new_files=(new,), compact_before=(new,), compact_after=(result,))
    made = table.committer("u").commit(committable(7, message, watermark=11))
    assert [(s.id, s.commit_kind, s.commit_identifier, s.watermark) for s in made] == [
        (1, CommitKind.APPEND, 7, 11),
        (2, CommitKind.COMPACT, 7, 11),
    ]
    assert table.live_names() == [result.file_name]


def test_an_upgrade_gives_the_same_file_another_level():
    table = a_table(**KEYED)
    file = table.file(1, 2)
    table.append(file)
    message = table.message(compact_before=(file,), compact_after=(file.upgrade(5),))
    table.committer().commit(committable(2, message))
    assert [(e.file.file_name, e.file.level) for e in table.live()] == [(file.file_name, 5)]


def test_a_commit_without_changes_makes_no_snapshot_unless_told_to():
    table = a_table()
    assert table.committer().commit(committable(1)) == ()
    assert [s.id for s in table.committer().commit(committable(1), ignore_empty=False)] == [1]
    assert [s.id for s in table.committer(**{"commit.force-create-snapshot": "true"}).commit(committable(2))] == [2]


def test_properties_watermark_and_changelog_are_recorded():
    table = a_table(**KEYED)
    table.committer().commit(committable(1, table.message(new_files=(table.file(),)), watermark=50))
    message = table.message(new_files=(table.file(),), changelog_files=(table.file(rows=4), table.file(rows=5)))
    (snapshot,) = table.committer().commit(committable(2, message, watermark=20, properties={"job": "x"}))
    assert snapshot.watermark == 50
    assert snapshot.properties == {"job": "x"}
    assert snapshot.changelog_record_count == 9
    (manifest,) = table.manifests.changelog_manifests(snapshot)
    assert [e.file.row_count for e in table.manifests.read(manifest)] == [4, 5]


def test_two_committers_take_turns_and_both_land():
    table = a_table()
    slow, fast = table.committer("slow"), table.committer("fast")
    mine, theirs = table.file(), table.file()

    def be_faster():
        fast.commit(committable(1, table.message(new_files=(theirs,))))

    table.io.before("create", "snapshot-1", once(be_faster))
    (snapshot,) = slow.commit(committable(1, table.message(new_files=(mine,))))
    assert snapshot.id == 2
    assert table.live_names() == [theirs.file_name, mine.file_name]
    assert table.clock.slept == [11]  # the first wait, 10 ms, and half of its fifth


def test_what_a_lost_attempt_wrote_is_used_again_or_deleted():
    table = a_table()
    slow, fast = table.committer("slow"), table.committer("fast")
    table.io.before(
        "create", "snapshot-1", once(lambda: fast.commit(committable(1, table.message(new_files=(table.file(),)))))
    )
    slow.commit(committable(1, table.message(new_files=(table.file(),))))
    metadata = {path for path in table.all_files() if "/manifest/" in path}
    assert metadata == {path for path in table.reachable() if "/manifest/" in path}


def test_a_commit_gives_up_after_too_many_lost_attempts():
    table = a_table()
    fast = table.committer("fast")
    for snapshot_id in range(1, 5):
        identifier = snapshot_id
        table.io.before(
            "create",
            f"/snapshot-{snapshot_id}",
            once(lambda i=identifier: fast.commit(committable(i, table.message(new_files=(table.file(),))))),
        )
    before = table.file()
    with pytest.raises(CommitRetriesExhausted, match=r"with 3 retries.*Nothing was committed"):
        table.committer("slow", **{"commit.max-retries": "3"}).commit(
            committable(1, table.message(new_files=(before,)))
        )
    assert before.file_name not in table.live_names()
    assert {p for p in table.all_files() if "/manifest/" in p} == {p for p in table.reachable() if "/manifest/" in p}


def test_the_wait_doubles_up_to_its_maximum():
    table = a_table(options={"commit.min-retry-wait": "10 ms", "commit.max-retry-wait": "25 ms"})
    fast = table.committer("fast")
    for i in range(1, 5):
        table.io.before(
            "create",
            f"/snapshot-{i}",
            once(lambda i=i: fast.commit(committable(i, table.message(new_files=(table.file(),))))),
        )
    table.committer("slow").commit(committable(1, table.message(new_files=(table.file(),))))
    assert table.clock.slept == [11, 22, 27, 27]


def test_of_two_compactions_of_one_file_the_second_conflicts():
    table = a_table(**KEYED)
    old = table.file(1, 9)
    table.append(old)
    first = table.message(compact_before=(old,), compact_after=(table.file(1, 9, level=1),))
    second = table.message(compact_before=(old,), compact_after=(table.file(1, 9, level=1),))
    loser = table.committer("loser")
    table.committer("winner").commit(committable(1, first))
    before = table.all_files()
    with pytest.raises(FileConflict) as caught:
        loser.commit(committable(1, second))
    text = str(caught.value)
    assert text.startswith("File deletion conflicts detected! Give up committing.")
    assert old.file_name in text
    assert "the latest snapshot, 2 of user 'winner'" in text
    assert table.all_files() == before


def test_overlapping_files_in_one_level_conflict():
    table = a_table(**KEYED)
    table.append(table.file(1, 5, level=1))
    message = table.message(compact_after=(table.file(5, 9, level=1),))
    with pytest.raises(LsmConflict, match=r"LSM conflicts detected! Give up committing.*level 1.*overlap"):
        table.committer().commit(committable(2, message))


def test_a_compaction_that_loses_is_dropped_when_its_rows_have_landed():
    table = a_table(**KEYED)
    old = table.file(1, 5)
    table.append(old)
    new, result = table.file(6), table.file(1, 6, level=1)
    message = table.message(new_files=(new,), compact_before=(old, new), compact_after=(result,))
    table.write(message)
    rival = table.message(compact_before=(old,), compact_after=(old.upgrade(1),))
    table.committer("rival").commit(committable(1, rival))
    made = table.committer("u").commit(committable(2, message))
    assert [s.commit_kind for s in made] == [CommitKind.APPEND]
    assert sorted(table.live_names()) == sorted([old.file_name, new.file_name])
    assert table.store.io.status(table.data_path(message.partition, 0, result)) is None
    assert table.store.io.status(table.data_path(message.partition, 0, new)) is not None


def test_the_number_of_buckets_of_a_partition_may_not_change_without_overwrite():
    table = a_table(primary_keys=("dt", "k"), partition_keys=("dt",))
    table.append(partition=table.partition("a"))
    other = table.message(table.partition("b"), new_files=(table.file(),), total_buckets=3)
    table.committer().commit(committable(2, other))
    wrong = table.message(table.partition("a"), new_files=(table.file(),), total_buckets=3)
    with pytest.raises(BucketCountChanged, match=r"partition \{dt='a'\} changed from 1 to 3 without overwrite"):
        table.committer().commit(committable(3, wrong))
    table.committer().overwrite(committable(3, wrong), dynamic=True)
    assert {(e.partition, e.total_buckets) for e in table.live()} == {
        (table.partition("a"), 3),
        (table.partition("b"), 3),
    }


def test_files_removed_by_new_files_make_an_overwrite_that_is_checked():
    table = a_table()
    old, new = table.file(), table.file()
    table.append(old)
    message = table.message(deleted_files=(old,), new_files=(new,))
    (snapshot,) = table.committer().commit(committable(2, message))
    assert snapshot.commit_kind is CommitKind.OVERWRITE
    assert snapshot.delta_record_count == 0
    with pytest.raises(FileConflict):
        table.committer().commit(committable(3, message))


def test_a_compaction_of_a_table_without_snapshot_conflicts():
    table = a_table()
    with pytest.raises(FileConflict):
        table.committer().commit(committable(1, table.message(compact_before=(table.file(),))))


def test_committed_identifiers_are_filtered():
    table = a_table()
    committer = table.committer("job")
    since = committer.latest_id()
    for identifier in (3, 5):
        table.append(user="job", identifier=identifier)
    table.append(user="other", identifier=9)
    assert committer.filter_committed([7, 3, 4, 5, 6], since=since) == (6, 7)
    assert table.committer("new").filter_committed([1]) == (1,)
    assert committer.filter_committed([]) == ()


def test_abort_deletes_new_files_but_never_what_the_table_has():
    table = a_table(**KEYED)
    old = table.file(1)
    table.append(old)
    new, result, changelog = table.file(2), table.file(3, level=1), table.file(4)
    message = table.message(
        new_files=(new,), compact_before=(old,), compact_after=(old.upgrade(1), result), changelog_files=(changelog,)
    )
    table.write(message)
    table.committer().abort([message])
    left = {path.rpartition("/")[2] for path in table.all_files() if "/bucket-" in path}
    assert left == {old.file_name}


def test_a_hundred_commits_merge_their_manifests_and_keep_every_file():
    table = a_table(options={"manifest.merge-min-count": "5"})
    committer = table.committer()
    files = [table.file() for _ in range(100)]
    for i, file in enumerate(files):
        (snapshot,) = committer.commit(committable(i + 1, table.message(new_files=(file,))))
    assert table.live_names() == [file.file_name for file in files]
    assert len(table.manifests.data_manifests(snapshot)) <= 6


def test_a_committer_with_filled_caches_lists_nothing_and_reads_no_manifest():
    table = a_table(**KEYED)
    committer = table.committer()
    for i in range(3):
        committer.commit(committable(i + 1, table.message(new_files=(table.file(),))))
    table.io.calls.clear()
    committer.commit(committable(9, table.message(new_files=(table.file(),))))
    assert not [path for verb, path in table.io.calls if verb == "list"]
    assert not [path for verb, path in table.io.calls if verb == "read" and "/manifest/" in path]
    assert len(table.io.calls) <= 16


# --- overwrite ------------------------------------------------------------------------------------------------------


def partitioned():
    table = a_table(partition_keys=("dt",))
    for day in ("a", "b", "c"):
        table.append(table.file(name=f"old-{day}.parquet"), partition=table.partition(day))
    return table


def test_a_dynamic_overwrite_replaces_the_partitions_it_touches():
    table = partitioned()
    new = table.file(name="new-b.parquet")
    (snapshot,) = table.committer().overwrite(
        committable(4, table.message(table.partition("b"), new_files=(new,))), dynamic=True
    )
    assert snapshot.commit_kind is CommitKind.OVERWRITE
    assert sorted(table.live_names()) == ["new-b.parquet", "old-a.parquet", "old-c.parquet"]
    assert table.committer().overwrite(committable(5), dynamic=True) == ()


def test_a_static_overwrite_replaces_the_stated_partition_also_by_nothing():
    table = partitioned()
    table.committer().overwrite(committable(4), partition={"dt": "b"})
    assert sorted(table.live_names()) == ["old-a.parquet", "old-c.parquet"]
    table.committer().overwrite(
        committable(5, table.message(table.partition("z"), new_files=(table.file(name="new.parquet"),))), dynamic=False
    )
    assert table.live_names() == ["new.parquet"]


@pytest.mark.parametrize("answer", [None, [b"a"], frozenset([b"unknown"])])
def test_a_function_that_selects_something_else_than_given_partitions_is_refused_and_overwrites_nothing(answer):
    table = partitioned()
    before = table.live_names()
    with pytest.raises(InvalidInputError, match=r"returned .*; it has to return a frozenset of some of the partitions"):
        table.committer().overwrite(committable(4), partition=lambda _partitions: answer)
    assert table.live_names() == before


def test_a_function_that_takes_no_partitions_is_refused_and_overwrites_nothing():
    table = partitioned()
    message = table.message(table.partition("z"), new_files=(table.file(name="new.parquet"),))
    before = table.live_names()
    with pytest.raises(InvalidInputError, match="<class 'int'> cannot choose which of a frozenset of partitions"):
        table.committer().overwrite(committable(4, message), partition=int)
    assert table.live_names() == before


def test_a_static_overwrite_refuses_files_outside_its_partition():
    table = partitioned()
    message = table.message(table.partition("a"), new_files=(table.file(),))
    told = r"in partition \{dt='a'\}, outside the partitions to overwrite, \{dt='b'\}"
    with pytest.raises(InvalidInputError, match=told):
        table.committer().overwrite(committable(4, message), partition={"dt": "b"})
    with pytest.raises(InvalidInputError, match="'v' is not a partition key; the partition keys are dt"):
        table.committer().overwrite(committable(4), partition={"v": "b"})


def test_an_overwrite_is_planned_again_when_another_writer_was_faster():
    table = partitioned()
    slow, fast = table.committer("slow"), table.committer("fast")
    late = table.message(table.partition("b"), new_files=(table.file(name="late.parquet"),))
    table.io.before("create", "/snapshot-4", once(lambda: fast.commit(committable(1, late))))
    message = table.message(table.partition("b"), new_files=(table.file(name="new.parquet"),))
    slow.overwrite(committable(4, message), dynamic=True)
    assert sorted(table.live_names()) == ["new.parquet", "old-a.parquet", "old-c.parquet"]
    assert {p for p in table.all_files() if "/manifest/" in p} == {p for p in table.reachable() if "/manifest/" in p}


def test_partitions_are_dropped_and_the_table_truncated():
    table = partitioned()
    (snapshot,) = table.committer().drop_partitions([{"dt": "a"}, {"dt": "c"}, {"dt": "unknown"}])
    assert (snapshot.total_record_count, snapshot.delta_record_count) == (1, -2)
    assert table.live_names() == ["old-b.parquet"]
    (snapshot,) = table.committer().truncate()
    assert (snapshot.total_record_count, table.live_names()) == (0, [])
    with pytest.raises(InvalidInputError, match="truncate"):
        table.committer().drop_partitions([{}])

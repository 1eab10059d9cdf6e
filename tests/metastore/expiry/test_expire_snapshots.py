from __future__ import annotations

import errno
from collections.abc import Callable

import pytest

from table_format.errors import CorruptionError, InvalidInputError, InvalidOption, SnapshotExpired
from table_format.metastore.expiry.expire_changelogs import expire_changelogs
from table_format.metastore.expiry.expire_snapshots import expire_snapshots
from table_format.metastore.expiry.tag_deletion import delete_tag
from table_format.metastore.references.tag_store import TagStore
from tests.support.metastore_table import HOUR, a_table, committable, failing, once

KEYED = {"primary_keys": ("k",)}
ALL_BUT_ONE = {"retain_min": 1, "retain_max": 1, "retain_floor_ms": 0}


def compacted(table, *names: str, user: str = "compactor", level: int = 1):
    """Replace all live files by one."""
    live = [entry.file for entry in table.live()]
    result = table.file(0, 9, level=level, name=names[0] if names else None)
    message = table.message(compact_before=tuple(live), compact_after=(result,))
    table.write(message)
    return table.committer(user).commit(committable(99, message))[0]


def a_history(table, *, rounds: int = 3):
    """Appends and compactions in turn, an hour apart."""
    for i in range(rounds):
        table.append(table.file(i), identifier=2 * i)
        table.append(table.file(i), identifier=2 * i + 1)
        compacted(table)
        table.clock.ms += HOUR
    return table


def test_files_replaced_before_the_earliest_retained_snapshot_are_deleted_with_all_metadata():
    table = a_history(a_table(**KEYED))
    rows_before = table.live_names()
    table.clock.ms += HOUR
    report = table.expire(retain_min=2, retain_max=2)
    assert report.snapshot_ids == (1, 2, 3, 4, 5, 6, 7)
    assert table.snapshots.ids() == [8, 9]
    assert table.live_names() == rows_before
    assert table.all_files() == table.reachable()
    assert table.store.io.read(table.store.paths.earliest_hint) == b"8"
    assert len(report.deletions.data_files) == 5  # the two files of the last round are live in snapshot 8
    assert report.bytes == 20


def test_a_dry_run_names_exactly_the_files_that_would_be_deleted():
    table = a_history(a_table(**KEYED))
    table.clock.ms += HOUR
    before = table.all_files()
    planned = table.expire(retain_min=1, retain_max=1, dry_run=True)
    assert table.all_files() == before
    done = table.expire(retain_min=1, retain_max=1)
    assert planned.deletions == done.deletions
    assert planned.snapshot_ids == done.snapshot_ids
    assert before - table.all_files() == set(done.deletions.paths)
    assert (planned.dry_run, done.dry_run) == (True, False)


def test_every_retained_snapshot_stays_readable():
    table = a_history(a_table(**KEYED), rounds=4)
    states = {i: table.live_names(table.snapshots.load(i)) for i in table.snapshots.ids()}
    table.clock.ms += HOUR
    while True:
        report = table.expire(retain_min=1, retain_max=12, limit=2, older_than_ms=table.clock.ms)
        for i in table.snapshots.ids():
            snapshot = table.snapshots.load(i)
            assert table.live_names(snapshot) == states[i]
            for entry in table.live(snapshot):
                assert table.store.io.status(table.data_path(entry.partition, entry.bucket, entry.file))
        if not report.snapshot_ids:
            break
    assert table.snapshots.ids() == [12]
    assert table.all_files() == table.reachable()


def test_reading_an_expired_snapshot_says_that_it_expired():
    table = a_history(a_table(**KEYED))
    table.expire(**ALL_BUT_ONE, older_than_ms=table.clock.ms)
    with pytest.raises(SnapshotExpired, match="snapshot 3 has been expired; the only retained snapshot is 9"):
        table.snapshots.load(3)


def test_an_upgraded_file_is_not_deleted():
    table = a_table(**KEYED)
    file = table.file(1)
    table.append(file)
    table.committer().commit(committable(2, table.message(compact_before=(file,), compact_after=(file.upgrade(5),))))
    table.append(table.file(2), identifier=3)
    table.expire(**ALL_BUT_ONE)
    assert table.store.io.status(table.data_path(table.one_partition(None), 0, file))
    assert table.all_files() == table.reachable()


def test_a_tag_keeps_its_files_until_it_is_deleted():
    table = a_table(**KEYED)
    table.append(table.file(1, name="one.parquet"))
    TagStore(table.store).create("keep", table.snapshots.load(1))
    compacted(table, "two.parquet")
    compacted(table, "three.parquet", level=2)
    table.expire(**ALL_BUT_ONE)
    assert table.snapshots.ids() == [3]
    kept = TagStore(table.store).load("keep").snapshot
    assert table.live_names(kept) == ["one.parquet"]
    assert table.all_files() == table.reachable()
    deleted = delete_tag(table.store, table.options, "keep")
    assert [p.rpartition("/")[2] for p in deleted.data_files] == ["one.parquet"]
    assert table.all_files() == table.reachable()
    assert TagStore(table.store).names() == []


def test_a_file_of_two_tags_is_deleted_with_the_second():
    table = a_table(**KEYED)
    tags = TagStore(table.store)
    table.append(table.file(1, name="one.parquet"))
    tags.create("a", table.snapshots.load(1))
    table.append(table.file(2, name="two.parquet"), identifier=2)
    tags.create("b", table.snapshots.load(2))
    compacted(table)
    table.append(table.file(3), identifier=3)
    table.expire(**ALL_BUT_ONE)
    delete_tag(table.store, table.options, "a")
    assert table.live_names(tags.load("b").snapshot) == ["one.parquet", "two.parquet"]
    assert table.all_files() == table.reachable()
    delete_tag(table.store, table.options, "b")
    assert table.all_files() == table.reachable()


def test_a_tag_of_a_retained_snapshot_is_only_a_name():
    table = a_history(a_table(**KEYED))
    TagStore(table.store).create("t", table.snapshots.load(2))
    before = table.all_files() - {table.store.paths.tag("t")}
    assert delete_tag(table.store, table.options, "t").paths == ()
    assert table.all_files() == before


def test_changelog_files_are_deleted_with_their_snapshot():
    table = a_table(**KEYED)
    changelog = table.file(1, name="changelog-1.parquet")
    message = table.message(new_files=(table.file(1),), changelog_files=(changelog,))
    table.write(message)
    table.committer().commit(committable(1, message))
    TagStore(table.store).create("t", table.snapshots.load(1))
    table.append(table.file(2), identifier=2)
    report = table.expire(**ALL_BUT_ONE)
    assert report.deletions.changelog_files == (table.data_path(message.partition, 0, changelog),)
    table.expire(**ALL_BUT_ONE)


def test_a_consumer_protects_the_snapshots_that_it_still_has_to_read():
    table = a_history(a_table(**KEYED))
    paths = table.store.paths
    table.store.io.overwrite(paths.consumer("reader"), b'{"nextSnapshot": 4}')
    report = table.expire(**ALL_BUT_ONE)
    assert (table.snapshots.ids()[0], report.kept_by) == (3, "a consumer that has not read the next one yet")
    table.store.io.overwrite(paths.consumer("reader"), b'{"nextSnapshot": "x"}')
    with pytest.raises(CorruptionError, match="consumer-reader"):
        table.expire(**ALL_BUT_ONE)


def test_a_snapshot_younger_than_the_retain_floor_stays_whatever_the_options_say():
    table = a_table()
    for i in range(5):
        table.append(identifier=i)
    report = table.expire(retain_min=1, retain_max=1)
    assert report.snapshot_ids == ()
    assert report.kept_by == "the retain floor that protects active writers"
    table.clock.ms += 15 * 60_000 - 1
    assert table.expire(retain_min=1, retain_max=1).snapshot_ids == ()
    table.clock.ms += 1
    assert table.expire(retain_min=1, retain_max=1).snapshot_ids == (1, 2, 3, 4)


def test_snapshots_above_the_most_that_the_retain_floor_keeps_are_counted_and_warned_of_once(caplog):
    table = a_table()
    for i in range(22):
        table.append(identifier=i)
    assert table.expire(retain_min=1, retain_max=19).beyond_max == 3
    assert table.expire(retain_min=1, retain_max=19, dry_run=True).beyond_max == 3
    told = [record.getMessage() for record in caplog.records if "num-retained.max" in record.getMessage()]
    assert len(told) == 1
    assert (
        "keeps more than 'snapshot.num-retained.max' = 19 snapshots: snapshots younger than 15 minutes do not expire"
        in told[0]
    )
    table.clock.ms += 15 * 60_000
    report = table.expire(retain_min=1, retain_max=19)
    assert (report.snapshot_ids, report.beyond_max) == ((1, 2, 3), 0)


@pytest.mark.parametrize("verb", ["delete"])
def test_an_expiry_that_stops_after_any_deletion_is_finished_by_the_next(verb):
    total = len(_expired(None)[1].deletions.paths)
    assert total > 10
    for n in range(total):
        table, _ = _expired(n)
        table.io.calm()
        table.expire(**ALL_BUT_ONE)
        assert table.snapshots.ids() == [9]
        assert table.all_files() == table.reachable(), n


def _expired(fail_at: int | None):
    table = a_history(a_table(**KEYED))
    deletions = iter(range(1000))

    def fail():
        if next(deletions) == fail_at:
            raise OSError(errno.EIO, "stopped")

    table.io.before("delete", "", fail)
    if fail_at is None:
        return table, table.expire(**ALL_BUT_ONE)
    with pytest.raises(OSError, match="stopped"):
        table.expire(**ALL_BUT_ONE)
    return table, None


def test_nothing_is_deleted_when_what_must_stay_cannot_be_read():
    table = a_history(a_table(**KEYED))
    TagStore(table.store).create("t", table.snapshots.load(2))
    tagged = table.snapshots.load(2)
    table.store.io.overwrite(table.store.paths.manifest(tagged.base_manifest_list), b"garbage")
    before = table.all_files()
    with pytest.raises(CorruptionError, match=tagged.base_manifest_list) as caught:
        table.expire(**ALL_BUT_ONE)
    assert caught.value.__notes__ == ["tag 't' needs this file; restore it, or delete the tag"]
    assert table.all_files() == before


def test_a_broken_delta_leaves_its_data_files_behind_and_is_reported():
    table = a_history(a_table(**KEYED))
    broken = table.snapshots.load(3).delta_manifest_list
    path = table.store.paths.manifest(broken)
    table.store.io.overwrite(path, b"x" * len(table.store.io.read(path)))
    before = {p for p in table.all_files() if "/bucket-" in p}
    names = [entry.file.file_name for entry in table.live(table.snapshots.load(2))]
    report = table.expire(**ALL_BUT_ONE)
    assert report.unreadable == (path,)
    assert table.snapshots.ids() == [9]
    left = {p.rpartition("/")[2] for p in before & table.all_files()}
    assert set(names) <= left


def test_snapshots_of_another_branch_keep_their_files():
    from dataclasses import replace

    table = a_table(**KEYED)
    table.append(table.file(1, name="one.parquet"))
    branch = replace(table.store, paths=table.store.paths.for_branch("dev"))
    branch.io.create(branch.paths.schema(0), table.store.io.read(table.store.paths.schema(0)))
    branch.io.create(branch.paths.snapshot(1), table.store.io.read(table.store.paths.snapshot(1)))
    state = table.snapshots.load(1)
    compacted(table)
    table.append(table.file(2), identifier=3)
    table.expire(**ALL_BUT_ONE)
    assert table.live_names(state) == ["one.parquet"]
    assert table.store.io.status(table.data_path(table.one_partition(None), 0, table.file(name="one.parquet")))


def test_a_restored_file_is_not_deleted():
    # A rollback that is written as a new snapshot adds files removed before.
    table = a_table(**KEYED)
    old = table.file(1, name="old.parquet")
    table.append(old)
    compacted(table, "new.parquet")
    back = table.message(new_files=(old,), deleted_files=tuple(e.file for e in table.live()))
    table.committer().commit(committable(3, back))
    table.append(table.file(5), identifier=4)
    table.expire(**ALL_BUT_ONE)
    assert table.store.io.status(table.data_path(table.one_partition(None), 0, old))
    assert table.all_files() == table.reachable()


@pytest.mark.parametrize("later", [0, 300])
def test_a_file_that_was_restored_after_the_end_of_the_expiry_is_not_deleted(later):
    table = a_table(**KEYED)
    committer = table.committer()
    old = table.file(1, name="old.parquet")
    table.append(old)
    result = compacted(table, "new.parquet")
    for i in range(3):
        committer.commit(committable(10 + i, ignored := table.message(new_files=(table.file(20 + i),))))
        table.write(ignored)
    back = table.message(new_files=(old,), deleted_files=tuple(e.file for e in table.live(result)))
    committer.commit(committable(20, back))
    for i in range(later):
        committer.commit(committable(100 + i, table.message(new_files=(table.file(i),))))
    latest = table.snapshots.latest_id()
    report = table.expire(retain_min=latest - 3, retain_max=latest - 3, retain_floor_ms=0)
    assert report.snapshot_ids == (1, 2, 3)
    assert report.deletions.data_files == ()
    assert table.store.io.status(table.data_path(table.one_partition(None), 0, old))


def test_an_expiry_may_wait_until_it_is_worth_while():
    table = a_history(a_table(**KEYED))
    assert table.expire(**ALL_BUT_ONE, at_least=9).snapshot_ids == ()
    table.io.calls.clear()
    assert table.expire(retain_min=20, retain_floor_ms=0).snapshot_ids == ()
    assert len(table.io.calls) <= 10
    assert len(table.expire(**ALL_BUT_ONE, at_least=8).snapshot_ids) == 8


def test_empty_directories_are_deleted_if_the_option_is_set():
    options = {"snapshot.clean-empty-directories": "true"}
    table = a_table(partition_keys=("dt",), options=options)
    table.append(partition=table.partition("a"))
    table.append(partition=table.partition("b"), identifier=2)
    table.committer().drop_partitions([{"dt": "a"}])
    table.append(partition=table.partition("b"), identifier=3)
    table.expire(**ALL_BUT_ONE)
    names = {child.name for child in table.store.io.list(table.store.paths.root)}
    assert "dt=b" in names
    assert "dt=a" not in names


def test_contradicting_bounds_are_refused():
    table = a_table()
    table.append()
    with pytest.raises(InvalidOption, match="retain_min"):
        table.expire(retain_min=5, retain_max=2)


@pytest.mark.parametrize("expire", [expire_snapshots, expire_changelogs])
@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ({"retain_max": 1}, {}, "retain_max is 1, but the table keeps at least 10; pass retain_min too, at most 1"),
        (
            {"retain_min": 12},
            {"snapshot.num-retained.max": "11"},
            "retain_min is 12, but the table keeps at most 11; pass retain_max too, at least 12",
        ),
    ],
)
def test_a_bound_that_contradicts_the_table_is_refused_and_the_message_says_what_to_pass(
    expire: Callable[..., object], given: dict[str, int], options: dict[str, str], message: str
) -> None:
    table = a_table(options=options)
    table.append()
    with pytest.raises(InvalidOption, match=message):
        expire(table.store, table.options, **given)


@pytest.mark.parametrize("name", ["retain_max", "retain_min", "limit"])
def test_nothing_can_be_kept_less_than_once(name: str) -> None:
    with pytest.raises(InvalidInputError, match=f"{name}: expected an integer from 1"):
        a_table().expire(**{name: 0})


def test_a_negative_floor_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="retain_floor_ms: expected an integer from 0"):
        a_table().expire(retain_floor_ms=-1)


def test_a_table_without_snapshots_has_nothing_to_expire():
    assert a_table().expire().snapshot_ids == ()


def test_expiry_between_two_steps_of_a_commit_harms_neither():
    for verb, part in [("create", "/manifest-0"), ("create", "/manifest-list-"), ("create", "/snapshot-10")]:
        table = a_history(a_table(**KEYED))
        done: list[bool] = []

        def expire(table=table, done=done):
            if not done:
                done.append(True)
                table.expire(**ALL_BUT_ONE)

        table.io.before(verb, part, expire)
        table.append(table.file(7, name="mine.parquet"), identifier=50)
        table.io.calm()
        assert done
        assert "mine.parquet" in table.live_names()
        table.expire(**ALL_BUT_ONE)
        assert table.all_files() == table.reachable()


def test_an_expiry_that_cannot_announce_itself_deletes_nothing():
    table = a_history(a_table(**KEYED))
    before = table.all_files()
    table.io.before("create", "/expiring-", failing(OSError(errno.EIO, "no")))
    with pytest.raises(OSError, match="no"):
        table.expire(**ALL_BUT_ONE)
    assert table.all_files() == before


def test_a_tag_made_while_the_expiry_was_planned_keeps_its_files():
    table = a_history(a_table(**KEYED))
    made = once(lambda: TagStore(table.store).create("late", table.snapshots.load(2)))
    table.io.before("create", "/expiring-", made)
    names = table.live_names(table.snapshots.load(2))
    table.expire(**ALL_BUT_ONE)
    kept = TagStore(table.store).load("late").snapshot
    assert table.live_names(kept) == names
    assert table.all_files() == table.reachable()


def test_an_expiring_snapshot_cannot_be_tagged():
    table = a_history(a_table(**KEYED))
    snapshot = table.snapshots.load(2)
    refused: list[SnapshotExpired] = []

    def tag():
        try:
            TagStore(table.store).create("late", snapshot)
        except SnapshotExpired as e:
            refused.append(e)

    table.io.after("create", "/expiring-", once(tag))
    table.expire(**ALL_BUT_ONE)
    assert refused
    assert table.all_files() == table.reachable()


def expiring_without_notice(table, snapshot_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Apache Paimon deletes the files of a snapshot, and the snapshot at last. It does so while others wait."""
    snapshot = table.snapshots.load(snapshot_id)
    for name in (snapshot.base_manifest_list, snapshot.delta_manifest_list):
        table.store.io.delete(table.store.paths.manifest(name))
    sleep = table.clock.sleep_ms

    def sleep_until_it_is_deleted(duration_ms: int) -> None:
        sleep(duration_ms)
        for number in [number for number in table.snapshots.ids() if number <= snapshot_id]:
            table.snapshots.delete(number)

    monkeypatch.setattr(table.clock, "sleep_ms", sleep_until_it_is_deleted)


def test_an_expiry_beside_one_of_another_engine_waits_for_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    table = a_history(a_table(**KEYED))
    table.clock.ms += HOUR
    expiring_without_notice(table, 8, monkeypatch)
    assert table.expire(retain_min=2, retain_max=2).snapshot_ids == ()
    assert table.snapshots.ids() == [9]


def test_the_deletion_of_a_tag_beside_an_expiry_of_another_engine_waits_for_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = a_history(a_table(**KEYED))
    TagStore(table.store).create("t", table.snapshots.load(4))
    table.clock.ms += HOUR
    table.expire(retain_min=3, retain_max=3)
    assert table.snapshots.ids() == [7, 8, 9]
    expiring_without_notice(table, 7, monkeypatch)
    delete_tag(table.store, table.options, "t")
    assert not TagStore(table.store).names()
    assert table.snapshots.ids() == [8, 9]


def test_a_commit_that_expires_one_snapshot_reads_no_snapshot_that_stays_retained():
    reads = []
    for retained in (5, 25):
        table = a_table(**KEYED)
        for i in range(retained + 1):
            table.append(table.file(i), identifier=i)
        table.io.calls.clear()
        table.expire(retain_min=1, retain_max=retained, retain_floor_ms=0)
        assert len(table.snapshots.ids()) == retained
        reads.append(sum(verb == "read" and "/snapshot-" in path for verb, path in table.io.calls))
    assert reads[0] == reads[1] < 5

from __future__ import annotations

import errno
import pickle
from dataclasses import replace

import pytest

from table_format.errors import AlreadyExistsError, CorruptionError, MissingFile, SnapshotExpired, SnapshotNotFound
from table_format.io.file_io import FileStatus
from table_format.metastore.references.expired_reads import explain_missing
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from tests.support.metastore_table import a_table, failing, once

LATEST, EARLIEST = "latest_hint", "earliest_hint"


def with_snapshots(last: int, *, expired: int = 0):
    table = a_table()
    for i in range(1, last + 1):
        table.append(identifier=i)
        table.clock.ms += 1000
    for i in range(1, expired + 1):
        table.snapshots.delete(i)
    return table


def hint(table, which: str, content: bytes | None):
    path = getattr(table.store.paths, which)
    if content is None:
        table.store.io.delete(path)
    else:
        table.store.io.overwrite(path, content)


@pytest.mark.parametrize(
    "content",
    [b"7", b"6", b"3", b"1", None, b"", b"garbage", b"-4", b"99", b"0", b"9" * 40, b" 7\n", "٣".encode(), b"\xff"],
)
@pytest.mark.parametrize("expired", [0, 3, 6])
def test_the_latest_is_found_whatever_the_hint_says(content, expired):
    table = with_snapshots(7, expired=expired)
    hint(table, LATEST, content)
    assert table.snapshots.latest_id() == 7


@pytest.mark.parametrize("content", [b"5", b"4", b"7", b"1", None, b"garbage", b"99"])
def test_the_earliest_is_found_whatever_the_hint_says(content):
    table = with_snapshots(7, expired=4)
    hint(table, EARLIEST, content)
    assert table.snapshots.earliest_id() == 5


def test_an_unreadable_hint_is_ignored():
    table = with_snapshots(3)
    for name in ("LATEST", "EARLIEST"):
        table.io.before("read", name, failing(OSError(errno.EIO, "broken")))
    assert (table.snapshots.earliest_id(), table.snapshots.latest_id()) == (1, 3)


def test_a_fresh_hint_needs_no_listing():
    table = with_snapshots(3)
    table.io.calls.clear()
    assert table.snapshots.latest_id() == 3
    assert "list" not in {verb for verb, _ in table.io.calls}


def test_an_outdated_hint_takes_one_listing_instead_of_many_lookups():
    table = with_snapshots(60)
    hint(table, LATEST, b"2")
    table.io.calls.clear()
    assert table.snapshots.latest_id() == 60
    assert [verb for verb, _ in table.io.calls].count("list") == 1
    assert len(table.io.calls) < 30


def test_a_reader_never_goes_back():
    table = with_snapshots(5)
    store = SnapshotStore(table.store)
    assert store.latest_id() == 5
    hint(table, LATEST, b"2")
    assert store.latest_id() == 5


def test_after_a_rollback_the_latest_is_lower():
    table = with_snapshots(5)
    store = SnapshotStore(table.store)
    assert store.latest_id() == 5
    for i in (5, 4):
        store.delete(i)
    assert store.latest_id() == 3
    assert SnapshotStore(table.store).latest_id() == 3


def test_a_table_without_snapshots_has_no_latest():
    table = a_table()
    assert (table.snapshots.latest_id(), table.snapshots.earliest_id(), table.snapshots.latest()) == (None, None, None)
    assert list(table.snapshots.ids()) == []


def test_a_hint_without_any_snapshot_means_that_they_are_lost():
    table = with_snapshots(2, expired=2)
    with pytest.raises(CorruptionError, match="LATEST: the hint names a snapshot, but none exists"):
        table.snapshots.latest_id()


def test_a_first_snapshot_that_appears_while_one_looks_is_found():
    table = a_table()
    fresh = table.snapshots
    table.io.after("list", "/snapshot", once(table.append))
    assert fresh.latest_id() == 1


def test_expiry_while_one_looks_does_not_lead_to_an_expired_id():
    table = with_snapshots(3)
    store = SnapshotStore(table.store)

    def go_on():
        table.io.calm()
        for i in (4, 5, 6):
            table.append(identifier=i)
        for i in (1, 2, 3, 4):
            store.delete(i)

    table.io.after("read", "LATEST", go_on)
    assert store.latest_id() == 6


class Listing:
    """A store with an outdated listing of snapshots."""

    def __init__(self, inner, ids):
        self._inner, self._ids = inner, ids

    def __getattr__(self, verb):
        return getattr(self._inner, verb)

    def list(self, directory):
        return [FileStatus(f"snapshot-{i}", 1, 1, is_directory=False) for i in self._ids]


def test_a_listing_that_lags_is_only_a_beginning():
    table = with_snapshots(5, expired=1)
    hint(table, LATEST, None)
    lagging = replace(table.store, io=Listing(table.io, [1, 2, 3]))
    assert SnapshotStore(lagging).latest_id() == 5


def test_a_listing_of_nothing_that_exists_is_an_error_after_some_looking():
    table = with_snapshots(5, expired=2)
    hint(table, LATEST, None)
    lagging = replace(table.store, io=Listing(table.io, [1]))
    with pytest.raises(SnapshotNotFound, match="try again"):
        SnapshotStore(lagging).latest_id()
    assert table.clock.slept


def test_a_snapshot_below_a_gap_is_not_part_of_the_history():
    table = with_snapshots(9)
    for i in (1, 2, 3, 5, 6):
        table.snapshots.delete(i)
    assert list(table.snapshots.ids()) == [7, 8, 9]
    hint(table, LATEST, b"4")
    hint(table, EARLIEST, b"7")
    assert (table.snapshots.earliest_id(), table.snapshots.latest_id()) == (7, 9)


@pytest.mark.parametrize(
    ("snapshot_id", "error", "text"),
    [
        (1, SnapshotExpired, "has been expired; the retained snapshots are 3 to 5"),
        (6, SnapshotNotFound, "snapshot 6 does not exist; the retained snapshots are 3 to 5"),
        (0, SnapshotNotFound, "does not exist"),
    ],
)
def test_loading_distinguishes_expired_snapshots_from_those_that_never_existed(snapshot_id, error, text):
    table = with_snapshots(5, expired=2)
    with pytest.raises(error, match=text) as caught:
        table.snapshots.load(snapshot_id)
    assert type(caught.value) is error
    with pytest.raises(SnapshotNotFound, match="no snapshot yet"):
        a_table().snapshots.load(1)


def test_a_file_with_another_snapshot_is_corrupt():
    table = with_snapshots(2)
    paths = table.store.paths
    table.store.io.overwrite(paths.snapshot(2), table.store.io.read(paths.snapshot(1)))
    with pytest.raises(CorruptionError, match="snapshot-2: expected snapshot 2, found snapshot 1"):
        table.snapshots.load(2)
    table.store.io.overwrite(paths.snapshot(2), b"{")
    with pytest.raises(CorruptionError, match="snapshot-2"):
        table.snapshots.load(2)


def test_time_travel_finds_the_last_snapshot_at_or_before_a_time():
    table = with_snapshots(9, expired=3)
    times = {i: table.snapshots.load(i).time_millis for i in table.snapshots.ids()}
    for i, time_ms in times.items():
        assert table.snapshots.at_or_before(time_ms).id == i
        assert table.snapshots.at_or_before(time_ms + 999).id == i
    with pytest.raises(SnapshotNotFound, match=r"at or before \d{4}-.*: the earliest, 4, has the time \d{4}-"):
        table.snapshots.at_or_before(times[4] - 1)
    with pytest.raises(SnapshotNotFound):
        a_table().snapshots.at_or_before(1)


def test_a_clock_that_goes_back_does_not_make_a_snapshot_older_than_its_base():
    table = with_snapshots(2)
    table.clock.ms -= 7_200_000
    assert table.append(identifier=3).time_millis == table.snapshots.load(2).time_millis


def test_a_snapshot_is_created_once():
    table = with_snapshots(1)
    snapshot = replace(table.snapshots.load(1), id=2)
    table.snapshots.create(snapshot)
    assert table.snapshots.load(2) == snapshot
    table.snapshots.create(snapshot)  # the same again is the same
    with pytest.raises(AlreadyExistsError):
        table.snapshots.create(replace(snapshot, commit_user="other"))


def test_a_file_missing_from_a_retained_snapshot_is_corruption_and_from_an_expired_one_is_not():
    table = with_snapshots(3, expired=1)
    error = MissingFile("/w/db.db/t/manifest/m")
    assert explain_missing(table.store, error, 2) is error
    assert isinstance(explain_missing(table.store, error, 1), SnapshotExpired)


def test_the_stores_can_be_pickled():
    table = with_snapshots(1)
    store = pickle.loads(pickle.dumps(SnapshotStore(replace(table.store, io=None))))  # noqa: S301
    assert isinstance(store, SnapshotStore)

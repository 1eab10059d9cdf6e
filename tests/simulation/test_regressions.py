"""Defects the simulation found, each as the shortest sequence of calls that shows it, with the invariant it broke."""

from __future__ import annotations

import pytest

from table_format.errors import CorruptionError, SnapshotExpired
from table_format.metastore import publish
from table_format.metastore.commit.history_link import Link, verify_link
from table_format.metastore.expiry.expire_snapshots import expire_snapshots
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.references.expired_reads import explain_missing
from table_format.metastore.references.tag_store import TagStore
from table_format.model.commit import Committable
from tests.simulation.faults import Fault, FaultKind, FaultSource
from tests.simulation.history import History, Rules
from tests.simulation.process import Process
from tests.simulation.settings import FLOOR_MS, Settings
from tests.simulation.store import SharedStore
from tests.simulation.sum_table import PATHS, create_table, message, partition, write_rows
from tests.simulation.world import Actor, World, runtime_of


class Script(FaultSource):
    """The listed faults strike successive calls on paths that hold a text."""

    def __init__(self, path_part: str, *faults: Fault | None, verb: str = "create") -> None:
        self._path_part = path_part
        self._faults = list(faults)
        self._verb = verb

    def next_fault(self, verb: str, path: str) -> Fault | None:
        return self._faults.pop(0) if self._faults and verb == self._verb and self._path_part in path else None


@pytest.fixture
def shared():
    settings = Settings(options={"snapshot.num-retained.min": "1"})
    store = SharedStore(World(0))
    create_table(store.files, settings.options)
    store.history = History(store, Rules(retain_min=1, floor_ms=0))
    store.observers.clear()  # these tests say themselves what must hold
    store.settings = settings
    store.processes = 0
    return store


def process(shared, name="a", faults=None):
    shared.processes += 1
    actor = Actor(name, shared.processes, lambda _: None)
    if faults:
        actor.faults = faults
    actor.runtime = runtime_of(shared.world, actor)
    return Process.start(shared, actor, shared.history, shared.settings)


def append(p, user, *, lift=False):
    """Commit one small file; perhaps lift it to a higher level in the same commit."""
    row = partition(0)
    new = write_rows(p.store.io, p.actor.runtime, row, 0, {7: 1})
    lifted = {"compact_before": [new], "compact_after": [new.upgrade(5)]} if lift else {}
    commit = p.committer(user)
    return commit, commit.commit(Committable(identifier=1, messages=(message(row, 0, new_files=[new], **lifted),)))


def committed(shared, count, name="s"):
    for number in range(count):
        append(process(shared, name), f"{name}.{number}")


def test_a_refusal_says_nothing_about_an_earlier_request_that_may_yet_land(shared):
    """I3: the manifests of a snapshot that landed late were deleted, since the last answer was a refusal."""
    faults = Script("snapshot-1", Fault(FaultKind.LATE, 10), Fault(FaultKind.PERMISSION))
    p = process(shared, "a", faults)
    put = publish.put_if_absent(p.store, PATHS.snapshot(1), b"x", give_up_ms=p.world.now_ms + 10)
    assert put.outcome is publish.PutOutcome.UNKNOWN


def test_a_successor_that_appears_between_two_looks_proves_the_link(shared):
    """I11: the first snapshot of a table deleted itself when the second came at the wrong moment."""
    committed(shared, 1)
    p = process(shared)
    snapshot = p.snapshots().load(1)

    class Late(type(p.snapshots())):
        def highest_id(self):
            committed(shared, 1, "k")
            return super().highest_id()

    assert verify_link(snapshot, Late(p.store), ManifestStore(p.store, p.options)) is Link.SOUND


def test_a_listing_that_lags_is_no_proof_against_the_link(shared):
    """I11: a snapshot the listing did not show yet was taken for one beside history."""
    committed(shared, 1)
    p = process(shared, "a", Script("snapshot", Fault(FaultKind.STALE_LIST, 10**9), verb="list"))
    shared.files.delete(PATHS.latest_hint)
    snapshot = p.snapshots().load(1)
    assert verify_link(snapshot, p.snapshots(), ManifestStore(p.store, p.options)) is Link.SOUND


def test_a_commit_whose_compaction_is_unknown_is_not_told_as_a_failure(shared):
    """I2: the rows had landed, the answer was 'unknown', and the same committer landed them again."""
    committed(shared, 1)
    p = process(shared, "a", Script("snapshot-3", *[Fault(FaultKind.ERROR_BEFORE)] * 9))
    commit, (made,) = append(p, "a", lift=True)
    assert made.id == 2
    assert commit.filter_committed([1], since=1) == ()


def test_a_reader_of_a_snapshot_that_is_half_deleted_is_told_that_it_expired(shared):
    """I4: expiry deletes data first, and a reader in between was told that the table is corrupt."""
    committed(shared, 2)
    p = process(shared)
    error = CorruptionError("/f", "missing")
    assert explain_missing(p.store, error, 1) is error
    p.snapshots().notices.announce(2)
    assert isinstance(explain_missing(p.store, error, 1), SnapshotExpired)
    assert explain_missing(p.store, error, 2) is error


def test_a_tag_does_not_promise_a_snapshot_that_is_about_to_go(shared):
    """I11: a tag made while expiry was at work lost its files."""
    committed(shared, 3)
    p = process(shared)
    p.snapshots().notices.announce(3)
    with pytest.raises(SnapshotExpired):
        TagStore(p.store).create("t", p.snapshots().load(2))
    assert PATHS.tag("t") not in shared.paths()


def test_an_expired_base_is_a_lost_race_and_no_corruption(shared):
    """I12: a writer that stalled while it read its base was told that the table is corrupt."""
    committed(shared, 3)
    begun = shared.world.now_ms

    class ExpiresWhileReading(FaultSource):
        def next_fault(self, verb, path):
            if verb == "read" and "manifest-list" in path and shared.world.now_ms - begun < FLOOR_MS:
                shared.world.now_ms += 2 * FLOOR_MS
                committed(shared, 1, "k")
                keeper = process(shared, "k")
                expire_snapshots(keeper.store, keeper.options, retain_min=1, retain_max=1, retain_floor_ms=0)

    _, made = append(process(shared, "j", ExpiresWhileReading()), "a")
    assert [snapshot.id for snapshot in made] == [5]


def test_the_late_hint_of_the_first_commit_does_not_undo_what_an_expiry_announced(shared):
    """I3: a snapshot whose files were being deleted was tagged, since the hint said that it stays."""
    p = process(shared)
    for identifier in range(3):
        append(p, f"u{identifier}")
    p.snapshots().notices.announce(3)
    p.snapshots().hints.write_earliest(3)
    p.snapshots().hints.create_earliest(1)
    assert p.snapshots().is_expiring(2)
    assert shared.files.read(PATHS.earliest_hint) == b"3"


def test_a_request_that_takes_effect_after_a_restarted_job_has_asked_is_not_committed_again(shared):
    # I2, seed 104076: it came between the question and the first attempt.
    before, after = process(shared), process(shared)
    restarted = after.committer("u")
    assert restarted.filter_committed([1], since=0) == (1,)
    row = partition(0)
    rows = write_rows(before.store.io, before.actor.runtime, row, 0, {7: 1})
    job = Committable(identifier=1, messages=(message(row, 0, new_files=[rows]),))
    late = before.committer("u").commit(job)
    assert restarted.commit(job) == late
    assert after.snapshots().latest_id() == late[0].id

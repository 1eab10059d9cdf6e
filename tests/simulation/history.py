"""The truth about a run: every snapshot as it was published, who was told what, and what may be deleted when.

An observer of the store: each check runs at the very change that would break an invariant, so the trace ends at the
culprit. A retained snapshot is *doomed* once expiry, which deletes data before metadata and the snapshot last, has
begun to delete its files; doomed snapshots are a prefix of the history that the retention rules let go.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from table_format.codecs.snapshot_json import decode_snapshot
from table_format.codecs.tag_json import decode_tag
from table_format.io.paths import base_name, is_hidden, parent, snapshot_id_of, tag_name_of
from table_format.model.snapshot import CommitKind, Snapshot
from tests.simulation.states import Intent, State, StateReader
from tests.simulation.store import Observer, SharedStore
from tests.simulation.sum_table import PATHS
from tests.simulation.world import Actor, Violation

Job = tuple[str, int]
"""Commit user and identifier."""


@dataclass
class Promises:
    """What actors meant to do and what they were told."""

    intents: dict[Job, Intent] = field(default_factory=dict)
    acknowledged: set[Job] = field(default_factory=set)
    rejected: set[Job] = field(default_factory=set)
    unknown: set[Job] = field(default_factory=set)


@dataclass(frozen=True)
class Rules:
    """What expiry may do, as the options say it."""

    retain_min: int
    floor_ms: int
    clock_error_ms: int = 0


class History(Observer):
    """All snapshots ever published, in order."""

    def __init__(self, store: SharedStore, rules: Rules) -> None:
        self.promises = Promises()
        self.states: dict[int, State] = {}
        self.landed: dict[Job, list[tuple[CommitKind, int]]] = defaultdict(list)
        self.retained: set[int] = set()
        self.doomed: set[int] = set()
        self.tags: dict[str, int] = {}
        self.kept_tags: set[str] = set()
        self.tagged: set[int] = set()
        self.tags_let_go = 0
        self.false_links: set[int] = set()
        self.foreign: set[str] = set()
        self._store = store
        self._rules = rules
        self._born: dict[int, int] = {}
        self._users: dict[str, set[int]] = defaultdict(set)
        self._reader = StateReader(store.files.read)
        store.observers.append(self)

    @property
    def highest(self) -> int:
        return max(self.states, default=0)

    def content_of(self, snapshot_id: int) -> Counter[tuple[bytes, int, int]]:
        return self.states[snapshot_id].content

    # --- what happens to the store ----------------------------------------------------------------------------------

    def created(self, path: str, data: bytes, actor: Actor) -> None:
        if is_hidden(base_name(path)):
            return
        snapshot_id = snapshot_id_of(base_name(path)) if parent(path) == PATHS.snapshot_directory else None
        if snapshot_id is not None:
            self._publish(snapshot_id, decode_snapshot(data, path=path), actor)
        tag = tag_name_of(base_name(path)) if parent(path) == PATHS.tag_directory else None
        if tag is not None:
            self.tags[tag] = decode_tag(data, path=path).snapshot.id
            self.tagged.add(self.tags[tag])

    def deleting(self, path: str, data: bytes, actor: Actor) -> None:
        snapshot_id = snapshot_id_of(base_name(path)) if parent(path) == PATHS.snapshot_directory else None
        tag = tag_name_of(base_name(path)) if parent(path) == PATHS.tag_directory else None
        if snapshot_id is not None:
            self._unpublish(snapshot_id, actor)
        elif tag is not None:
            del self.tags[tag]
            self.kept_tags.discard(tag)
        else:
            self._doom(path, actor)

    def _publish(self, snapshot_id: int, snapshot: Snapshot, actor: Actor) -> None:
        if snapshot_id <= self.highest:
            if snapshot.commit_user not in self.foreign:
                raise Violation(f"I1 {actor.name} publishes snapshot {snapshot_id} a second time")
            self.false_links.add(snapshot_id)
            self._store.world.note("false_link")
            return
        if snapshot_id != self.highest + 1:
            raise Violation(f"I1 {actor.name} publishes snapshot {snapshot_id} after {self.highest}")
        job = (snapshot.commit_user, snapshot.commit_identifier)
        before = self.states.get(snapshot_id - 1)
        if before and snapshot.time_millis < before.snapshot.time_millis:
            raise Violation(f"I7 snapshot {snapshot_id} is older than the one before it")
        state = self._reader.derive(snapshot, before, self.promises.intents.get(job))
        kinds = [kind for kind, _ in self.landed[job]]
        if snapshot.commit_kind in kinds:
            raise Violation(f"I2 {job} lands a second time, as snapshot {snapshot_id}")
        if job in self.promises.rejected:
            raise Violation(f"I2 {job} lands as snapshot {snapshot_id} although it was told that it did not")
        self.landed[job].append((snapshot.commit_kind, snapshot_id))
        self.states[snapshot_id] = state
        self.retained.add(snapshot_id)
        self._born[snapshot_id] = self._store.world.now_ms

    def _unpublish(self, snapshot_id: int, actor: Actor) -> None:
        if snapshot_id in self.false_links and snapshot_id not in self.retained:
            self.false_links.discard(snapshot_id)
            return
        if snapshot_id != min(self.retained, default=0):
            raise Violation(f"I1 {actor.name} deletes snapshot {snapshot_id} and leaves {min(self.retained)}")
        self._check_may_go(snapshot_id, actor)
        self.retained.discard(snapshot_id)
        self.doomed.discard(snapshot_id)
        self._store.world.note("expired")

    def _doom(self, path: str, actor: Actor) -> None:
        """A file goes: every retained snapshot that needs it must be one that may go."""
        for name in sorted(self.kept_tags):
            snapshot_id = self.tags[name]
            if path in self.states[snapshot_id].paths:
                raise Violation(f"I11 {actor.name} deletes {path}, which tag {name} of snapshot {snapshot_id} needs")
        needing = [i for i in self.retained if path in self.states[i].paths]
        for snapshot_id in needing:
            self._check_may_go(snapshot_id, actor)
        self.doomed.update(needing)

    def _check_may_go(self, snapshot_id: int, actor: Actor) -> None:
        newest = sorted(self.retained)[-self._rules.retain_min :]
        if snapshot_id in newest:
            raise Violation(f"I11 {actor.name} takes from snapshot {snapshot_id}, one of the {len(newest)} newest")
        age_ms = self._store.world.now_ms - self._born[snapshot_id]
        if age_ms + self._rules.clock_error_ms < self._rules.floor_ms:
            raise Violation(f"I11 {actor.name} takes from snapshot {snapshot_id} at the age of {age_ms} ms")

    # --- what actors are told ---------------------------------------------------------------------------------------

    def intend(self, user: str, identifier: int, intent: Intent) -> None:
        """A job is about to be tried; to try it again means the same."""
        known = self.promises.intents.setdefault((user, identifier), intent)
        assert known == intent, "a job is tried again with other rows"

    def acknowledge(self, user: str, identifier: int) -> None:
        """The job was told that its rows have landed.

        Raises:
            Violation: I2, they have not.
        """
        self.promises.acknowledged.add((user, identifier))
        if not self._rows_landed(user, identifier):
            raise Violation(f"I2 {(user, identifier)} was told that it landed, and did not")

    def reject(self, user: str, identifier: int) -> None:
        """The job was told that nothing of it is visible.

        Raises:
            Violation: I2, it is.
        """
        self.promises.rejected.add((user, identifier))
        if self._rows_landed(user, identifier):
            raise Violation(f"I2 {(user, identifier)} was told that it did not land, and did")

    def reject_compaction(self, user: str, identifier: int) -> None:
        """A compaction was told that nothing of it is visible; its files are about to be deleted.

        Raises:
            Violation: I2, it is.
        """
        self.promises.rejected.add((user, identifier))
        if self.landed.get((user, identifier)):
            raise Violation(f"I2 compaction {user} was told that it did not land, and did")

    def leave_unknown(self, user: str, identifier: int) -> None:
        """The job was told that nobody knows; it may have landed once or not at all."""
        self.promises.unknown.add((user, identifier))
        self._store.world.note("outcome_unknown")

    def keep_tag(self, name: str) -> None:
        """The tag's maker was told that it stands: from now on its snapshot can be read through it.

        Raises:
            Violation: I3, something is missing already.
        """
        self.kept_tags.add(name)
        self.check_complete(self.tags[name], f"tag {name}")

    def let_tag_go(self, name: str) -> None:
        """Somebody begins to delete the tag."""
        self.tags_let_go += 1
        self.kept_tags.discard(name)

    def check_complete(self, snapshot_id: int, what: str) -> None:
        """I3: everything that the snapshot needs exists."""
        for path in sorted(self.states[snapshot_id].paths):
            if self._store.files.status(path) is None:
                raise Violation(f"I3 {what} lacks {path}")

    def _rows_landed(self, user: str, identifier: int) -> bool:
        return any(kind is not CommitKind.COMPACT for kind, _ in self.landed.get((user, identifier), ()))

"""The outside observer: replays every snapshot with the model and compares it with what a scan gives.

Ids come again after a rollback or a fast-forward, so that it knows snapshots by name. It replays a snapshot on the
state of the one before, whichever that is by then. The journal says which changes of the history are meant.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from table_format import Table
from table_format.errors import ConflictError, NotFoundError, SchemaChanged
from table_format.metastore.commit.key_places import snapshot_identity
from table_format.metastore.references.tag_store import TagStore
from table_format.model.snapshot import FIRST_SNAPSHOT_ID, Snapshot
from tests.support.reachable import Reachable, files_below
from tests.torture.actors import CONSUMER, Place
from tests.torture.gate import Gate
from tests.torture.jobs import FORK_WRITER, Model, Row, digest, found_rows, job_of
from tests.torture.journal import Change, Commit, Journal, commits_of
from tests.torture.kinds import Kind

_OPENINGS: Final = 3
MOST_STATES: Final = 400
"""Of this many snapshots the rows are remembered, and of those that something keeps."""

Claim: TypeAlias = tuple[str, str, str]
"""Who has read a snapshot, its name, and the digest of the rows."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a table."""

    sort: str
    text: str


@dataclass(slots=True)
class Findings:
    """What was seen so far."""

    snapshots: int = 0
    commits: int = 0
    references: int = 0
    rewinds: int = 0
    claims: int = 0
    lagging: int = 0
    wrong: list[Finding] = field(default_factory=list)

    def report(self, sort: str, text: str) -> None:
        """Note what is wrong: ``lost``, ``wrong``, ``twice``, ``unreadable`` or ``left``."""
        self.wrong.append(Finding(sort, text))


@dataclass(frozen=True, slots=True)
class State:
    """What the model holds after a snapshot, and the last job of each writer."""

    id: int
    rows: Mapping[tuple[int, ...], dict[str, object]]
    numbers: Mapping[int, int]


class Observer:
    """Follows one table from its first snapshot to its last."""

    def __init__(self, kind: Kind, place: Place, findings: Findings) -> None:
        self.claims: deque[Claim] = deque()
        """What readers say they have read. Others add to it."""
        self._kind = kind
        self._place = place
        self._findings = findings
        self._gate = Gate(place.warehouse)
        self._journal = Journal(place.warehouse)
        self._model = Model(kind)
        self._numbers: Counter[int] = Counter()
        self._states: dict[str, State] = {}
        self._digests: dict[str, str] = {}
        self._history: list[str] = []
        self._seen_changes = 0
        self._change: Change | None = None
        self._progress: Mapping[int, int] = {}
        self._excused: Counter[int] = Counter()
        """The jobs that may be missing, because the history went back behind them."""
        self._rng = random.Random(place.seed)
        place.open().reset_consumer(CONSUMER, 1)

    def follow(self) -> int:
        """Look at the snapshots that came; how many there were."""
        table = self._place.open()
        with self._gate.together():
            changes = self._journal.changes()[self._seen_changes :]
            snapshots = table.snapshots()
            new = [s for s in snapshots if snapshot_identity(s) not in self._states]
            if snapshots:
                table.reset_consumer(CONSUMER, new[0].id if new else snapshots[-1].id + 1)
        for change in changes:
            self._take(change)
        self._advance(tuple(map(Commit.of, snapshots)))
        if self._change is not None and self._change.is_ended:
            self._change = None
        for snapshot in new:
            self._look_at(table, snapshot)
        self._look_at_references(table)
        self._look_at_claims()
        self._forget(table)
        return len(new)

    def finish(self, acknowledged: dict[int, int]) -> None:
        """Say which acknowledged jobs are missing; then compact, expire and clean, after which nothing may be left."""
        for who, number in acknowledged.items():
            self._skip(who, number + 1)
        table = self._place.open()
        table.compact(full=True)
        self.follow()
        expected = self._model.rows()
        if found_rows(table.scan().to_arrow()) != expected:
            self._findings.report("wrong", f"{self._kind.name}: after the last compaction the rows differ")
        table.delete_consumer(CONSUMER)
        for name in TagStore(table.store).names_being_deleted():
            with suppress(NotFoundError):
                table.delete_tag(name)  # somebody has died over it
        for name in table.branches():
            if TagStore(self._place.open_named(f"db.t$branch_{name}").store).names_being_deleted():
                table.delete_branch(name)
        table.expire_snapshots(retain_max=1, retain_min=1, retain_floor_ms=0, limit=1_000_000)
        now_ms = table.store.runtime.clock.now_ms()
        table.remove_orphan_files(older_than_ms=now_ms + 60_000, nobody_else_writes=True)
        reachable = Reachable(table)
        root = table.store.paths.root
        there = set(files_below(table.store.io, root))
        if lost := sorted(reachable.needed - there):
            self._findings.report("lost", f"{self._kind.name}: {len(lost)} files are missing, among them {lost[0]}")
        if left := sorted(there - reachable.needed - reachable.allowed):
            self._findings.report("left", f"{self._kind.name}: {len(left)} files are left over, among them {left[0]}")
        if found_rows(table.scan().to_arrow()) != expected:
            self._findings.report("wrong", f"{self._kind.name}: after expiry and cleaning the rows differ")
        for error in table.verify().errors:
            self._findings.report("wrong", f"{self._kind.name}: the verification finds {error}")

    # --- the history ------------------------------------------------------------------------------------------------

    def _take(self, change: Change) -> None:
        """Take in what a change of the history says, and replay what it has found."""
        self._seen_changes += 1
        if change.is_ended:
            self._change = change
            self._findings.rewinds += not change.is_refused
            return
        self._advance(change.history)
        head = self._history[-1:]
        self._advance(change.source, is_history=False)
        self._go_to(head[0] if head else None)
        self._change = change
        self._progress = change.progress

    def _advance(self, commits: Sequence[Commit], *, is_history: bool = True) -> None:
        """Replay what is new of a history, on the state of the last snapshot that is known."""
        names = [commit.name for commit in commits]
        known = max((i for i, name in enumerate(names) if name in self._states), default=-1)
        if known < 0 and commits and commits[0].id > FIRST_SNAPSHOT_ID:
            message = f"nobody has seen what is before snapshot {commits[0].id}"
            raise AssertionError(message)
        begin = names[known] if known >= 0 else None
        if is_history:
            self._check_way_back(begin, commits)
            self._history = self._history_up_to(begin) + names[known + 1 :]
        self._go_to(begin)
        for commit in commits[known + 1 :]:
            self._replay(commit)
            self._states[commit.name] = State(commit.id, self._model.state(), dict(self._numbers))
            if not self._kind.visible_after_compaction:
                self._digests[commit.name] = digest(self._model.rows())

    def _history_up_to(self, name: str | None) -> list[str]:
        if name is None:
            return []
        return self._history[: self._history.index(name) + 1] if name in self._history else [name]

    def _check_way_back(self, begin: str | None, commits: Sequence[Commit]) -> None:
        """The history goes on where it was, or a change that was announced has gone back."""
        change = self._change
        names = {commit.name for commit in commits}
        is_done = change is not None and change.is_ended and not change.is_refused
        if is_done and change.target.name not in names and commits and commits[0].id <= change.target.id:
            self._findings.report("wrong", f"{self._kind.name}: {change.action} to {change.target.name} is undone")
        if not self._history or begin == self._history[-1]:
            return
        if change is None or not self._is_meant(change, begin):
            what = None if change is None else f"{change.action} to {change.target.name}"
            text = f"the history went back from {self._history[-1]} to {begin}, while {what} was announced"
            self._findings.report("lost", f"{self._kind.name}: {text}")
        for who, number in self._progress.items():
            self._excused[who] = max(self._excused[who], number)

    def _is_meant(self, change: Change, begin: str | None) -> bool:
        if change.action == "fast-forward" or begin == change.target.name:
            return True
        return begin is not None and self._states[begin].id >= change.target.id and begin in self._history

    def _go_to(self, name: str | None) -> None:
        state = self._states[name] if name is not None else State(0, {}, {})
        self._model.go_back(state.rows)
        self._numbers = Counter(state.numbers)

    def _replay(self, commit: Commit) -> None:
        who, number = commit.writer, commit.identifier
        if who is None:
            return
        self._findings.commits += 1
        where = f"{self._kind.name}, snapshot {commit.id}"
        if number <= self._numbers[who]:
            text = f"job {number} of {commit.user} was committed after {self._numbers[who]}"
            self._findings.report("twice", f"{where}: {text}")
            return
        self._skip(who, number)
        self._model.apply(job_of(self._kind, who, number), commit.properties)
        self._numbers[who] = number

    def _skip(self, who: int, end: int) -> None:
        """Jobs that made no snapshot must have had nothing to change, or the history went back behind them."""
        for number in range(self._numbers[who] + 1, end):
            job = job_of(self._kind, who, number)
            nothing = {"torture.columns": "", "torture.wide": "False"}
            if who != FORK_WRITER and number > self._excused[who] and self._model.apply(job, nothing):
                self._findings.report(
                    "lost", f"{self._kind.name}: job {number} of {job.user} ({job.action}) is missing"
                )
        self._numbers[who] = max(self._numbers[who], end - 1)

    def _forget(self, table: Table) -> None:
        """Forget the rows of snapshots that nothing keeps any more."""
        if len(self._states) <= MOST_STATES:
            return
        kept = set(self._history[-MOST_STATES // 2 :])
        kept |= {snapshot_identity(tag.snapshot) for tag in table.tags().values()}
        for name in table.branches():
            with suppress(NotFoundError):
                kept |= {commit.name for commit in commits_of(self._place.open_named(f"db.t$branch_{name}"))}
        self._states = {name: state for name, state in self._states.items() if name in kept}

    # --- one snapshot -----------------------------------------------------------------------------------------------

    def _look_at(self, table: Table, snapshot: Snapshot) -> None:
        self._findings.snapshots += 1
        where = f"{self._kind.name}, snapshot {snapshot.id}"
        try:
            found = self._rows(table, {"scan.snapshot-id": str(snapshot.id)})
            is_lagging = self._kind.visible_after_compaction and _has_level_0(table, snapshot)
        except Exception as error:  # noqa: BLE001 - whatever it is, the snapshot could not be read
            is_there = _is_there(table, snapshot)
            if is_there or not isinstance(error, (NotFoundError, ConflictError)):
                text = "" if is_there else ", which was rolled back"
                self._findings.report("unreadable", f"{where}{text}: {type(error).__name__}: {error}")
            return
        if not _is_there(table, snapshot):
            return  # the rows may be those of another snapshot with its id
        name = snapshot_identity(snapshot)
        if self._kind.visible_after_compaction:
            self._digests[name] = digest(found)
        if is_lagging:
            self._findings.lagging += 1
            strange = [row for row in found if not self._model.has_been(row)]
        elif self._kind.visible_after_compaction:
            strange = self._difference(found, name)
        else:
            strange = [] if digest(found) == self._digests[name] else self._difference(found, name) or found[:1]
        if strange:
            by = f"{snapshot.commit_kind.value} of {snapshot.commit_user}/{snapshot.commit_identifier}"
            self._findings.report("wrong", f"{where} ({by}): {len(strange)} rows differ, among them {strange[0]}")

    def _difference(self, found: list[Row], name: str) -> list[Row]:
        model = Model(self._kind)
        model.go_back(self._states[name].rows)
        expected = model.rows()
        return [row for row in found if row not in expected] + [row for row in expected if row not in found]

    # --- tags, branches, and what others have read ------------------------------------------------------------------

    def _look_at_claims(self) -> None:
        unknown = []
        while self.claims:
            what, name, claimed = claim = self.claims.popleft()
            if name not in self._digests:
                unknown.append(claim)
            elif claimed != self._digests[name]:
                self._findings.report("wrong", f"{self._kind.name}: {what} of {name} has other rows")
            self._findings.claims += name in self._digests
        self.claims.extend(unknown[-MOST_STATES:])

    def _look_at_references(self, table: Table) -> None:
        tags = {name: snapshot_identity(tag.snapshot) for name, tag in table.tags().items()}
        known = sorted(name for name in tags if tags[name] in self._digests)
        for name in self._rng.sample(known, min(len(known), 3)):
            self._compare(table, f"tag {name}", tags[name], {"scan.tag-name": name})
        branches = sorted(table.branches())
        if branches:
            self._look_at_branch(self._rng.choice(branches))

    def _look_at_branch(self, name: str) -> None:
        try:
            branch = self._place.open_named(f"db.t$branch_{name}")
            snapshot = branch.latest_snapshot()
        except NotFoundError:
            return
        if snapshot is not None and snapshot_identity(snapshot) in self._digests:
            self._compare(branch, f"branch {name}", snapshot_identity(snapshot), {})

    def _compare(self, table: Table, what: str, snapshot: str, options: dict[str, str]) -> None:
        self._findings.references += 1
        where = f"{self._kind.name}, {what} of snapshot {snapshot}"
        try:
            found = self._rows(table, options)
        except NotFoundError:
            return  # deleted or replaced meanwhile
        except Exception as error:  # noqa: BLE001 - whatever it is, it could not be read
            if self._names(table, what, snapshot):
                self._findings.report("unreadable", f"{where}: {type(error).__name__}: {error}")
            return
        if digest(found) != self._digests[snapshot] and self._names(table, what, snapshot):
            self._findings.report("wrong", f"{where}: {len(found)} rows, not those of the snapshot")

    def _names(self, table: Table, what: str, snapshot: str) -> bool:
        """Whether a tag or branch still names that snapshot, and nobody deletes it."""
        sort, _, name = what.partition(" ")
        main = self._place.open()
        if sort == "tag":
            tag = main.tags().get(name)
            is_named = tag is not None and snapshot_identity(tag.snapshot) == snapshot
            return is_named and not TagStore(main.store).is_being_deleted(name)
        if name not in main.branches() or TagStore(table.store).names_being_deleted():
            return False  # one that was made of a tag by somebody who died over it is not to be relied on
        with suppress(NotFoundError):
            return snapshot_identity(self._place.open_named(f"db.t$branch_{name}").latest_snapshot()) == snapshot
        return False

    def _rows(self, table: Table, options: dict[str, str]) -> list[Row]:
        """Read with the schemas that the table has now: a fast-forward may have replaced those it was opened with."""
        for _ in range(_OPENINGS):
            with suppress(SchemaChanged):
                return found_rows(table.scan(options=options).to_arrow())
            table = self._place.open_named(str(table.identifier))
        return found_rows(table.scan(options=options).to_arrow())


def _is_there(table: Table, snapshot: Snapshot) -> bool:
    found = table.facts.snapshots.find(snapshot.id)
    return found is not None and found.is_same(snapshot)


def _has_level_0(table: Table, snapshot: Snapshot) -> bool:
    facts = table.facts
    entries = facts.live_files(snapshot).entries
    return any(entry.file.level == 0 for entry in entries)

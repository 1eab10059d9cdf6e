"""The outside observer: replays every snapshot with the model and compares it with what a scan gives."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from table_format import Table
from table_format.errors import NotFoundError
from table_format.metastore.references.tag_store import TagStore
from table_format.model.snapshot import CommitKind, Snapshot
from tests.support.reachable import Reachable, files_below
from tests.torture.actors import Place
from tests.torture.jobs import Model, Row, found_rows, job_of
from tests.torture.kinds import Kind

CONSUMER = "observer"
"""Keeps the snapshots that were not looked at yet from expiry."""


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
    lagging: int = 0
    wrong: list[Finding] = field(default_factory=list)

    def report(self, sort: str, text: str) -> None:
        """Note what is wrong: ``lost``, ``wrong``, ``twice``, ``unreadable`` or ``left``."""
        self.wrong.append(Finding(sort, text))


class Observer:
    """Follows one table from its first snapshot to its last."""

    def __init__(self, kind: Kind, place: Place, findings: Findings) -> None:
        self._kind = kind
        self._place = place
        self._findings = findings
        self._model = Model(kind)
        self._next_id = 1
        self._numbers: Counter[int] = Counter()
        self._digests: dict[int, str] = {}
        self._rng = random.Random(place.seed)
        place.open().reset_consumer(CONSUMER, 1)

    def follow(self) -> int:
        """Look at the snapshots that came; how many there were."""
        table = self._place.open()
        latest = table.latest_snapshot()
        last = 0 if latest is None else latest.id
        begin = self._next_id
        for snapshot_id in range(begin, last + 1):
            self._look_at(table, snapshot_id)
            self._next_id = snapshot_id + 1
        if last >= begin:
            table.reset_consumer(CONSUMER, self._next_id)
        self._look_at_references(table)
        return max(last + 1 - begin, 0)

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

    # --- one snapshot -----------------------------------------------------------------------------------------------

    def _look_at(self, table: Table, snapshot_id: int) -> None:
        self._findings.snapshots += 1
        where = f"{self._kind.name}, snapshot {snapshot_id}"
        try:
            snapshot = table.facts.snapshots.load(snapshot_id)
            self._replay(snapshot, where)
            found = self._rows(table, {"scan.snapshot-id": str(snapshot_id)})
            is_lagging = self._kind.visible_after_compaction and _has_level_0(table, snapshot)
        except Exception as error:  # noqa: BLE001 - whatever it is, the snapshot could not be read
            self._findings.report("unreadable", f"{where}: {type(error).__name__}: {error}")
            return
        self._digests[snapshot_id] = _digest(found)
        if is_lagging:
            self._findings.lagging += 1
            strange = [row for row in found if not self._model.has_been(row)]
        else:
            expected = self._model.rows()
            strange = [row for row in found if row not in expected] + [row for row in expected if row not in found]
        if strange:
            by = f"{snapshot.commit_kind.value} of {snapshot.commit_user}/{snapshot.commit_identifier}"
            self._findings.report("wrong", f"{where} ({by}): {len(strange)} rows differ, among them {strange[0]}")

    def _replay(self, snapshot: Snapshot, where: str) -> None:
        user = snapshot.commit_user
        if not user.startswith("w") or not user[1:].isdigit() or snapshot.commit_kind is CommitKind.COMPACT:
            return
        self._findings.commits += 1
        who, number = int(user[1:]), snapshot.commit_identifier
        if number <= self._numbers[who]:
            self._findings.report("twice", f"{where}: job {number} of {user} was committed after {self._numbers[who]}")
            return
        self._skip(who, number)
        self._model.apply(job_of(self._kind, who, number), snapshot.properties)
        self._numbers[who] = number

    def _skip(self, who: int, end: int) -> None:
        """Jobs that made no snapshot must have had nothing to change."""
        for number in range(self._numbers[who] + 1, end):
            job = job_of(self._kind, who, number)
            nothing = {"torture.columns": "", "torture.wide": "False"}
            if self._model.apply(job, nothing):
                self._findings.report(
                    "lost", f"{self._kind.name}: job {number} of {job.user} ({job.action}) is missing"
                )
        self._numbers[who] = max(self._numbers[who], end - 1)

    def _look_at_references(self, table: Table) -> None:
        tags = {name: tag.snapshot.id for name, tag in table.tags().items() if tag.snapshot.id in self._digests}
        for name in self._rng.sample(sorted(tags), min(len(tags), 3)):
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
        if snapshot is not None and snapshot.id in self._digests:
            self._compare(branch, f"branch {name}", snapshot.id, {})

    def _compare(self, table: Table, what: str, snapshot_id: int, options: dict[str, str]) -> None:
        self._findings.references += 1
        where = f"{self._kind.name}, {what} of snapshot {snapshot_id}"
        try:
            found = self._rows(table, options)
        except NotFoundError:
            return  # deleted or replaced meanwhile
        except Exception as error:  # noqa: BLE001 - whatever it is, it could not be read
            self._still_there(table, what, where, error)
            return
        if _digest(found) != self._digests[snapshot_id] and self._names(what, snapshot_id):
            self._findings.report("wrong", f"{where}: {len(found)} rows, not those of the snapshot")

    def _still_there(self, table: Table, what: str, where: str, error: Exception) -> None:
        sort, _, name = what.partition(" ")
        main = self._place.open()
        if sort == "tag":
            is_there = name in main.tags() and not TagStore(main.store).is_being_deleted(name)
        else:
            # One that was made of a tag by somebody who died over it is not to be relied on.
            is_there = name in main.branches() and not TagStore(table.store).names_being_deleted()
        if is_there:
            self._findings.report("unreadable", f"{where}: {type(error).__name__}: {error}")

    def _names(self, what: str, snapshot_id: int) -> bool:
        """Whether a tag still names that snapshot: others replace tags."""
        sort, _, name = what.partition(" ")
        if sort != "tag":
            return True
        tag = self._place.open().tags().get(name)
        return tag is not None and tag.snapshot.id == snapshot_id

    def _rows(self, table: Table, options: dict[str, str]) -> list[Row]:
        return found_rows(table.scan(options=options).to_arrow())


def _has_level_0(table: Table, snapshot: Snapshot) -> bool:
    facts = table.facts
    entries = facts.live_files(snapshot).entries
    return any(entry.file.level == 0 for entry in entries)


def _digest(rows: Sequence[Row]) -> str:
    return hashlib.sha256(repr(rows).encode()).hexdigest()

"""The process that changes the history: it rolls back, and fast-forwards to branches that it has written.

It is alone meanwhile, except for readers and for the process that tags and expires. A change that it was killed or
interrupted in is repeated until it is done.
"""

from __future__ import annotations

import random
import time
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Final

from table_format import Table
from table_format.errors import AlreadyExistsError, ConflictError, NotFoundError
from tests.torture.actors import CONSUMER, FORK_PREFIX, Actor, Place, commit_job
from tests.torture.gate import Gate
from tests.torture.jobs import FORK_WRITER
from tests.torture.journal import Change, Commit, Journal, commits_of

RECENT: Final = 8
"""How far back a rollback goes, mostly."""


def rewind(place: Place, sender: Connection) -> None:
    """Change the history from time to time."""
    actor = Actor(place, sender)
    rewinds = Rewinds(place, actor.rng)
    actor.begin()
    goes_on = True
    while goes_on:
        if rewinds.is_unfinished or actor.rng.random() < 0.6:
            with rewinds.gate.alone():
                goes_on = actor.attempt(rewinds.change)
        else:
            goes_on = actor.attempt(lambda: rewinds.fork(actor))
        time.sleep(actor.rng.random() * 3)


def complete(place: Place) -> None:
    """Finish the change in which the process died."""
    rewinds = Rewinds(place, random.Random(place.seed))
    while rewinds.is_unfinished:
        rewinds.change()


class Rewinds:
    """Changes of the history of one table, each written down before it begins."""

    def __init__(self, place: Place, rng: random.Random) -> None:
        self.gate = Gate(place.warehouse)
        self._place = place
        self._rng = rng
        self._journal = Journal(place.warehouse)

    @property
    def is_unfinished(self) -> bool:
        """Whether a change has begun and not ended."""
        return self._journal.unfinished() is not None

    def change(self) -> None:
        """Change the history, or repeat the last change that did not end."""
        table = self._place.open()
        change = self._journal.unfinished() or self._choose(table)
        if change is None:
            return
        tag = table.tags().get(str(change.argument)) if change.action == "rollback" else None
        target = change.target if tag is None else Commit.of(tag.snapshot)
        facts = {"history": commits_of(table), "progress": self._journal.progress(), "target": target}
        change = replace(change, **facts)
        self._journal.write(change)
        try:
            self._do(table, change)
        except (NotFoundError, ConflictError) as error:
            if isinstance(error, ConflictError) and "othing was changed" not in str(error):
                raise
            self._end(change, is_refused=True)
            return
        found = self._place.open().latest_snapshot()
        assert found is not None
        assert Commit.of(found).name == change.target.name, f"{change.action} {change.argument}: found {found}"
        self._end(change)

    def fork(self, actor: Actor) -> None:
        """Write to a branch of its own, or delete one."""
        table = self._place.open()
        forks = sorted(name for name in table.branches() if name.startswith(FORK_PREFIX))
        if len(forks) > 2:
            table.delete_branch(self._rng.choice(forks))
            return
        name = f"{FORK_PREFIX}{self._journal.progress().get(FORK_WRITER, 0)}-{self._rng.randrange(1000)}"
        ids = [snapshot.id for snapshot in table.snapshots()][-RECENT:]
        if not ids:
            return
        with suppress(NotFoundError, AlreadyExistsError):
            table.create_tag(name, self._rng.choice(ids))
            table.create_branch(name, tag=name)
            for _ in range(self._rng.randint(1, 3)):
                number = self._journal.progress().get(FORK_WRITER, 0) + 1
                self._journal.note_progress(FORK_WRITER, number)
                branch = self._place.open_named(f"db.t$branch_{name}")
                commit_job(actor.kind, branch, FORK_WRITER, number)

    def _choose(self, table: Table) -> Change | None:
        number = len(self._journal.changes()) + 1
        choice = self._rng.random()
        tags = table.tags()
        if choice < 0.4 and (change := self._choose_branch(table, number)) is not None:
            return change
        if choice < 0.6 and tags:
            name = self._rng.choice(sorted(tags))
            return Change(number, "rollback", name, Commit.of(tags[name].snapshot))
        history = commits_of(table)
        if not history:
            return None
        target = self._rng.choice(history[-RECENT:] if self._rng.random() < 0.9 else history)
        return Change(number, "rollback", target.id, target)

    def _choose_branch(self, table: Table, number: int) -> Change | None:
        for name in sorted(table.branches()):
            if not name.startswith(FORK_PREFIX):
                continue
            with suppress(NotFoundError):
                branch = self._place.open_named(f"db.t$branch_{name}")
                source = commits_of(branch)
                first = min((tag.snapshot.id for tag in branch.tags().values()), default=0)
                if source and source[0].id == first:  # otherwise, nobody knows what the model had at its beginning
                    return Change(number, "fast-forward", name, source[-1], source=source)
        return None

    def _do(self, table: Table, change: Change) -> None:
        next_id = table.consumers().get(CONSUMER)
        first = change.source[0].id if change.source else change.target.id
        if next_id is not None and next_id > first:
            table.reset_consumer(CONSUMER, first)
        if change.action == "fast-forward":
            table.fast_forward(str(change.argument))
        else:
            table.rollback_to(change.argument)

    def _end(self, change: Change, *, is_refused: bool = False) -> None:
        self._journal.write(replace(change, history=(), source=(), is_ended=True, is_refused=is_refused))

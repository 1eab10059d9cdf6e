"""The process that follows the table as a stream: its changes add up to the rows of each snapshot, or it gets an error
that its caller has to expect."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection

import pyarrow as pa

from table_format.errors import ConflictError, NotFoundError
from table_format.table.read.plan import Plan
from table_format.table.read.stream import StreamScan
from tests.torture.actors import Actor, Place, act
from tests.torture.jobs import Row


def follow(place: Place, sender: Connection) -> None:
    """Follow the table. After a rollback behind its position, begin again."""
    actor = Actor(place, sender)
    follower = Follower(actor)
    actor.begin()
    while follower.attempt():
        time.sleep(actor.rng.random() * 0.3)


class Follower:
    """A stream that is open for long, and the rows that its changes add up to."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._begin()

    def _begin(self) -> None:
        self._table = self._actor.place.open()
        self._stream: StreamScan = self._table.stream()
        self._plan: Plan | None = None
        self._rows: dict[tuple[object, ...], Row] = {}

    def attempt(self) -> bool:
        """Take the next changes. Return whether the process continues."""
        before = self._stream.checkpoint()
        try:
            act(self._next)
        except KeyboardInterrupt:
            self._actor.tell("interrupted", None)
            if self._plan is None and self._stream.checkpoint() != before:
                self._begin()  # the plan was lost on its way
        except (NotFoundError, ConflictError) as error:
            self._actor.tell("refused", f"stream {type(error).__name__}")
            self._begin()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is reported
            if not self._actor.tell_failure(error):
                return False
            self._begin()
        return True

    def _next(self) -> None:
        if self._plan is None:
            self._plan = self._stream.next_plan()
            time.sleep(self._actor.rng.random() ** 3)
        if self._plan is None:
            return
        rows = self._added(self._stream.to_arrow(self._plan))
        self._rows, self._plan = rows, None
        last = self._stream._last
        if last is not None and self._actor.kind.streams_state:
            with suppress(NotFoundError):
                self._actor.claim("a stream", self._table, last, list(rows.values()))

    def _added(self, changes: pa.Table) -> dict[tuple[object, ...], Row]:
        rows = dict(self._rows)
        for change in changes.to_pylist():
            kind = change.pop("rowkind")
            key = (change["who"], change["k"])
            if kind in ("+I", "+U"):
                rows[key] = _row(change)
            elif kind == "-D":
                rows.pop(key, None)
        return rows


def _row(values: Mapping[str, object]) -> Row:
    return tuple(sorted((name, value) for name, value in values.items() if value is not None))

"""The state of a sensor that requests partitions: what it has checked, what waits, and what it has requested."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dagster_paimon.sensors.cursor import ReportedSnapshot
from dagster_paimon.sensors.followed_column import Looked
from dagster_paimon.sensors.tick_errors import reading_cursor, stored


@dataclass(frozen=True, slots=True)
class RequestedRun:
    """A run that was requested."""

    run_key: str
    keys: tuple[str, ...]
    requested_ms: int


@dataclass(frozen=True, slots=True)
class RequestState:
    """The content of the cursor. ``failures`` counts consecutive rounds with a failed run.

    ``again`` has the partitions of failed runs, which wait until ``not_before_ms``. Other ``waiting`` ones do not.
    """

    trails: Mapping[str, tuple[Looked, ...]] = field(default_factory=dict)
    waiting: frozenset[str] = frozenset()
    again: frozenset[str] = frozenset()
    requests: tuple[RequestedRun, ...] = ()
    failures: int = 0
    not_before_ms: int = 0
    rounds: int = 0


def encode_state(state: RequestState) -> str:
    """Encode the state as the text that Dagster stores."""
    return json.dumps(
        {
            "trails": {
                table: [
                    [
                        looked.snapshot.id,
                        looked.snapshot.fingerprint,
                        None if looked.keys is None else sorted(looked.keys),
                    ]
                    for looked in trail
                ]
                for table, trail in state.trails.items()
            },
            "waiting": sorted(state.waiting),
            "again": sorted(state.again),
            "requests": [[r.run_key, list(r.keys), r.requested_ms] for r in state.requests],
            "failures": state.failures,
            "not_before_ms": state.not_before_ms,
            "rounds": state.rounds,
        }
    )


def decode_state(cursor: str | None) -> RequestState:
    """Decode the state in a cursor. An empty cursor is the initial state."""
    with reading_cursor():
        members: dict[str, Any] = json.loads(cursor) if cursor else {}
        return RequestState(
            trails={table: tuple(map(_looked, trail)) for table, trail in members.get("trails", {}).items()},
            waiting=frozenset(_keys(members.get("waiting", []))),
            again=frozenset(_keys(members.get("again", []))),
            requests=tuple(
                RequestedRun(stored(run_key, str), _keys(keys), stored(ms, int))
                for run_key, keys, ms in members.get("requests", ())
            ),
            failures=stored(members.get("failures", 0), int),
            not_before_ms=stored(members.get("not_before_ms", 0), int),
            rounds=stored(members.get("rounds", 0), int),
        )


def _looked(members: list[Any]) -> Looked:
    number, fingerprint, keys = members
    snapshot = ReportedSnapshot(stored(number, int), stored(fingerprint, str))
    return Looked(snapshot, None if keys is None else frozenset(_keys(keys)))


def _keys(members: object) -> tuple[str, ...]:
    if not isinstance(members, list):
        message = f"expected a list of partition keys, found {members!r}"
        raise TypeError(message)
    return tuple(stored(key, str) for key in members)

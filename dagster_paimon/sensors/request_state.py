"""The state of a sensor that requests partitions: what it has checked, what waits, and what it has requested."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dagster_paimon.sensors.cursor import ReportedSnapshot
from dagster_paimon.sensors.followed_column import Looked
from dagster_paimon.sensors.tick_errors import reading_cursor


@dataclass(frozen=True, slots=True)
class RequestedRun:
    """A run that was requested."""

    run_key: str
    keys: tuple[str, ...]
    requested_ms: int


@dataclass(frozen=True, slots=True)
class RequestState:
    """The content of the cursor. ``failures`` counts consecutive rounds with a failed run."""

    trails: Mapping[str, tuple[Looked, ...]] = field(default_factory=dict)
    waiting: frozenset[str] = frozenset()
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
            "requests": [[r.run_key, list(r.keys), r.requested_ms] for r in state.requests],
            "failures": state.failures,
            "not_before_ms": state.not_before_ms,
            "rounds": state.rounds,
        }
    )


def decode_state(cursor: str | None) -> RequestState:
    """Decode the state in a cursor. An empty cursor is the initial state."""
    with reading_cursor():
        stored: dict[str, Any] = json.loads(cursor) if cursor else {}
        return RequestState(
            trails={
                table: tuple(
                    Looked(ReportedSnapshot(number, fingerprint), None if keys is None else frozenset(keys))
                    for number, fingerprint, keys in trail
                )
                for table, trail in stored.get("trails", {}).items()
            },
            waiting=frozenset(stored.get("waiting", ())),
            requests=tuple(RequestedRun(run_key, tuple(keys), ms) for run_key, keys, ms in stored.get("requests", ())),
            failures=stored.get("failures", 0),
            not_before_ms=stored.get("not_before_ms", 0),
            rounds=stored.get("rounds", 0),
        )

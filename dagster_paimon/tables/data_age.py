"""The allowed and the actual age of the data of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import dagster as dg

from dagster_paimon.tables.freshness import Freshness
from table_format import Snapshot
from table_format.engine import TableFacts
from table_format.engine.support import duration, keeps_rows
from table_format.errors import InvalidInputError

FRESHNESS: Final = "paimon/freshness"
"""Metadata key: the maximum age of the data of the table, such as ``36 h``, ``PT36H`` or ``INTERVAL '1' DAY``."""

FRESHNESS_CHECK: Final = "freshness"
"""The name of the check that both the table check and the freshness sensor report."""


@dataclass(frozen=True, slots=True)
class DataAge:
    """The last commit that wrote rows, and its allowed age. ``age`` is ``None`` if there is no such commit, or if it
    has expired: then ``earliest`` is the oldest retained snapshot.
    """

    snapshot: Snapshot | None
    age: timedelta | None
    allowed: timedelta
    earliest: Snapshot | None = None

    @property
    def is_fresh(self) -> bool:
        """Whether the data is not older than allowed. False for a table without data, or with data of unknown age."""
        return self.age is not None and self.age <= self.allowed

    def __str__(self) -> str:
        allowed = duration.show(int(self.allowed.total_seconds() * 1000))
        if self.earliest is not None:
            expired = f"the last commit that wrote rows has expired: it was before {_time_of(self.earliest)}"
            return f"{expired}; the allowed age is {allowed}, so retain snapshots for longer"
        if self.snapshot is None or self.age is None:
            return f"no commit has written rows; the allowed age is {allowed}"
        written = _time_of(self.snapshot)
        verdict = "within" if self.is_fresh else "more than"
        return f"snapshot {self.snapshot.id} wrote rows at {written}, {verdict} {allowed} ago"

    def metadata(self) -> dict[str, Any]:
        """Return the numbers for the UI, which plots the age."""
        return {
            "allowed_age_seconds": self.allowed.total_seconds(),
            **({} if self.age is None else {"age_seconds": round(self.age.total_seconds(), 1)}),
            **({} if self.snapshot is None else {"paimon/snapshot_id": self.snapshot.id}),
        }


def data_age(facts: TableFacts, allowed: timedelta, *, now_ms: int) -> DataAge:
    """Return the age of the data of a table. Compactions and statistics do not make data newer."""
    earliest = None
    for snapshot_id in range(facts.snapshots.latest_id() or 0, 0, -1):
        snapshot = facts.snapshots.find(snapshot_id)
        if snapshot is None:
            break
        if not keeps_rows(snapshot):
            return DataAge(snapshot, timedelta(milliseconds=max(now_ms - snapshot.time_millis, 0)), allowed)
        earliest = snapshot
    return DataAge(None, None, allowed, earliest if earliest is not None and earliest.id > 1 else None)


def _time_of(snapshot: Snapshot) -> str:
    return datetime.fromtimestamp(snapshot.time_millis / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def allowed_age(metadata: Mapping[str, Any]) -> timedelta | None:
    """Return the allowed age of the data from the metadata of an asset; ``None`` if it is not set.

    >>> allowed_age({"paimon/freshness": "36 h"}), allowed_age({})
    (datetime.timedelta(days=1, seconds=43200), None)
    >>> allowed_age({"paimon/freshness": "INTERVAL '1' HOUR"})
    datetime.timedelta(seconds=3600)

    Raises:
        InvalidInputError: the value is not a duration.
    """
    value = metadata.get(FRESHNESS)
    if isinstance(value, dg.MetadataValue):
        value = value.value
    if value is None:
        return None
    text = str(value)
    if text.upper().startswith("INTERVAL"):
        return Freshness.of(text).interval
    try:
        return timedelta(milliseconds=duration.parse(text))
    except ValueError as error:
        message = f"{FRESHNESS} '{text}': expected {duration.accepts}, or an interval such as INTERVAL '1' HOUR"
        raise InvalidInputError(message) from error

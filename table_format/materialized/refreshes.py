"""What a refresh records in the properties of its snapshot, and which refresh the rows of a table come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

from table_format.model.consumed import Consumed, consumed_by
from table_format.model.same_rows import keeps_rows
from table_format.model.snapshot import Snapshot

_TIME: Final = "materialized-table.refreshed-ms"
_QUERY: Final = "materialized-table.refreshed-query"
_PARTITION: Final = "materialized-table.refreshed-partition"
_BASE: Final = "materialized-table.refreshed-after"
_SCHEMA: Final = "materialized-table.refreshed-schema."
_DIGEST_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class Refresh:
    """A refresh: when it determined the states of its sources, and which.

    ``time_ms`` is in epoch milliseconds. ``consumed`` has the snapshot that was read of each source; of a source
    without snapshots, its id is 0. ``schemas`` has the schema ids with which they were read. ``partition`` is a text
    such as ``ds=2026-01-01``; ``None`` for the whole table. ``base`` is the snapshot of the refresh before, if this one
    replaced only the partitions that its sources have changed since. ``snapshot_id`` and ``row_count`` are those of the
    snapshot with the new rows.
    """

    time_ms: int
    query_digest: str
    consumed: Mapping[str, Consumed] = field(default_factory=dict)
    schemas: Mapping[str, int] = field(default_factory=dict)
    partition: str | None = None
    base: int | None = None
    snapshot_id: int = 0
    row_count: int = 0

    @classmethod
    def of(cls, snapshot: Snapshot) -> Refresh | None:
        """Return the refresh that has committed a snapshot; ``None`` if it was another program."""
        time, digest = _number(snapshot.properties.get(_TIME)), snapshot.properties.get(_QUERY)
        if digest is None or time is None:
            return None
        return cls(
            time,
            digest,
            consumed_by(snapshot),
            {
                key.removeprefix(_SCHEMA): number
                for key, text in snapshot.properties.items()
                if key.startswith(_SCHEMA) and (number := _number(text)) is not None
            },
            snapshot.properties.get(_PARTITION),
            _number(snapshot.properties.get(_BASE)),
            snapshot.id,
            snapshot.total_record_count or 0,
        )

    @property
    def properties(self) -> dict[str, str]:
        """The properties of the snapshot that the refresh commits.

        >>> Refresh(5, "d", {"shop.orders": Consumed(7, "u")}).properties["consumed.shop.orders"]
        '7'
        """
        found = {_TIME: str(self.time_ms), _QUERY: self.query_digest}
        for source, state in self.consumed.items():
            found.update(state.properties(source))
        found.update({f"{_SCHEMA}{source}": str(number) for source, number in self.schemas.items()})
        found.update({} if self.partition is None else {_PARTITION: self.partition})
        return found if self.base is None else {**found, _BASE: str(self.base)}


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() else None


@dataclass(frozen=True, slots=True)
class Refreshes:
    """The refreshes that the rows of a table come from: the last one of the whole table, and later ones of partitions.

    ``whole`` is ``None`` if there was none, if its snapshot has expired, or if another program has changed rows since.
    """

    whole: Refresh | None = None
    partitions: tuple[Refresh, ...] = ()

    @property
    def all(self) -> tuple[Refresh, ...]:
        """All of them; none without one of the whole table."""
        return () if self.whole is None else (self.whole, *self.partitions)


def refreshes_of(newest_first: Iterable[Snapshot]) -> Refreshes:
    """Return the refreshes of the rows, from the snapshots of a table.

    Compactions, rescaling and statistics do not change rows. Any other commit that is no refresh does. A refresh that
    replaced some partitions kept the rows of the others, so there must be no such commit back to the refresh before.
    """
    whole: Refresh | None = None
    partitions: list[Refresh] = []
    for snapshot in newest_first:
        if whole is not None and snapshot.id <= (whole.base or 0):
            break
        refresh = Refresh.of(snapshot)
        if refresh is None:
            if keeps_rows(snapshot):
                continue
            return Refreshes()
        if whole is None and refresh.partition is None:
            whole = refresh
            if whole.base is None:
                break
        elif whole is None:
            partitions.append(refresh)
    return Refreshes() if whole is None else Refreshes(whole, tuple(partitions))


def digest_of(query: str) -> str:
    """Return a short text that differs between queries."""
    return blake2b(query.encode(), digest_size=_DIGEST_BYTES).hexdigest()

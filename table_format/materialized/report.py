"""The report of a refresh."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from table_format.model.consumed import Consumed
from table_format.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class RefreshReport:
    """What a refresh of ``table`` did.

    ``snapshots`` are its snapshots; none if it was skipped, and then ``skipped`` says why. ``sources`` has the snapshot
    that was read of each source, with id 0 for a source without snapshots. ``row_count`` is the number of rows of the
    table, before rows of one key are merged. ``partitions`` are those whose rows were replaced, such as
    ``{"ds": "2026-01-01"}``; ``None`` for all rows, and then ``whole_because`` may say why.

    >>> RefreshReport("shop.totals", skipped="no source has changed").is_skipped
    True
    """

    table: str
    snapshots: tuple[Snapshot, ...] = ()
    sources: Mapping[str, Consumed] = field(default_factory=dict)
    skipped: str | None = None
    partitions: tuple[Mapping[str, object], ...] | None = None
    whole_because: str | None = None

    @property
    def is_skipped(self) -> bool:
        """Whether nothing was run, because the rows did not need it."""
        return self.skipped is not None

    @property
    def row_count(self) -> int:
        """The number of stored rows after the refresh; 0 if it was skipped."""
        return (self.snapshots[-1].total_record_count or 0) if self.snapshots else 0

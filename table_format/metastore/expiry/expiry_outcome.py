"""What an expiry deleted, or would delete."""

from __future__ import annotations

from dataclasses import dataclass, field

from table_format.metastore.expiry.file_deletions import FileDeletions


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiryOutcome:
    """What an expiry deleted, or would delete.

    ``ids`` are the snapshots or changelogs that went. ``kept_by`` says what keeps the earliest that stays;
    ``beyond_max`` counts the states beyond the maximum that stay because they are younger than the retain floor.
    ``unreadable`` are broken files whose states' data files were left alone; ``bytes`` counts data and changelog files.
    """

    ids: tuple[int, ...] = ()
    deletions: FileDeletions = field(default_factory=FileDeletions)
    kept_by: str = ""
    beyond_max: int = 0
    unreadable: tuple[str, ...] = ()
    bytes: int = 0
    dry_run: bool = False

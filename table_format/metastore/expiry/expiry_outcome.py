"""The result of an expiry."""

from __future__ import annotations

from dataclasses import dataclass, field

from table_format.metastore.expiry.file_deletions import FileDeletions


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiryOutcome:
    """The result of an expiry: what it deleted, or in a dry run would delete.

    ``ids`` are the deleted snapshots or changelogs. ``kept_by`` is the reason why the earliest remaining one stays.
    ``beyond_max`` is the number of states beyond the maximum that stay because they are younger than the retain floor.
    ``unreadable`` are broken files; the data files of their states were not deleted. ``bytes`` is the size of the data
    and changelog files.
    """

    ids: tuple[int, ...] = ()
    deletions: FileDeletions = field(default_factory=FileDeletions)
    kept_by: str = ""
    beyond_max: int = 0
    unreadable: tuple[str, ...] = ()
    bytes: int = 0
    dry_run: bool = False

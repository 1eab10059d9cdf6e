"""Expiry: deletes old snapshots and changelogs, and the files that only they need."""

from __future__ import annotations

from typing import Any, Final

import dagster as dg
from pydantic import Field

from dagster_paimon.maintenance.config import DeletingConfig
from dagster_paimon.maintenance.kinds import Maintenance, Outcome, Visit
from dagster_paimon.reporting.metadata import listed
from table_format import ExpiryReport, Table
from table_format.counted import counted
from table_format.errors import InvalidInputError

HOUR_MS: Final = 3_600_000


class ExpireConfig(DeletingConfig):
    """The tables, and what to delete. Missing values come from the table options."""

    retain_max: int | None = Field(
        default=None,
        description="Maximum number of snapshots to keep. If the minimum of the table is higher, set retain_min too.",
    )
    retain_min: int | None = Field(default=None, description="Minimum number of snapshots to keep.")
    older_than_hours: float | None = Field(default=None, description="Only delete snapshots older than this.")
    limit: int | None = Field(default=None, description="Maximum number of snapshots to delete.")
    nobody_else_writes: bool = Field(
        default=False,
        description="Delete even the newest snapshots. Otherwise those of the last minutes are kept for active "
        "writers.",
    )


def expire_one(visit: Visit, config: ExpireConfig) -> Outcome:
    """Delete old snapshots and changelogs of one table and the files that only they need."""
    table = visit.table()
    bounds: dict[str, Any] = {
        "dry_run": config.dry_run,
        "retain_max": config.retain_max,
        "retain_min": config.retain_min,
        "older_than_ms": hours_ago(table, config.older_than_hours),
        "limit": config.limit,
    }
    report = table.expire_snapshots(**bounds, retain_floor_ms=0 if config.nobody_else_writes else None)
    changelogs: tuple[int, ...] = ()
    if table.options.expire.is_changelog_decoupled:
        changelogs = table.expire_changelogs(dry_run=config.dry_run, limit=config.limit).changelog_ids
    gone = done_with(len(report.snapshot_ids), "snapshot", "deleted", dry_run=config.dry_run)
    summary = f"{gone}, {report.bytes:,} bytes of data"
    return Outcome(
        title=tried("expiry", config.dry_run),
        summary=f"{summary}, and {counted(len(changelogs), 'changelog')}" if changelogs else summary,
        metadata={
            **_expiry_metadata(report),
            **({"changelog ids": listed(map(str, changelogs))} if changelogs else {}),
        },
    )


def tried(title: str, dry_run: bool) -> str:  # noqa: FBT001
    """Return the title of work, marked if it is a dry run.

    >>> tried("expiry", True)
    'expiry (dry run)'
    """
    return f"{title} (dry run)" if dry_run else title


def done_with(count: int, noun: str, done: str, *, dry_run: bool) -> str:
    """Say what was done with a number of things, or what a dry run would do.

    >>> done_with(1, "snapshot", "deleted", dry_run=False), done_with(2, "tag", "deleted", dry_run=True)
    ('1 snapshot was deleted', '2 tags would be deleted')
    """
    if dry_run:
        return f"{counted(count, noun)} would be {done}"
    return f"{counted(count, f'{noun} was', f'{noun}s were')} {done}"


def would(dry_run: bool, done: str, did: str) -> str:  # noqa: FBT001
    """Return the verb of a report.

    >>> would(True, "be deleted", "were deleted")
    'would be deleted'
    """
    return f"would {done}" if dry_run else did


def hours_ago(table: Table, hours: float | None) -> int | None:
    """Return the time a number of hours ago, in epoch milliseconds."""
    return None if hours is None else table.store.runtime.clock.now_ms() - int(hours * HOUR_MS)


def _expiry_metadata(report: ExpiryReport) -> dict[str, Any]:
    deleted = report.deletions
    groups = {
        "snapshots": deleted.snapshots,
        "data files": deleted.data_files,
        "changelog files": deleted.changelog_files,
        "manifests": deleted.manifests,
        "manifest lists": deleted.manifest_lists,
        "index files": (*deleted.index_files, *deleted.index_manifests),
        "statistics": deleted.statistics,
    }
    lines = ["| | files |", "|:--|--:|", *(f"| {name} | {len(paths):,} |" for name, paths in groups.items())]
    return {
        "deleted" if not report.dry_run else "would be deleted": dg.MetadataValue.md("\n".join(lines)),
        "snapshot ids": listed(map(str, report.snapshot_ids)),
        "data bytes": report.bytes,
        "the next is kept by": report.kept_by or "nothing: there is no next snapshot",
        **({"younger than the retain floor, above the number kept": report.beyond_max} if report.beyond_max else {}),
        **({"unreadable": listed(report.unreadable)} if report.unreadable else {}),
    }


def _check(table: Table, config: ExpireConfig) -> None:
    if config.older_than_hours is not None and config.older_than_hours < 0:
        message = f"older_than_hours {config.older_than_hours}: expected 0 or more"
        raise InvalidInputError(message)
    table.expire_snapshots(  # a dry run, which refuses contradictory limits
        dry_run=True, retain_max=config.retain_max, retain_min=config.retain_min, limit=config.limit
    )


def deletes(config: DeletingConfig) -> bool:
    """Return whether the run changes tables."""
    return not config.dry_run


EXPIRE: Final = Maintenance(
    job="expire_table",
    op="expire",
    description="Expire old snapshots and changelogs. A dry run unless dry_run is false.",
    config=ExpireConfig,
    work=expire_one,
    check=_check,
    changes=deletes,
)

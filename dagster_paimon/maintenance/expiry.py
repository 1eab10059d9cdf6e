"""Expiry of one table as a job: old snapshots and changelogs go, with the files that only they need."""
# Annotations are not postponed here: Dagster looks at the type of `context` itself.

from typing import Any, Final

import dagster as dg
from pydantic import Field

from dagster_paimon.maintenance.ops import TableConfig, maintenance_op, observe
from dagster_paimon.reporting.metadata import before_and_after, listed
from dagster_paimon.resources.lakehouse import LakehouseCatalog
from dagster_paimon.tables.measure import measure
from table_format.metastore.expiry.expire_snapshots import ExpiryReport, expire_snapshots

_HOUR_MS: Final = 3_600_000


class ExpireConfig(TableConfig):
    """Which table, and what may go. What is not given is taken from the table's options."""

    dry_run: bool = Field(default=False, description="Only tell what would be deleted.")
    retain_max: int | None = Field(default=None, description="Snapshots beyond this number go whatever their age.")
    retain_min: int | None = Field(default=None, description="At least this many stay.")
    older_than_hours: float | None = Field(default=None, description="Only snapshots replaced longer ago go.")
    limit: int | None = Field(default=None, description="Snapshots deleted at most.")
    nobody_else_writes: bool = Field(
        default=False,
        description="Snapshots may go however young. Otherwise those of the last minutes stay for writers at work.",
    )


@maintenance_op
def expire(context: dg.OpExecutionContext, config: ExpireConfig, lakehouse: LakehouseCatalog) -> None:
    """Delete old snapshots of one table and the files that only they need."""
    table = lakehouse.table(config.table)
    before = measure(table.facts)
    older_than = config.older_than_hours
    now_ms = table.store.runtime.clock.now_ms()
    report = expire_snapshots(
        table.store,
        table.options,
        dry_run=config.dry_run,
        retain_max=config.retain_max,
        retain_min=config.retain_min,
        older_than_ms=None if older_than is None else now_ms - int(older_than * _HOUR_MS),
        limit=config.limit,
        retain_floor_ms=0 if config.nobody_else_writes else None,
    )
    changelogs: tuple[int, ...] = ()
    if table.options.expire.is_changelog_decoupled:
        changelogs = table.expire_changelogs(dry_run=config.dry_run, limit=config.limit).changelog_ids
    verb = "would delete" if config.dry_run else "deleted"
    gone = len(report.snapshot_ids)
    context.log.info("%s: %s %s of %s snapshots", config.table, verb, gone, before.snapshots)
    observe(
        context,
        config.table,
        {
            "maintenance": "expiry (dry run)" if config.dry_run else "expiry",
            **_expiry_metadata(report),
            **({"changelog ids": listed(map(str, changelogs))} if changelogs else {}),
            **before_and_after(before, measure(lakehouse.table(config.table).facts)),
        },
    )


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
        "the next is kept by": report.kept_by or "nothing: there is none",
        **({"unreadable": listed(report.unreadable)} if report.unreadable else {}),
    }


@dg.job(description="Expire old snapshots of one table; dry_run only tells.")
def expire_table() -> None:
    """One op."""
    expire()

"""Looking after tables: compaction and expiry, each as a job for one table with a report of before and after.

A report is an observation on the table's asset: it shows among the asset's events, and makes nothing downstream stale.
The run tag ``lakehouse/maintains`` lets one maintenance run of a table wait for another (see ``dagster.yaml``).
"""
# Annotations are not postponed here: Dagster looks at the type of `context` itself.

import time
from typing import Any, Final

import dagster as dg
from pydantic import Field

from jobs.table_op import (
    PartitionsConfig,
    TableConfig,
    dropped_buckets,
    maintenance_op,
    observe,
    warn_of_dropped,
)
from resources.lakehouse import LakehouseCatalog
from resources.metadata import before_and_after, changelog_rows, compaction_plots, listed
from resources.spark import SparkResource
from resources.tables import measure
from table_format.metastore.expiry.expire_snapshots import ExpiryReport, expire_snapshots

MAINTAINS_TAG: Final = "lakehouse/maintains"
_HOUR_MS: Final = 3_600_000


class CompactConfig(PartitionsConfig):
    """Which table, and how thoroughly."""

    full: bool = Field(default=False, description="Merge each bucket into one run; otherwise only what is due.")
    buckets: list[int] = Field(default_factory=list, description="Only these; all without.")
    on_spark: bool = Field(default=True, description="One Spark task for each bucket; otherwise in this process.")


@maintenance_op
def compact(
    context: dg.OpExecutionContext, config: CompactConfig, lakehouse: LakehouseCatalog, spark: SparkResource
) -> None:
    """Merge sorted runs and small files of one table; rows stay the same."""
    table = lakehouse.table(config.table)
    before, began = measure(table.facts), time.monotonic()
    partitions, buckets = config.partitions or None, config.buckets or None
    context.log.info("%s: %s files, up to %s sorted runs", config.table, before.live_files, before.max_sorted_runs)
    if config.on_spark:
        with spark.following(context.log.info, f"compacting {config.table}") as session:
            report = lakehouse.lake(session).run_compaction(
                config.table, full=config.full, partitions=partitions, buckets=buckets
            )
    else:
        report = table.run_compaction(full=config.full, partitions=partitions, buckets=buckets)
    table = lakehouse.table(config.table)
    after = measure(table.facts)
    context.log.info("%s: %s files, up to %s sorted runs now", config.table, after.live_files, after.max_sorted_runs)
    warn_of_dropped(context, config.table, report.dropped)
    observe(
        context,
        config.table,
        {
            "maintenance": "full compaction" if config.full else "compaction",
            "seconds": round(time.monotonic() - began, 2),
            "snapshots made": listed(str(snapshot.id) for snapshot in report.snapshots),
            "buckets compacted": len(report.buckets),
            **changelog_rows(report.snapshots),
            **dropped_buckets(report.dropped),
            **before_and_after(before, after),
            **compaction_plots(before, after),
        },
    )


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


@dg.job(description="Compact one table and report what it changed.")
def compact_table() -> None:
    """One op."""
    compact()


@dg.job(description="Expire old snapshots of one table; dry_run only tells.")
def expire_table() -> None:
    """One op."""
    expire()


def maintenance_run(job_op: str, table: str, *, run_key: str | None = None, **config: object) -> dg.RunRequest:
    """A run of a maintenance job for one table, with the tag that lets runs of one table wait for each other."""
    return dg.RunRequest(
        run_key=run_key,
        run_config={"ops": {job_op: {"config": {"table": table, **config}}}},
        tags={MAINTAINS_TAG: table},
    )

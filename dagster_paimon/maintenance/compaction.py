"""Compaction of one table as a job: sorted runs and small files are merged, with a report of before and after."""
# Annotations are not postponed here: Dagster looks at the type of `context` itself.

import time

import dagster as dg
from pydantic import Field

from dagster_paimon.maintenance.ops import PartitionsConfig, dropped_buckets, maintenance_op, observe, warn_of_dropped
from dagster_paimon.reporting.metadata import before_and_after, changelog_rows, compaction_plots, listed
from dagster_paimon.resources.lakehouse import LakehouseCatalog
from dagster_paimon.resources.spark import SparkResource
from dagster_paimon.tables.measure import measure


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


@dg.job(description="Compact one table and report what it changed.")
def compact_table() -> None:
    """One op."""
    compact()

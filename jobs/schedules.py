"""When jobs run by the clock (UTC). All are shipped stopped: switch them on in the UI."""
# Annotations are not postponed here: Dagster looks at the type of `context` itself.

from collections.abc import Iterator
from typing import Final

import dagster as dg

from assets import MANAGED_TABLES
from jobs.file_indexes import rewrite_index_table
from jobs.maintenance import compact_table, expire_table, maintenance_run
from jobs.orphans import clean_table
from jobs.pipelines import main_pipeline
from resources.lakehouse import LakehouseCatalog

cdc_daily: Final = dg.build_schedule_from_partitioned_job(
    main_pipeline, name="cdc_daily", hour_of_day=1, minute_of_hour=10, description="Yesterday, from landing to mart."
)


@dg.schedule(job=compact_table, cron_schedule="0 3 * * *", description="Compacts every managed table.")
def nightly_compaction(
    context: dg.ScheduleEvaluationContext, lakehouse: LakehouseCatalog
) -> Iterator[dg.RunRequest | dg.SkipReason]:
    """One run for each table that exists."""
    yield from _one_for_each(context, lakehouse, "compact", full=False)


@dg.schedule(job=expire_table, cron_schedule="0 4 * * *", description="Expires old snapshots of every managed table.")
def nightly_expiry(
    context: dg.ScheduleEvaluationContext, lakehouse: LakehouseCatalog
) -> Iterator[dg.RunRequest | dg.SkipReason]:
    """One run for each table that exists, by the options of the table."""
    yield from _one_for_each(context, lakehouse, "expire")


@dg.schedule(job=clean_table, cron_schedule="0 5 * * 0", description="Cleans every managed table of orphans.")
def weekly_cleaning(
    context: dg.ScheduleEvaluationContext, lakehouse: LakehouseCatalog
) -> Iterator[dg.RunRequest | dg.SkipReason]:
    """One run for each table that exists."""
    yield from _one_for_each(context, lakehouse, "clean")


@dg.schedule(
    job=rewrite_index_table,
    cron_schedule="0 2 * * 6",
    description="Gives the files of every managed table their declared indexes.",
)
def weekly_index_rewrite(
    context: dg.ScheduleEvaluationContext, lakehouse: LakehouseCatalog
) -> Iterator[dg.RunRequest | dg.SkipReason]:
    """One run for each table that exists; where all files have their indexes it does nothing."""
    yield from _one_for_each(context, lakehouse, "rewrite_index")


def _one_for_each(
    context: dg.ScheduleEvaluationContext, lakehouse: LakehouseCatalog, job_op: str, **config: object
) -> Iterator[dg.RunRequest | dg.SkipReason]:
    day = context.scheduled_execution_time.date().isoformat()
    catalog = lakehouse.catalog()
    existing = [table for table in MANAGED_TABLES if catalog.table_exists(table)]
    if not existing:
        yield dg.SkipReason("no managed table exists yet")
    for table in existing:
        yield maintenance_run(job_op, table, run_key=f"{job_op} {table} {day}", **config)

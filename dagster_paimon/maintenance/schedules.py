"""When maintenance jobs run by the clock: one run for each table that exists."""
# Annotations are not postponed here: Dagster looks at the type of `context` itself.

from collections.abc import Iterator

import dagster as dg

from dagster_paimon.maintenance.compaction import compact_table
from dagster_paimon.maintenance.expiry import expire_table
from dagster_paimon.maintenance.index_rewrite import rewrite_index_table
from dagster_paimon.maintenance.orphans import clean_table
from dagster_paimon.maintenance.requests import maintenance_run
from dagster_paimon.resources.lakehouse import LakehouseCatalog
from dagster_paimon.tables.selection import TableNames, TableSelection


def maintenance_schedules(tables: TableNames = "*") -> tuple[dg.ScheduleDefinition, ...]:
    """Nightly compaction and expiry, weekly cleaning and index rewrite. All are stopped until switched on.

    Example::

        dg.Definitions(jobs=maintenance_jobs(), schedules=maintenance_schedules(["shop.*", "ods.orders"]))
    """
    selected = TableSelection.of(tables)
    return (
        _each_table(selected, "nightly_compaction", compact_table, "compact", "0 3 * * *", "Compacts every table."),
        _each_table(selected, "nightly_expiry", expire_table, "expire", "0 4 * * *", "Expires old snapshots."),
        _each_table(selected, "weekly_cleaning", clean_table, "clean", "0 5 * * 0", "Deletes orphan files."),
        _each_table(
            selected,
            "weekly_index_rewrite",
            rewrite_index_table,
            "rewrite_index",
            "0 2 * * 6",
            "Gives all data files their declared indexes.",
        ),
    )


def _each_table(
    tables: TableSelection, name: str, job: dg.JobDefinition, op: str, cron: str, description: str
) -> dg.ScheduleDefinition:
    @dg.schedule(name=name, job_name=job.name, cron_schedule=cron, description=description)
    def schedule(
        context: dg.ScheduleEvaluationContext, lakehouse: LakehouseCatalog
    ) -> Iterator[dg.RunRequest | dg.SkipReason]:
        day = context.scheduled_execution_time.date().isoformat()
        existing = tables.existing(lakehouse.catalog())
        if not existing:
            yield dg.SkipReason(f"no table of {tables} exists yet")
        for table in existing:
            yield maintenance_run(op, table, run_key=f"{op} {table} {day}")

    return schedule

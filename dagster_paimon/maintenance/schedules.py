"""Schedules of maintenance jobs: one run for all existing tables. Times are in UTC."""
# No postponed annotations here: Dagster inspects the type of `context`.

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Final

import dagster as dg

from dagster_paimon.maintenance.index_rewrite import REWRITE_INDEX
from dagster_paimon.maintenance.kinds import Maintenance
from dagster_paimon.maintenance.maintain import MAINTAIN
from dagster_paimon.maintenance.orphans import CLEAN
from dagster_paimon.maintenance.requests import maintenance_run_of_all
from dagster_paimon.maintenance.statistics import HEALTH
from dagster_paimon.maintenance.tags import CREATE_TAG
from dagster_paimon.resources.lakehouse import LakehouseCatalog
from dagster_paimon.tables.selection import TableNames, TableSelection
from table_format.engine.support import arguments

DAILY_TAG: Final = "daily-{day}"
"""The name of the tag that ``daily_tag`` creates."""


def maintenance_schedules(
    tables: TableNames = "*", *, tag_retained_days: int = 30, on_spark: bool = True
) -> tuple[dg.ScheduleDefinition, ...]:
    """Return the schedules of a lakehouse. Each launches one run for all tables. All are stopped by default.

    ``nightly_maintenance`` does the work that is due, ``hourly_health`` measures the tables that have changed,
    ``daily_tag`` keeps a state of each day for ``tag_retained_days``, ``weekly_orphans`` reports orphan files without
    deleting them, ``weekly_index_rewrite`` updates the indexes of all files. Heavy work runs in Spark tasks unless
    ``on_spark`` is false. Pass the same tables to ``maintenance_jobs``.

    Example::

        tables = ["shop.*", "ods.orders"]
        dg.Definitions(jobs=maintenance_jobs(tables), schedules=maintenance_schedules(tables))
    """
    selected = TableSelection.of(tables)
    arguments.whole_number(tag_retained_days, "tag_retained_days", minimum=1)
    arguments.flag(on_spark, "on_spark")

    def fixed(**config: object) -> Callable[[datetime], dict[str, object]]:
        return lambda _: config

    def daily_tag(at: datetime) -> dict[str, object]:
        name = DAILY_TAG.format(day=at.date().isoformat())
        return {"name": name, "retained_hours": 24.0 * tag_retained_days, "skip_empty": True, "keep_existing": True}

    return (
        _schedule(selected, "nightly_maintenance", MAINTAIN, "0 3 * * *", fixed(on_spark=on_spark)),
        _schedule(selected, "hourly_health", HEALTH, "0 * * * *", fixed(skip_unchanged=True)),
        _schedule(selected, "daily_tag", CREATE_TAG, "30 0 * * *", daily_tag),
        _schedule(selected, "weekly_orphans", CLEAN, "0 5 * * 0", fixed(dry_run=True)),
        _schedule(selected, "weekly_index_rewrite", REWRITE_INDEX, "0 2 * * 6", fixed(on_spark=on_spark)),
    )


def _schedule(
    tables: TableSelection,
    name: str,
    kind: Maintenance[Any],
    cron: str,
    config_at: Callable[[datetime], dict[str, object]],
) -> dg.ScheduleDefinition:
    description = f"{kind.description} One run for {tables}."

    @dg.schedule(name=name, job_name=kind.job, cron_schedule=cron, description=description)
    def schedule(
        context: dg.ScheduleEvaluationContext, lakehouse: LakehouseCatalog
    ) -> Iterator[dg.RunRequest | dg.SkipReason]:
        at = context.scheduled_execution_time
        existing = tables.existing(lakehouse.catalog())
        if not existing:
            yield dg.SkipReason(f"no table of {tables} exists yet")
            return
        run_key = f"{name} {at.isoformat()}"
        # A table that is dropped while the run waits must not keep it from the others.
        yield maintenance_run_of_all(kind.op, existing, run_key=run_key, skip_missing=True, **config_at(at))

    return schedule

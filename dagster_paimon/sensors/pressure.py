"""Requests a compaction if one is due by the table options, and again after a failed run."""
# No postponed annotations here: Dagster inspects the type of `context`.

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

import dagster as dg

from dagster_paimon.maintenance.requests import maintenance_run
from dagster_paimon.resources.lakehouse import LakehouseCatalog
from dagster_paimon.sensors.arguments import check_age
from dagster_paimon.sensors.requested_runs import now_ms, position_of
from dagster_paimon.sensors.watched_tables import (
    Watched,
    fingerprint_of,
    requests_for_tables,
    unused_run_key,
)
from dagster_paimon.tables.partition_directories import specs_of_directories
from dagster_paimon.tables.selection import TableNames, TableSelection
from table_format import DueWork, Table, Upkeep

LOOK_AGAIN_MS: Final = 600_000
"""How often a table without new writes is checked: a compaction may become due as files get older."""


def compaction_pressure_sensor(
    tables: TableNames = "*",
    *,
    max_level0_age: timedelta | None = None,
    name: str = "compaction_pressure",
    minimum_interval_seconds: int = 60,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.STOPPED,
) -> dg.SensorDefinition:
    """Return a sensor that requests ``compact_table`` if a compaction is due.

    The options of each table decide: the sorted runs of a bucket (``num-sorted-run.compaction-trigger``), small files
    of an append table (``compaction.min.file-num``), rows that become visible only after a compaction, and the
    options for time and size. With ``max_level0_age``, a full compaction is also due if a file has been on level 0
    for longer.
    """
    selected = TableSelection.of(tables)
    if max_level0_age is not None:
        check_age(max_level0_age, "max_level0_age")
    age_ms = None if max_level0_age is None else int(max_level0_age.total_seconds() * 1000)

    @dg.sensor(
        name=name,
        job_name="compact_table",
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=default_status,
        description=f"Requests a compaction of tables among {selected} if one is due by their options.",
    )
    def sensor(
        context: dg.SensorEvaluationContext, lakehouse: LakehouseCatalog
    ) -> Iterator[dg.RunRequest | dg.SkipReason]:
        """Check the tables that have changed since the last tick, and those whose run has failed."""

        def decide(table_name: str, table: Table, before: Watched) -> tuple[Watched, dg.RunRequest | None]:
            if not _is_looked_at(before, table):
                return before, None
            due = [w for w in table.due_upkeep(max_level0_age_ms=age_ms) if w.kind is Upkeep.COMPACT]
            if due:
                context.log.info("%s: %s", table_name, "; ".join(work.reason for work in due))
            return _decided(context, table_name, table, before, due)

        yield from requests_for_tables(
            context, lakehouse, selected, decide, work="compaction", otherwise="no compaction is due"
        )

    return sensor


def _is_looked_at(watched: Watched, table: Table) -> bool:
    if watched.is_left_alone:
        return False
    return watched.state != fingerprint_of(table) or now_ms() - watched.looked_ms >= LOOK_AGAIN_MS


def _decided(
    context: dg.SensorEvaluationContext, name: str, table: Table, watched: Watched, due: Sequence[DueWork]
) -> tuple[Watched, dg.RunRequest | None]:
    state, now = fingerprint_of(table), now_ms()
    looked = replace(watched, state=state, looked_ms=now)
    if not due:
        return looked, None
    # A state that is checked again because time has passed gets a separate key.
    again = f" at {position_of(context)}" if watched.state == state else ""
    run_key = unused_run_key(context, f"pressure {name} {state}{again}", watched)
    full = all(work.full for work in due)
    partitions = specs_of_directories(table, (text for work in due for text in work.partitions)) if full else []
    request = maintenance_run(
        "compact", name, run_key=run_key, full=full, **({"partitions": partitions} if partitions else {})
    )
    return replace(looked, run_key=run_key, requested_ms=now), request

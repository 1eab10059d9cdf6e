"""Asks for a compaction where sorted runs pile up, table by table, once for each snapshot."""
# Annotations are not postponed here: Dagster looks at the type of `context` itself.

import json
from collections.abc import Iterator
from typing import Final

import dagster as dg

from dagster_paimon.maintenance.requests import maintenance_run
from dagster_paimon.reporting.metadata import snapshot_fingerprint
from dagster_paimon.resources.lakehouse import LakehouseCatalog
from dagster_paimon.tables.measure import measure
from dagster_paimon.tables.selection import TableNames, TableSelection
from table_format.table.table import Table

TOO_MANY_SORTED_RUNS: Final = 8
"""Sorted runs of one bucket from which a reader merges more than it should."""


def compaction_pressure_sensor(tables: TableNames = "*", *, name: str = "compaction_pressure") -> dg.SensorDefinition:
    """A sensor that requests ``compact_table`` where a bucket has too many sorted runs, or rows not visible yet."""
    selected = TableSelection.of(tables)

    @dg.sensor(
        name=name,
        job_name="compact_table",
        minimum_interval_seconds=60,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description=f"Requests a compaction where a bucket has {TOO_MANY_SORTED_RUNS} sorted runs, or unseen rows.",
    )
    def sensor(
        context: dg.SensorEvaluationContext, lakehouse: LakehouseCatalog
    ) -> Iterator[dg.RunRequest | dg.SkipReason]:
        """Measure the tables that have changed since the last tick."""
        seen: dict[str, str] = json.loads(context.cursor or "{}")
        catalog = lakehouse.catalog()
        pressed = 0
        for table_name in selected.existing(catalog):
            table = lakehouse.table(table_name)
            fingerprint = fingerprint_of(table)
            if seen.get(table_name) == fingerprint:
                continue
            seen[table_name] = fingerprint
            health = measure(table.facts)
            unseen = health.level0_files if table.options.skips_level_0 else 0
            if table.schema.is_primary_key_table and (health.max_sorted_runs >= TOO_MANY_SORTED_RUNS or unseen):
                pressed += 1
                context.log.info("%s has %s sorted runs in a bucket", table_name, health.max_sorted_runs)
                if unseen:
                    context.log.info("%s has %s files that readers do not see before a compaction", table_name, unseen)
                yield maintenance_run("compact", table_name, run_key=f"pressure {table_name} {fingerprint}", full=False)
        context.update_cursor(json.dumps(seen))
        if not pressed:
            yield dg.SkipReason(f"no bucket with {TOO_MANY_SORTED_RUNS} new sorted runs")

    return sensor


def fingerprint_of(table: Table) -> str:
    """The latest snapshot. An id alone comes again after a rollback, and a run key must not."""
    latest = table.latest_snapshot()
    return "none" if latest is None else f"{latest.id}-{snapshot_fingerprint(latest)[:8]}"

"""Asks for a compaction where sorted runs pile up, table by table, once for each snapshot."""
# Annotations are not postponed here: Dagster looks at the type of `context` itself.

import json
from collections.abc import Iterator
from typing import Final

import dagster as dg

from assets import MANAGED_TABLES
from jobs.maintenance import compact_table, maintenance_run
from resources.lakehouse import LakehouseCatalog
from resources.metadata import snapshot_fingerprint
from resources.tables import measure
from table_format.table.table import Table

TOO_MANY_SORTED_RUNS: Final = 8
"""Sorted runs of one bucket from which a reader merges more than it should."""


@dg.sensor(
    job=compact_table,
    minimum_interval_seconds=60,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description=f"Requests a compaction where a bucket has {TOO_MANY_SORTED_RUNS} sorted runs or more, or unseen rows.",
)
def compaction_pressure(
    context: dg.SensorEvaluationContext, lakehouse: LakehouseCatalog
) -> Iterator[dg.RunRequest | dg.SkipReason]:
    """Measure the tables that have changed since the last tick."""
    seen: dict[str, str] = json.loads(context.cursor or "{}")
    catalog = lakehouse.catalog()
    pressed = 0
    for name in MANAGED_TABLES:
        if not catalog.table_exists(name):
            continue
        table = lakehouse.table(name)
        fingerprint = fingerprint_of(table)
        if seen.get(name) == fingerprint:
            continue
        seen[name] = fingerprint
        health = measure(table.facts)
        unseen = health.level0_files if table.options.skips_level_0 else 0
        if table.schema.is_primary_key_table and (health.max_sorted_runs >= TOO_MANY_SORTED_RUNS or unseen):
            pressed += 1
            context.log.info("%s has %s sorted runs in a bucket", name, health.max_sorted_runs)
            if unseen:
                context.log.info("%s has %s files that readers do not see before a compaction", name, unseen)
            yield maintenance_run("compact", name, run_key=f"pressure {name} {fingerprint}", full=False)
    context.update_cursor(json.dumps(seen))
    if not pressed:
        yield dg.SkipReason(f"no bucket with {TOO_MANY_SORTED_RUNS} new sorted runs")


def fingerprint_of(table: Table) -> str:
    """The latest snapshot. An id alone comes again after a rollback, and a run key must not."""
    latest = table.latest_snapshot()
    return "none" if latest is None else f"{latest.id}-{snapshot_fingerprint(latest)[:8]}"

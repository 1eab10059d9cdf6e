"""Asks for a rewrite of indexes where files have other indexes than their table declares, once for each change."""
# Annotations are not postponed here: Dagster looks at the type of `context` itself.

import json
from collections.abc import Iterator

import dagster as dg

from assets import MANAGED_TABLES
from jobs.file_indexes import covered, rewrite_index_table
from jobs.maintenance import maintenance_run
from resources.lakehouse import LakehouseCatalog
from sensors.compaction import fingerprint_of
from table_format.table.upkeep.declared_indexes import index_coverage


@dg.sensor(
    job=rewrite_index_table,
    minimum_interval_seconds=300,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="Requests a rewrite of indexes where files lack the indexes that their table declares.",
)
def missing_indexes(
    context: dg.SensorEvaluationContext, lakehouse: LakehouseCatalog
) -> Iterator[dg.RunRequest | dg.SkipReason]:
    """Look at the tables whose snapshot or schema has changed since the last tick."""
    seen: dict[str, str] = json.loads(context.cursor or "{}")
    catalog = lakehouse.catalog()
    lacking = 0
    for name in MANAGED_TABLES:
        if not catalog.table_exists(name):
            continue
        table = lakehouse.table(name)
        # An ALTER of the options makes a schema and no snapshot.
        state = f"{fingerprint_of(table)}-schema-{table.schema.id}"
        if seen.get(name) == state:
            continue
        seen[name] = state
        coverage = index_coverage(table.facts)
        if coverage.is_complete:
            continue
        lacking += 1
        context.log.info("%s: %s", name, covered(coverage))
        for partition, files in sorted(coverage.differing.items()):
            context.log.info("%s: %s files of %s", name, files, partition or "the table")
        yield maintenance_run("rewrite_index", name, run_key=f"indexes {name} {state}")
    context.update_cursor(json.dumps(seen))
    if not lacking:
        yield dg.SkipReason("no table that has changed has files without their declared indexes")

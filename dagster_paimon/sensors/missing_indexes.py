"""Asks for a rewrite of indexes where files have other indexes than their table declares, once for each change."""
# Annotations are not postponed here: Dagster looks at the type of `context` itself.

import json
from collections.abc import Iterator

import dagster as dg

from dagster_paimon.maintenance.index_rewrite import covered
from dagster_paimon.maintenance.requests import maintenance_run
from dagster_paimon.resources.lakehouse import LakehouseCatalog
from dagster_paimon.sensors.pressure import fingerprint_of
from dagster_paimon.tables.selection import TableNames, TableSelection
from table_format.table.upkeep.declared_indexes import index_coverage


def missing_indexes_sensor(tables: TableNames = "*", *, name: str = "missing_indexes") -> dg.SensorDefinition:
    """A sensor that requests ``rewrite_index_table`` for tables whose files lack indexes that the table declares."""
    selected = TableSelection.of(tables)

    @dg.sensor(
        name=name,
        job_name="rewrite_index_table",
        minimum_interval_seconds=300,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="Requests a rewrite of indexes where files lack the indexes that their table declares.",
    )
    def sensor(
        context: dg.SensorEvaluationContext, lakehouse: LakehouseCatalog
    ) -> Iterator[dg.RunRequest | dg.SkipReason]:
        """Look at the tables whose snapshot or schema has changed since the last tick."""
        seen: dict[str, str] = json.loads(context.cursor or "{}")
        catalog = lakehouse.catalog()
        lacking = 0
        for table_name in selected.existing(catalog):
            table = lakehouse.table(table_name)
            # An ALTER of the options makes a schema and no snapshot.
            state = f"{fingerprint_of(table)}-schema-{table.schema.id}"
            if seen.get(table_name) == state:
                continue
            seen[table_name] = state
            coverage = index_coverage(table.facts)
            if coverage.is_complete:
                continue
            lacking += 1
            context.log.info("%s: %s", table_name, covered(coverage))
            for partition, files in sorted(coverage.differing.items()):
                context.log.info("%s: %s files of %s", table_name, files, partition or "the table")
            yield maintenance_run("rewrite_index", table_name, run_key=f"indexes {table_name} {state}")
        context.update_cursor(json.dumps(seen))
        if not lacking:
            yield dg.SkipReason("no table that has changed has files without their declared indexes")

    return sensor

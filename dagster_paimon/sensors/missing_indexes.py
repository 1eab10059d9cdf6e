"""Requests an index rewrite if files have other indexes than their table declares, and again after a failure."""
# No postponed annotations here: Dagster inspects the type of `context`.

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

import dagster as dg

from dagster_paimon.maintenance.index_rewrite import covered
from dagster_paimon.maintenance.requests import maintenance_run
from dagster_paimon.resources.lakehouse import LakehouseCatalog
from dagster_paimon.sensors.requested_runs import now_ms
from dagster_paimon.sensors.watched_tables import (
    Watched,
    fingerprint_of,
    requests_for_tables,
    unused_run_key,
)
from dagster_paimon.tables.selection import TableNames, TableSelection
from table_format import Table
from table_format.counted import counted
from table_format.engine import index_coverage

_PARTITIONS_SHOWN: Final = 20


def missing_indexes_sensor(tables: TableNames = "*", *, name: str = "missing_indexes") -> dg.SensorDefinition:
    """Return a sensor that requests ``rewrite_index_table`` for tables whose files lack declared indexes."""
    selected = TableSelection.of(tables)

    @dg.sensor(
        name=name,
        job_name="rewrite_index_table",
        minimum_interval_seconds=300,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="Requests a rewrite of indexes if files lack the indexes that their table declares.",
    )
    def sensor(
        context: dg.SensorEvaluationContext, lakehouse: LakehouseCatalog
    ) -> Iterator[dg.RunRequest | dg.SkipReason]:
        """Check the tables whose snapshot or schema has changed since the last tick, and those whose run has failed."""
        yield from requests_for_tables(
            context,
            lakehouse,
            selected,
            partial(_decide, context),
            work="rewrite of indexes",
            otherwise="no changed table has files without declared indexes",
        )

    return sensor


def _decide(
    context: dg.SensorEvaluationContext, name: str, table: Table, before: Watched
) -> tuple[Watched, dg.RunRequest | None]:
    # An ALTER of the options creates a schema but no snapshot.
    state = f"{fingerprint_of(table)}-schema-{table.schema.id}"
    if before.is_left_alone or before.state == state:
        return before, None
    checked = replace(before, state=state)
    if _is_complete(context, name, table):
        return checked, None
    run_key = unused_run_key(context, f"indexes {name} {state}", before)
    requested = replace(checked, run_key=run_key, requested_ms=now_ms())
    return requested, maintenance_run("rewrite_index", name, run_key=run_key)


def _is_complete(context: dg.SensorEvaluationContext, name: str, table: Table) -> bool:
    """Return whether all files have the declared indexes. Log those that do not."""
    coverage = index_coverage(table.facts)
    if not coverage.is_complete:
        context.log.info("%s: %s", name, covered(coverage))
        differing = sorted(coverage.differing.items())
        for partition, files in differing[:_PARTITIONS_SHOWN]:
            context.log.info("%s: %s of %s", name, counted(files, "file"), partition or "the table")
        if len(differing) > _PARTITIONS_SHOWN:
            more = counted(len(differing) - _PARTITIONS_SHOWN, "more partition")
            context.log.info("%s: files of %s", name, more)
    return coverage.is_complete

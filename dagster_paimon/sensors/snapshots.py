"""Every snapshot that others commit to an external table becomes a materialization of its asset.

Only metadata is read, by the pure library: a tick takes milliseconds and never starts Spark.
"""
# Annotations are not postponed here: Dagster looks at the type of `context` itself.

from typing import Final

import dagster as dg

from dagster_paimon.reporting.metadata import changelog_rows, data_version
from dagster_paimon.resources.lakehouse import LakehouseCatalog, asset_key
from dagster_paimon.sensors.cursor import NewSnapshots, Trail, decode_cursor, encode_cursor, follow
from dagster_paimon.tables.selection import TableNames, TableSelection
from table_format.errors import TableNotFound
from table_format.model.snapshot import Snapshot

EVENTS_PER_TICK: Final = 100


def snapshot_sensor(tables: TableNames, *, name: str = "external_snapshots") -> dg.SensorDefinition:
    """A sensor that reports each snapshot that others commit to the tables as a materialization of their assets."""
    selected = TableSelection.of(tables)

    @dg.sensor(
        name=name,
        minimum_interval_seconds=10,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Reports every new snapshot of the tables that others write, and rollbacks of them.",
    )
    def sensor(context: dg.SensorEvaluationContext, lakehouse: LakehouseCatalog) -> dg.SensorResult:
        """Follow each external table from where the cursor left it."""
        trails = decode_cursor(context.cursor)
        events: list[dg.AssetMaterialization] = []
        notes: list[str] = []
        for table in selected.names(lakehouse.catalog()):
            new = _new_snapshots(lakehouse, table, trails.get(table, ()), limit=EVENTS_PER_TICK - len(events))
            if new is None:
                notes.append(f"{table} does not exist")
                continue
            trails[table] = new.trail
            events += [_event(table, snapshot, new) for snapshot in new.snapshots]
            if new.rolled_back_from is not None:
                context.log.warning(
                    "%s was rolled back or created again; it was at snapshot %s", table, new.rolled_back_from
                )
            if new.missed:
                context.log.warning("%s: %s snapshots expired before they could be reported", table, new.missed)
            if not new.snapshots:
                notes.append(f"{table} has no snapshot after {new.trail[-1].id if new.trail else 0}")
        cursor = encode_cursor(trails)
        if events:
            return dg.SensorResult(asset_events=events, cursor=cursor)
        return dg.SensorResult(skip_reason=dg.SkipReason("; ".join(notes)), cursor=cursor)

    return sensor


def _new_snapshots(lakehouse: LakehouseCatalog, table: str, trail: Trail, *, limit: int) -> NewSnapshots | None:
    try:
        found = lakehouse.table(table)
    except TableNotFound:
        return None
    return follow(trail, found.facts.snapshots, limit=limit)


def _event(table: str, snapshot: Snapshot, new: NewSnapshots) -> dg.AssetMaterialization:
    return dg.AssetMaterialization(
        asset_key=asset_key(table),
        description=f"snapshot {snapshot.id}, {snapshot.commit_kind} by {snapshot.commit_user}",
        metadata={
            "paimon/snapshot_id": snapshot.id,
            "paimon/schema_id": snapshot.schema_id,
            "paimon/commit_kind": snapshot.commit_kind.value,
            "paimon/commit_user": snapshot.commit_user,
            "paimon/committed": dg.MetadataValue.timestamp(snapshot.time_millis / 1000),
            "paimon/physical_rows": snapshot.total_record_count or 0,
            "paimon/added_rows": snapshot.delta_record_count or 0,
            **changelog_rows([snapshot]),
            **({"paimon/rolled_back_from": new.rolled_back_from} if new.rolled_back_from is not None else {}),
        },
        tags={"dagster/data_version": data_version(snapshot).value},
    )

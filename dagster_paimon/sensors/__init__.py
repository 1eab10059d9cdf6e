"""Sensors on the snapshots of tables: external commits, due maintenance, and partitions to recompute."""

from __future__ import annotations

from dagster_paimon.sensors.changed_partitions import changed_partitions_sensor
from dagster_paimon.sensors.changelog_ready import changelog_ready_sensor
from dagster_paimon.sensors.failed_runs import run_failure_cleanup
from dagster_paimon.sensors.followed_column import PartitionColumn
from dagster_paimon.sensors.freshness import freshness_sensor
from dagster_paimon.sensors.missing_indexes import missing_indexes_sensor
from dagster_paimon.sensors.new_partitions import new_partitions_sensor
from dagster_paimon.sensors.pressure import compaction_pressure_sensor
from dagster_paimon.sensors.snapshots import snapshot_sensor
from dagster_paimon.sensors.stale_tables import stale_tables_sensor

__all__ = [
    "PartitionColumn",
    "changed_partitions_sensor",
    "changelog_ready_sensor",
    "compaction_pressure_sensor",
    "freshness_sensor",
    "missing_indexes_sensor",
    "new_partitions_sensor",
    "run_failure_cleanup",
    "snapshot_sensor",
    "stale_tables_sensor",
]

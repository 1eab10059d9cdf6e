"""Sensors: snapshots that others commit, tables that need compaction, and files that lack indexes."""

from __future__ import annotations

from dagster_paimon.sensors.changed_partitions import changed_partitions_sensor
from dagster_paimon.sensors.followed_column import PartitionColumn
from dagster_paimon.sensors.missing_indexes import missing_indexes_sensor
from dagster_paimon.sensors.pressure import compaction_pressure_sensor
from dagster_paimon.sensors.snapshots import snapshot_sensor

__all__ = [
    "PartitionColumn",
    "changed_partitions_sensor",
    "compaction_pressure_sensor",
    "missing_indexes_sensor",
    "snapshot_sensor",
]

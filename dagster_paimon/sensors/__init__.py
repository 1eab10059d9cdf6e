"""Sensors: snapshots that others commit, tables that need compaction, and files that lack indexes."""

from __future__ import annotations

from dagster_paimon.sensors.missing_indexes import missing_indexes_sensor
from dagster_paimon.sensors.pressure import compaction_pressure_sensor
from dagster_paimon.sensors.snapshots import snapshot_sensor

__all__ = ["compaction_pressure_sensor", "missing_indexes_sensor", "snapshot_sensor"]

"""Sensors of the shop: snapshots that others commit, tables that need compaction, and files that lack indexes."""

from __future__ import annotations

from typing import Final

from assets import MANAGED_TABLES
from assets.external import EXTERNAL_TABLES
from dagster_paimon import compaction_pressure_sensor, missing_indexes_sensor, snapshot_sensor

external_snapshots: Final = snapshot_sensor(EXTERNAL_TABLES)
compaction_pressure: Final = compaction_pressure_sensor(MANAGED_TABLES)
missing_indexes: Final = missing_indexes_sensor(MANAGED_TABLES)

all_sensors: Final = (external_snapshots, compaction_pressure, missing_indexes)

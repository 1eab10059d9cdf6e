"""Sensors: snapshots that others commit, tables that want compaction, and files that lack indexes."""

from __future__ import annotations

from typing import Final

from sensors.compaction import compaction_pressure
from sensors.file_indexes import missing_indexes
from sensors.snapshots import external_snapshots

all_sensors: Final = (external_snapshots, compaction_pressure, missing_indexes)

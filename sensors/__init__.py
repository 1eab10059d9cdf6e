"""Sensors: snapshots that others commit, and tables that want compaction."""

from __future__ import annotations

from typing import Final

from sensors.compaction import compaction_pressure
from sensors.snapshots import external_snapshots

all_sensors: Final = (external_snapshots, compaction_pressure)

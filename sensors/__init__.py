"""Sensors of the shop: external commits, due maintenance, partitions to recompute, and cleanup after failed runs."""

from __future__ import annotations

from typing import Final

import dagster as dg

from assets import MANAGED_TABLES
from assets.external import EXTERNAL_TABLES
from assets.mart import REVENUE_COLUMNS, REVENUE_MAX_AGE
from dagster_paimon import (
    PartitionColumn,
    changed_partitions_sensor,
    compaction_pressure_sensor,
    freshness_sensor,
    missing_indexes_sensor,
    run_failure_cleanup,
    snapshot_sensor,
)

_RUNNING: Final = dg.DefaultSensorStatus.RUNNING

external_snapshots: Final = snapshot_sensor(EXTERNAL_TABLES)
foreign_commits: Final = snapshot_sensor(MANAGED_TABLES, name="foreign_commits")
revenue_of_changed_days: Final = changed_partitions_sensor(
    "mart/daily_revenue",
    PartitionColumn("dwd.orders", "order_date", watched=REVENUE_COLUMNS),
    name="revenue_of_changed_days",
    default_status=_RUNNING,
)
revenue_freshness: Final = freshness_sensor(
    "mart.daily_revenue", allowed=REVENUE_MAX_AGE, name="revenue_freshness", default_status=_RUNNING
)
# Only runs of this instance write to the tables of the shop.
failed_run_cleanup: Final = run_failure_cleanup(MANAGED_TABLES, only_dagster_writes=True, default_status=_RUNNING)
compaction_pressure: Final = compaction_pressure_sensor(MANAGED_TABLES)
missing_indexes: Final = missing_indexes_sensor(MANAGED_TABLES)

all_sensors: Final = (
    external_snapshots,
    foreign_commits,
    revenue_of_changed_days,
    revenue_freshness,
    failed_run_cleanup,
    compaction_pressure,
    missing_indexes,
)

"""Apache Paimon tables in Dagster: assets that are tables, their maintenance as jobs, and sensors on their snapshots.

Importing this package starts no JVM and does not import pyspark.

Example::

    import dagster as dg
    from dagster_paimon import LakehouseCatalog, PaimonIOManager, SparkResource, maintenance_jobs, snapshot_sensor

    lakehouse, spark = LakehouseCatalog(warehouse="/data/warehouse"), SparkResource()
    defs = dg.Definitions(
        assets=[...],
        jobs=maintenance_jobs(),
        sensors=[snapshot_sensor("ext.*")],
        resources={
            "lakehouse": lakehouse,
            "spark": spark,
            "paimon_io": PaimonIOManager(lakehouse=lakehouse, spark=spark),
        },
    )
"""

from __future__ import annotations

# ruff: noqa: E402
from table_format.extras import require

require("dagster")  # otherwise its modules would only report a missing module

from dagster_paimon.checks import TableCheck, table_checks
from dagster_paimon.checks.audits import branch_audit
from dagster_paimon.components import (
    PaimonChecksComponent,
    PaimonLakehouseComponent,
    PaimonMaintenanceComponent,
    PaimonMaterializedTablesComponent,
    PaimonSensorsComponent,
)
from dagster_paimon.io.changes import Changes, changes_since_last_run
from dagster_paimon.io.evolution import SchemaEvolution
from dagster_paimon.io.frames import FrameType, SparkFrame
from dagster_paimon.io.io_manager import PaimonIOManager
from dagster_paimon.io.materialized_assets import materialized_table_assets
from dagster_paimon.io.publishing import published_table
from dagster_paimon.io.spec import EmptyPartitions, WriteMode
from dagster_paimon.maintenance.jobs import maintenance_jobs
from dagster_paimon.maintenance.links import job_links
from dagster_paimon.maintenance.schedules import maintenance_schedules
from dagster_paimon.resources.lakehouse import LakehouseCatalog
from dagster_paimon.resources.retries import RetryUnlessTerminated
from dagster_paimon.resources.spark import SparkMode, SparkResource
from dagster_paimon.sensors import (
    PartitionColumn,
    changed_partitions_sensor,
    changelog_ready_sensor,
    compaction_pressure_sensor,
    freshness_sensor,
    missing_indexes_sensor,
    new_partitions_sensor,
    run_failure_cleanup,
    snapshot_sensor,
    stale_tables_sensor,
)
from dagster_paimon.tables.freshness import Freshness, sources_changed

__all__ = [
    "Changes",
    "EmptyPartitions",
    "FrameType",
    "Freshness",
    "LakehouseCatalog",
    "PaimonChecksComponent",
    "PaimonIOManager",
    "PaimonLakehouseComponent",
    "PaimonMaintenanceComponent",
    "PaimonMaterializedTablesComponent",
    "PaimonSensorsComponent",
    "PartitionColumn",
    "RetryUnlessTerminated",
    "SchemaEvolution",
    "SparkFrame",
    "SparkMode",
    "SparkResource",
    "TableCheck",
    "WriteMode",
    "branch_audit",
    "changed_partitions_sensor",
    "changelog_ready_sensor",
    "changes_since_last_run",
    "compaction_pressure_sensor",
    "freshness_sensor",
    "job_links",
    "maintenance_jobs",
    "maintenance_schedules",
    "materialized_table_assets",
    "missing_indexes_sensor",
    "new_partitions_sensor",
    "published_table",
    "run_failure_cleanup",
    "snapshot_sensor",
    "sources_changed",
    "stale_tables_sensor",
    "table_checks",
]

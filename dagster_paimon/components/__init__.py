"""Components for ``dg``: a lakehouse, its maintenance, sensors, checks and materialized tables, declared in YAML."""

from __future__ import annotations

from dagster_paimon.components.checks import PaimonChecksComponent
from dagster_paimon.components.lakehouse import PaimonLakehouseComponent
from dagster_paimon.components.maintenance import PaimonMaintenanceComponent
from dagster_paimon.components.materialized_tables import PaimonMaterializedTablesComponent
from dagster_paimon.components.sensors import PaimonSensorsComponent

__all__ = [
    "PaimonChecksComponent",
    "PaimonLakehouseComponent",
    "PaimonMaintenanceComponent",
    "PaimonMaterializedTablesComponent",
    "PaimonSensorsComponent",
]

"""Asset checks of any table, judged by the library alone and so without a JVM."""

from __future__ import annotations

from dagster_paimon.checks.tables import TableCheck, table_checks

__all__ = ["TableCheck", "table_checks"]

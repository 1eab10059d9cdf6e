"""Asset checks for any table. They use only the library and need no JVM."""

from __future__ import annotations

from dagster_paimon.checks.tables import TableCheck, table_checks

__all__ = ["TableCheck", "table_checks"]

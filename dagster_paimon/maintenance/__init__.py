"""Maintenance of tables: one job for each kind of work, for one or more tables, with reports on their assets."""

from __future__ import annotations

from dagster_paimon.maintenance.jobs import maintenance_jobs

__all__ = ["maintenance_jobs"]

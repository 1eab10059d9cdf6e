"""Maintenance of tables: each kind of work is a job for one table or several, with reports on their assets."""

from __future__ import annotations

from dagster_paimon.maintenance.jobs import maintenance_jobs

__all__ = ["maintenance_jobs"]

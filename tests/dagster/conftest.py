"""Every test has a separate project."""

from __future__ import annotations

from tests.support.dagster_migrations import commit_without_disk, load_migrations_once
from tests.support.dagster_project import project
from tests.support.spark_session import quick_workers

__all__ = ["project", "quick_workers"]

load_migrations_once()
commit_without_disk()

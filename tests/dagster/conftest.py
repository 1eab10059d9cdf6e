"""Every test has a separate project."""

from __future__ import annotations

from tests.support.dagster_migrations import load_migrations_once
from tests.support.dagster_project import project

__all__ = ["project"]

load_migrations_once()

"""Every test has a separate project."""

from __future__ import annotations

from tests.support.dagster_project import project

__all__ = ["project"]

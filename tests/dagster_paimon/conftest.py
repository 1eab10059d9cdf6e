"""Every test has a project of its own."""

from __future__ import annotations

from tests.support.dagster_project import project

__all__ = ["project"]

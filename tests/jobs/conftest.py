"""The session of a test's process may be the one of a job."""

from __future__ import annotations

from tests.support.spark_session import quick_workers

__all__ = ["quick_workers"]

"""A pytest plugin that writes the names of failed tests to the file ``FAILED_TESTS``, one on each line.

``PYTEST_ADDOPTS="-p tests.support.failed_tests" FAILED_TESTS=failed.txt pytest`` makes the file, and
``pytest @failed.txt`` runs these tests again. With pytest-xdist the process that collects the reports writes the file.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_failed: dict[str, None] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _failed[report.nodeid] = None


def pytest_sessionfinish(session: pytest.Session) -> None:
    path = os.environ.get("FAILED_TESTS")
    if path and not hasattr(session.config, "workerinput"):
        Path(path).write_text("".join(f"{name}\n" for name in _failed), encoding="utf-8")

"""A process of its own for what runs through Spark Connect: a process has one kind of session."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]


def has_connect() -> bool:
    """Whether the extra ``connect`` is installed."""
    return importlib.util.find_spec("grpc_status") is not None


needs_connect: Final = pytest.mark.skipif(not has_connect(), reason="the extra 'connect' is not installed")


def printed_through_connect(module: str, directory: Path) -> str:
    """What ``module`` prints, given a warehouse in the directory; it has to end well."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
    own = {
        "SPARK_LOCAL_DIRS": str(directory),
        "SPARK_SUBMIT_OPTS": os.environ["SPARK_SUBMIT_OPTS"],
        # The server takes a free port instead of the one port, which another test may hold.
        "SPARK_TESTING": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", module, str(directory / "warehouse")],
        cwd=ROOT,
        env=inherited | own,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    return done.stdout

"""What makes the tests quick: long files come first, so that no worker is left with one at the end; and Spark's JVMs,
which live for minutes, load their classes from an archive and do not spend half of their time on optimising code. What
the library keeps on this machine is in a directory of each run of the tests, not in the user's cache, where others
delete. Hypothesis has no deadline.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import sys
import tempfile
import threading
from pathlib import Path
from typing import Final

import pytest
from hypothesis import settings

from tests.support.shared_classes import java_options

os.environ.setdefault("SPARK_SUBMIT_OPTS", java_options())

# The tests start hundreds of processes; one that imports the library takes 1.3 s longer if it has to compile it.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

for _tool in ("pip", "uv"):  # Packages that were downloaded once stay where they are.
    os.environ.setdefault(f"{_tool.upper()}_CACHE_DIR", str(Path.home() / ".cache" / _tool))

# A shell ignores SIGINT for what it starts in the background. Dagster would then ignore SIGTERM too, and so would every
# process that a test starts and ends.
if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_CACHE: Final = tempfile.mkdtemp(prefix="lakehouse-cache-")
os.environ["XDG_CACHE_HOME"] = _CACHE
atexit.register(shutil.rmtree, _CACHE, ignore_errors=True)

# The same examples in every run, whatever else the machine does; ``--hypothesis-profile=random`` draws others.
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None)
settings.load_profile("same")

HERE: Final = Path(__file__).parent
LONG_FIRST: Final = (
    "spark/cluster/test_cluster.py",
    "jobs/test_demo.py",
    "spark/dml/test_statements.py",
    "spark/test_connect.py",
    "spark/read/test_absent_rows.py",
    "wheel/test_fifteen_minutes.py",
    "spark/stream/test_streaming_queries.py",
    "spark/sql/test_queries.py",
    "dagster_paimon/resources/test_spark_process.py",
    "spark",
    "dagster",
    "dagster_paimon",
    "wheel",
    "simulation",
    "table",
    "races",
    "corruption",
)
"""Files and directories by the time they take, the longest first; everything else follows."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """For ``--dist loadfile --no-loadscope-reorder``; tests of a file keep their order."""
    items.sort(key=lambda item: _rank(item.path))


def _rank(path: Path) -> int:
    name = path.relative_to(HERE).as_posix() if path.is_relative_to(HERE) else ""
    ranks = (rank for rank, first in enumerate(LONG_FIRST) if name == first or name.startswith(f"{first}/"))
    return next(ranks, len(LONG_FIRST))

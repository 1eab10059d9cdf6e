"""What makes the tests quick: long files come first, so that no worker is left with one at the end; one worker has all
tests on Java; and Spark's JVMs, which live for minutes, load their classes from an archive and do not spend half of
their time on optimising code. What the library keeps on this machine is in a directory of each run of the tests, not in
the user's cache, where others delete. Nothing waits for the disk. Hypothesis has no deadline. The garbage collector
leaves out what stays until the end.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from unittest.mock import patch

import pytest
from hypothesis import settings
from xdist.remote import Producer

from tests.support import long_tests
from tests.support.matrix import tries
from tests.support.one_java import OneJava
from tests.support.shared_classes import java_options

# Tests count the stages of jobs. Of a thousand stages Spark forgets the skipped ones first, even if they are new. So
# this holds for every session, also one that another test than those of Spark has started.
_REMEMBERING: Final = "-Dspark.ui.retainedJobs=100000 -Dspark.ui.retainedStages=100000"
os.environ.setdefault("SPARK_SUBMIT_OPTS", f"{java_options()} {_REMEMBERING}")

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

# No test cuts the power, so none waits for a disk. Tests of durability put their own function in this place.
patch.object(os, "fsync", lambda _handle: None).start()

# The same examples in every run, whatever else the machine does; ``--hypothesis-profile=random`` draws others.
_EXAMPLES: Final = tries(40, many=100)
settings.register_profile("same", deadline=None, derandomize=True, max_examples=_EXAMPLES)
settings.register_profile("random", deadline=None, max_examples=_EXAMPLES)
settings.load_profile("same")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare which of the long tests a run takes."""
    parser.addoption("--long", default="yes", metavar="WHICH", help="the long tests: no, yes, only, K/N or K-L/N")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose from the long tests, and put them first, for ``--dist loadfile --no-loadscope-reorder``.

    Of the others, those on Spark come first. Tests of a file keep their order. Runs after the choice by marks, so that
    shares are about equal.
    """
    taken = long_tests.chosen(items, config.getoption("long"))
    kept = set(taken)
    if len(kept) < len(items):
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = sorted(taken, key=lambda item: long_tests.rank(item.path))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneJava | None:
    """Keep the tests on Java together."""
    return OneJava(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep the garbage collector away from the modules and tests that are found: they stay until the process ends.

    Otherwise, it visits these objects more than a hundred times while the tests are found, and again in each full
    collection, which some tests ask for.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    """Give back to the garbage collector what it left out, so that the interpreter can end as usual."""
    gc.unfreeze()

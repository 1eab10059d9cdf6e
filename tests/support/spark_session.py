"""The Spark session of tests: two cores, one JVM for a run of pytest."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest

from table_format.java import default_launchers, find_java
from tests.support.shared_classes import java_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.default.parallelism": "2",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    # For each call PySpark looks for the line of its caller, and asks the JVM three times where to note it.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Dozens of workers do not import the library each.
    "spark.python.daemon.module": "table_format.spark.daemon",
    # A test looks at the error of a task, not at its repetitions.
    "spark.task.maxFailures": "1",
}

INTERPRETED = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.ui.explainMode": "simple",
}
"""Spark interprets its plans instead of compiling them, plans once, and shows little: quicker for small statements."""


def interpreting_java() -> str:
    """Options of the JVM of another process whose session interprets its plans, whatever that process sets itself."""
    return " ".join((java_options(), *(f"-D{key}={value}" for key, value in INTERPRETED.items())))


def prepare_environment() -> None:
    """Spark's Java, and this very Python in its workers."""
    os.environ["JAVA_HOME"] = str(find_java(os.environ, launchers=default_launchers()).home)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable


@contextmanager
def workers_without_archives() -> Iterator[None]:
    """A JVM that starts in this block starts PySpark's processes with ``spark_workers/sitecustomize.py``."""
    before = os.environ.get("PYTHONPATH")
    paths = (str(Path(__file__).with_name("spark_workers")), before)
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


@pytest.fixture(scope="package", autouse=True)
def quick_workers() -> Iterator[None]:
    """A resource that starts the JVM of a test's process starts that of all later sessions. So it starts it alike."""
    with workers_without_archives():
        yield


def local_session(scratch: Path, more: Mapping[str, str] = MappingProxyType({})) -> SparkSession:
    """The session, made by the first call, with these settings and more."""
    prepare_environment()
    from pyspark.sql import SparkSession

    from tests.support.known_classes import keep_known_classes

    keep_known_classes()

    builder = SparkSession.builder.master("local[2]").appName("tests")
    for key, value in {**SETTINGS, **more}.items():
        builder = builder.config(key, value)
    builder = builder.config("spark.local.dir", str(scratch)).config("spark.sql.warehouse.dir", str(scratch / "spark"))
    with workers_without_archives():
        session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session

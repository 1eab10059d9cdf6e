"""The Spark session: local by default, a cluster or a Spark Connect server by configuration.

pyspark is imported, and Java looked for, when the first session is asked for and not before.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

import dagster as dg
from pydantic import Field

from resources.java import default_launchers, find_java
from resources.progress import Log, spark_progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOGGING: Final = Path(__file__).with_name("spark_log4j2.properties")
_SAME_EVERYWHERE: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}


class SparkMode(StrEnum):
    """Where Spark runs. Dagster takes the names of the members in configuration, so they are in lower case."""

    local = "local"
    master = "master"
    connect = "connect"


class SparkResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """A Spark session, shared by all steps of a process."""

    mode: SparkMode = Field(
        default=SparkMode.local,
        description="local: a JVM of this process. master: a cluster named by `master`. connect: a server at `remote`.",
    )
    master: str = Field(default="local[*]", description="Spark master URL; modes local and master.")
    remote: str = Field(default="sc://localhost:15002", description="Spark Connect URL; mode connect.")
    driver_memory: str = Field(default="2g", description="Memory of the driver's JVM; modes local and master.")
    ui: bool = Field(default=False, description="Serve the Spark UI on a free port; its address is logged.")
    progress: bool = Field(default=True, description="Log how far Spark's tasks are every few seconds.")
    conf: dict[str, str] = Field(
        default_factory=dict,
        description="More Spark settings. They are shown here: give secrets to the cluster, or by `secret_conf`.",
    )
    secret_conf: dict[str, str] = Field(
        default_factory=dict,
        description="Spark settings whose value is read from an environment variable: setting -> NAME of the variable.",
    )

    def session(self, log: Log | None = None) -> SparkSession:
        """The session; made on first use, then shared by the whole process."""
        from pyspark.sql import SparkSession

        active = SparkSession.getActiveSession() if self.mode is not SparkMode.connect else None
        if active is not None:
            return active
        say = log or logging.getLogger(__name__).info
        say(f"starting Spark ({self.mode}: {self.remote if self.mode is SparkMode.connect else self.master}) ...")
        began = time.monotonic()
        session = self._make()
        say(f"Spark {session.version} started in {time.monotonic() - began:.0f} s")
        return session

    @contextmanager
    def following(self, log: Log, what: str) -> Iterator[SparkSession]:
        """The session, with progress lines for the Spark jobs that run inside the block."""
        session = self.session(log)
        if not self.progress:
            yield session
            return
        with spark_progress(session, log, what):
            yield session

    def settings(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Every Spark setting this resource makes, secrets included.

        Raises:
            KeyError: an environment variable named by ``secret_conf`` is not set.
        """
        settings = {**_SAME_EVERYWHERE, **self.conf, **secrets_from(self.secret_conf, environment)}
        if self.mode is SparkMode.connect:
            return settings
        cores = os.cpu_count() or 1
        return {
            "spark.driver.memory": self.driver_memory,
            "spark.ui.enabled": str(self.ui).lower(),
            "spark.ui.port": "0",
            "spark.ui.showConsoleProgress": "false",
            # A JVM per run on one machine: a shuffle of 200 tasks is all overhead.
            **({"spark.sql.shuffle.partitions": str(2 * cores)} if self.mode is SparkMode.local else {}),
            "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}",
            **settings,
        }

    def _make(self) -> SparkSession:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.appName("lakehouse")
        if self.mode is not SparkMode.connect or not self.remote.startswith("sc://"):
            # A JVM is started here, also for a Connect server of one's own: remote="local[2]".
            prepare_environment(os.environ)
        builder = builder.remote(self.remote) if self.mode is SparkMode.connect else builder.master(self.master)
        for key, value in self.settings(os.environ).items():
            builder = builder.config(key, value)
        return builder.getOrCreate()


def prepare_environment(environment: os._Environ[str] | dict[str, str]) -> None:
    """Point Spark at a usable Java and at this very Python.

    Spark's workers run ``python3`` from the path otherwise, which is another interpreter wherever the virtual
    environment is not activated (a service, an IDE, ``.venv/bin/dagster``).
    """
    environment.setdefault("PYSPARK_PYTHON", sys.executable)
    environment.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    java = find_java(environment, launchers=default_launchers())
    environment["JAVA_HOME"] = str(java.home)
    logging.getLogger(__name__).debug("Java %s at %s, found by %s", java.version, java.home, java.found_by)


def secrets_from(names: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Values of the environment variables named.

    >>> secrets_from({"s3.secret-key": "SHOP_SECRET"}, {"SHOP_SECRET": "xyz"})
    {'s3.secret-key': 'xyz'}

    Raises:
        KeyError: one of them is not set; the message names the variable, never a value.
    """
    values = {}
    for key, name in names.items():
        if name not in environment:
            message = f"'{key}' is to be read from the environment variable {name}, which is not set"
            raise KeyError(message)
        values[key] = environment[name]
    return values

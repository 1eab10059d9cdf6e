"""The Spark session: local by default, a cluster or a Spark Connect server by configuration.

pyspark is imported, and Java is located, only when the first session is requested.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Self, cast
from urllib.parse import unquote

import dagster as dg
from pydantic import Field, model_validator

from dagster_paimon.resources.progress import Log, spark_progress
from dagster_paimon.resources.secrets import (
    Guarded,
    known_secrets,
    redacted_errors,
    secrets_from,
    value_of,
    without_wire_logs,
)
from dagster_paimon.resources.spark_process import cancel_jobs_when_interrupted, forget_dead_session
from table_format.extras import require
from table_format.java import default_launchers, find_java
from table_format.secrets import SPARK_KEY_PATTERN, SPARK_TEXT_PATTERN, Secret, redact

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOGGING: Final = Path(__file__).with_name("spark_log4j2.properties")
_HADOOP: Final = "spark.hadoop."
_SAME_EVERYWHERE: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
_QUICK_WORKERS: Final = {"spark.python.daemon.module": "table_format.spark.daemon"}
_ADDRESSES: Final = {"local": "master", "master": "master", "connect": "remote"}
"""The field with the address of Spark, by mode."""
_OF_A_JVM: Final = ("master", "driver_memory", "ui")
"""The fields that describe a JVM of this process; the mode ``connect`` has none."""


class SparkMode(StrEnum):
    """Where Spark runs. The names are used in Dagster configuration, so they are in lower case."""

    local = "local"
    master = "master"
    connect = "connect"


class SparkResource(Guarded):
    """A Spark session, shared by all steps of a process."""

    may_hold_secret: ClassVar[frozenset[str]] = frozenset({"remote"})

    mode: SparkMode = Field(
        default=SparkMode.local,
        description="local: a JVM of this process. master: the cluster in `master`. connect: the server in `remote`.",
    )
    master: str = Field(default="local[*]", description="Spark master URL; modes local and master.")
    remote: str = Field(
        default="sc://localhost:15002",
        description="Spark Connect URL; mode connect. Pass a URL with a token as an EnvVar.",
    )
    driver_memory: str = Field(default="2g", description="Memory of the driver's JVM; modes local and master.")
    ui: bool = Field(
        default=False, description="Serve the Spark UI on a free port, and log its address; modes local and master."
    )
    progress: bool = Field(default=True, description="Log the progress of Spark tasks every few seconds.")
    conf: dict[str, str] = Field(
        default_factory=dict,
        description="More Spark settings. The UI shows them: set secrets in the cluster, or in `secret_conf`.",
    )
    secret_conf: dict[str, str] = Field(
        default_factory=dict,
        description="Spark settings whose value is read from an environment variable: setting -> NAME of the variable.",
    )

    @model_validator(mode="after")
    def _refuse_fields_of_other_modes(self) -> Self:
        """Refuse a field that has no effect in this mode."""
        unused = _OF_A_JVM if self.mode is SparkMode.connect else ("remote",)
        fields = type(self).model_fields
        given = [name for name in unused if getattr(self, name) != fields[name].default]
        if given:
            message = (
                f"{', '.join(given)}: no effect in mode {self.mode}, whose address is in {_ADDRESSES[self.mode]}; "
                "remove the field, or set mode"
            )
            raise ValueError(message)
        return self

    def session(self, log: Log | None = None) -> SparkSession:
        """Return the session, which is created on first use and shared by the whole process. If its JVM has died or
        its context was stopped, a new one is created.

        Raises:
            PackageMissing: pyspark is not installed; the message names the extra.
        """
        require("pyspark")
        say = log or logging.getLogger(__name__).info
        active = None if self.mode is SparkMode.connect else _active_session(say)
        if active is not None:
            cancel_jobs_when_interrupted(active)
            return active
        began = time.monotonic()
        with redacted_errors(self.known_secrets()):
            address = value_of(self.remote) if self.mode is SparkMode.connect else self.master
            say(f"starting Spark ({self.mode}: {redact(address)}) ...")
            session = self._make()
        cancel_jobs_when_interrupted(session)
        say(f"Spark {session.version} started in {time.monotonic() - began:.0f} s")
        return session

    @contextmanager
    def following(self, log: Log, what: str) -> Iterator[SparkSession]:
        """Return the session, and log the progress of Spark jobs inside the block.

        If the run is terminated, the jobs are cancelled before their files are deleted.
        """
        session = self.session(log)
        with (
            redacted_errors(self.known_secrets()),
            spark_progress(session, log, what) if self.progress else nullcontext(),
        ):
            try:
                yield session
            except (dg.DagsterExecutionInterruptedError, KeyboardInterrupt):
                log(f"{what} was interrupted: its Spark jobs are cancelled")
                raise

    def known_secrets(self) -> tuple[Secret, ...]:
        """Return the secrets of this session, which are masked everywhere."""
        settings = known_secrets(self.secret_conf, os.environ)
        url = self.remote.get_value() if isinstance(self.remote, dg.EnvVar) else self.remote
        tokens = re.findall(r";token=([^;]+)", url or "")
        return (*settings, *(Secret(form) for token in tokens for form in {token, unquote(token)}))

    def settings(self, environment: Mapping[str, str]) -> dict[str, str | Secret]:
        """Return every Spark setting of this resource. Those of ``secret_conf`` are of type ``Secret``.

        Raises:
            KeyError: an environment variable named by ``secret_conf`` is not set.
        """
        settings: dict[str, str | Secret] = {
            **_SAME_EVERYWHERE,
            **self.conf,
            **secrets_from(self.secret_conf, environment),
        }
        if self.mode is SparkMode.connect:
            return settings
        cores = os.cpu_count() or 1
        return {
            "spark.driver.memory": self.driver_memory,
            "spark.ui.enabled": str(self.ui).lower(),
            "spark.ui.port": "0",
            "spark.ui.showConsoleProgress": "false",
            # Each run has a JVM on one machine, so a shuffle with 200 tasks would be only overhead.
            **({"spark.sql.shuffle.partitions": str(2 * cores)} if self.mode is SparkMode.local else {}),
            **(_QUICK_WORKERS if self.mode is SparkMode.local and has_this_python(environment) else {}),
            "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}",
            **settings,
            **masking(self.conf),
        }

    def _make(self) -> SparkSession:
        if self.mode is SparkMode.connect:
            require("grpc")
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.appName("lakehouse")
        if self.mode is not SparkMode.connect or not is_server(value_of(self.remote)):
            # This starts a JVM, also for a local Connect server: remote="local[2]".
            prepare_environment(os.environ)
        connects = self.mode is SparkMode.connect
        builder = builder.remote(value_of(self.remote)) if connects else builder.master(self.master)
        settings = self.settings(os.environ)
        plain = {key: value for key, value in settings.items() if isinstance(value, str)}
        secret = {key: value for key, value in settings.items() if isinstance(value, Secret)}
        for key, value in plain.items():
            builder = builder.config(key, value)
        if not secret:
            return builder.getOrCreate()
        with without_wire_logs():
            return _with_secrets(builder, plain, secret, has_jvm=not connects or not is_server(value_of(self.remote)))


def _active_session(say: Log) -> SparkSession | None:
    from pyspark.sql import SparkSession

    wrong = forget_dead_session()
    if wrong is not None:
        say(f"{wrong}; a new one is created")
        return None
    return SparkSession.getActiveSession()


def prepare_environment(environment: os._Environ[str] | dict[str, str]) -> None:
    """Set the environment so that Spark uses a suitable Java and the current Python.

    Otherwise, Spark's workers run ``python3`` from the path, which is another interpreter if the virtual environment is
    not activated (a service, an IDE, ``.venv/bin/dagster``).
    """
    environment.setdefault("PYSPARK_PYTHON", sys.executable)
    environment.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    java = find_java(environment, launchers=default_launchers())
    environment["JAVA_HOME"] = str(java.home)
    logging.getLogger(__name__).debug("Java %s at %s, found by %s", java.version, java.home, java.found_by)


def is_server(remote: str) -> bool:
    """Return whether a Connect URL names an existing server, not one that this process starts."""
    return remote.startswith("sc://")


def has_this_python(environment: Mapping[str, str]) -> bool:
    """Return whether tasks of a local session run this Python, which has this library."""
    return environment.get("PYSPARK_PYTHON", sys.executable) == sys.executable


def masking(conf: Mapping[str, str]) -> dict[str, str]:
    """Return settings that make Spark mask secrets in its UI, event log and plans, with the patterns of ``conf``."""
    wanted = {
        "spark.redaction.regex": SPARK_KEY_PATTERN,
        "spark.redaction.string.regex": SPARK_TEXT_PATTERN,
        "spark.sql.redaction.options.regex": f"{SPARK_KEY_PATTERN}|url",
    }
    return {key: f"(?:{conf[key]})|{ours}" if key in conf else ours for key, ours in wanted.items()}


def _with_secrets(
    builder: SparkSession.Builder, plain: Mapping[str, str], secret: Mapping[str, Secret], *, has_jvm: bool
) -> SparkSession:
    """Create a session without secrets on a command line, and without secrets for Hadoop in Spark settings.

    pyspark starts its JVM with all settings as arguments, which every user of the machine can read. Therefore the JVM
    is started without the secrets, and gets them afterwards.
    """
    from pyspark import SparkConf, SparkContext

    for_hadoop = {}
    if has_jvm:
        SparkContext._ensure_initialized(conf=SparkConf(loadDefaults=False).setAll(list(plain.items())))
        for_hadoop = {key: value for key, value in secret.items() if key.startswith(_HADOOP)}
    for key, value in secret.items():
        if key not in for_hadoop:
            builder = builder.config(key, value.reveal())
    session = builder.getOrCreate()
    if for_hadoop:
        hadoop = cast("SparkContext", SparkContext._active_spark_context)._jsc.hadoopConfiguration()
        for key, value in for_hadoop.items():
            hadoop.set(key.removeprefix(_HADOOP), value.reveal())
    return session

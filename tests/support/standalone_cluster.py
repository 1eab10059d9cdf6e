"""A standalone Spark cluster on this machine, as processes, and Pythons for it that lack the library or everything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import venv
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pyspark

from table_format.java import default_launchers, find_java
from tests.support.shared_classes import java_options

_CLASS: Final = Path(pyspark.__file__).parent / "bin" / "spark-class"
_MASTER: Final = "org.apache.spark.deploy.master.Master"
_WORKER: Final = "org.apache.spark.deploy.worker.Worker"
_SUBMIT: Final = "org.apache.spark.deploy.SparkSubmit"
_CONNECT: Final = "org.apache.spark.sql.connect.service.SparkConnectServer"
_ADDRESS: Final = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED: Final = re.compile(r"(Successfully registered with master)")
_LISTENS: Final = re.compile(r"Spark Connect server started at: \S*:(\d+)")
_START: Final = 120.0
"""Seconds after which a process that has not said that it is ready is taken to hang; it takes two."""


def bare_python(directory: Path) -> Path:
    """An environment with all packages of this one but this project's own; its interpreter."""
    venv.create(directory, with_pip=False, symlinks=True)
    packages = _packages_of(directory)
    for package in _packages_of(Path(sys.prefix)).iterdir():
        # An editable install is a .pth file, which would lead back to the source.
        if package.suffix != ".pth" and not (packages / package.name).exists():
            (packages / package.name).symlink_to(package)
    return directory / "bin" / "python3"


def empty_python(directory: Path) -> Path:
    """An environment without packages; its interpreter."""
    venv.create(directory, with_pip=False, symlinks=True)
    return directory / "bin" / "python3"


def _packages_of(prefix: Path) -> Path:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return prefix / "lib" / version / "site-packages"


def cleaned(environment: dict[str, str], python: Path) -> dict[str, str]:
    """An environment for processes of Spark that leads to no other Python than ``python``."""
    dropped = ("SPARK", "PYSPARK", "PYTHON", "VIRTUAL_ENV")
    kept = {key: value for key, value in environment.items() if not key.startswith(dropped)}
    java = find_java(environment, launchers=default_launchers())
    return {**kept, "PATH": f"{python.parent}:{environment['PATH']}", "JAVA_HOME": str(java.home)}


class StandaloneCluster:
    """``with StandaloneCluster(directory, workers=2, python=bare) as cluster: cluster.address``.

    What the processes print and what executors leave lies below the directory.
    """

    def __init__(self, directory: Path, *, workers: int, python: Path) -> None:
        self.address = ""
        self._directory = directory
        self._workers = workers
        self._python = python
        self._running = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as starting:
            place = ["--host", "127.0.0.1", "--webui-port", "0"]
            self.address = self._start(starting, "master", _ADDRESS, _MASTER, *place, "--port", "0")
            for number in range(self._workers):
                name = f"worker{number}"
                work = ["--work-dir", str(self._directory / name / "work")]
                size = ["--cores", "1", "--memory", "1g"]
                self._start(starting, name, _REGISTERED, _WORKER, *place, *size, *work, self.address)
            self._running = starting.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._running.close()

    @contextmanager
    def connect_server(self, settings: Mapping[str, str]) -> Iterator[str]:
        """Run a Spark Connect server on the cluster; its address. Without settings, it takes all cores."""
        wanted = {"spark.connect.grpc.binding.port": "0", **settings}
        conf = [word for key, value in wanted.items() for word in ("--conf", f"{key}={value}")]
        command = ["--master", self.address, "--class", _CONNECT, *conf, "spark-internal"]
        with ExitStack() as running:
            port = self._start(running, "connect", _LISTENS, _SUBMIT, *command)
            yield f"sc://127.0.0.1:{port}"

    def _start(self, running: ExitStack, name: str, ready: re.Pattern[str], *command: str) -> str:
        """Start a process and wait until it prints what is looked for; the first group of that."""
        own = self._directory / name
        own.mkdir(parents=True)
        environment = cleaned(dict(os.environ), self._python) | {
            "SPARK_LOCAL_DIRS": str(own / "local"),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "512m",
            "SPARK_DAEMON_JAVA_OPTS": java_options(),
            "SPARK_SUBMIT_OPTS": java_options(),
        }
        process = subprocess.Popen(
            [_CLASS, *command],
            cwd=own,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        running.callback(_end, process)
        found: list[str] = []
        is_ready = threading.Event()
        reader = threading.Thread(target=_watch, args=(process, own / "log", ready, found, is_ready), daemon=True)
        reader.start()
        is_ready.wait(_START)
        assert found, f"{name} did not start:\n{(own / 'log').read_text()[-4000:]}"
        return found[0]


def _watch(
    process: subprocess.Popen[str], log: Path, ready: re.Pattern[str], found: list[str], is_ready: threading.Event
) -> None:
    """Write what a process prints to a file, until it ends."""
    assert process.stdout is not None
    with log.open("w") as file:
        for line in process.stdout:
            file.write(line)
            match = ready.search(line)
            if match is not None and not found:
                found.append(match.group(1))
                file.flush()
                is_ready.set()
    is_ready.set()


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()

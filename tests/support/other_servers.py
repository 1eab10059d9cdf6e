"""Object stores written by others, which run as processes of their own.

``python -m tests.oracle.install`` sets them up. Tests that need one are marked ``oracle``, and skipped without it.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.oracle.install import DEFAULT_DIRECTORY, GATEWAY_PROGRAM
from tests.support.s3_server import KEY, SECRET, S3Server

_DIRECTORY = Path(os.environ.get("PAIMON_ORACLE_DIR", DEFAULT_DIRECTORY))
_START_S = 60


def is_set_up(program: str) -> bool:
    """Whether a program of ``tests.oracle.install`` is there."""
    return (_DIRECTORY / program).exists()


def skip_without(program: str) -> None:
    """Skip a test that needs a program, and say so."""
    if not is_set_up(program):
        pytest.skip(f"!!!!! {program} is not set up, nothing is checked on it: python -m tests.oracle.install !!!!!")


@contextmanager
def running_gateway(directory: Path) -> Iterator[S3Server]:
    """Run Versity S3 Gateway, which keeps the objects as files below a directory and checks signatures."""
    port = _free_port()
    command: list[str | Path] = [_DIRECTORY / GATEWAY_PROGRAM, "--quiet", "--port", f"127.0.0.1:{port}"]
    command += ["posix", directory]
    with _running(command, port, {"ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET}):
        yield S3Server(port)


@contextmanager
def _running(command: Sequence[str | Path], port: int, environment: Mapping[str, str]) -> Iterator[None]:
    process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL)
    try:
        _wait(process, port)
        yield
    finally:
        process.terminate()
        process.wait(30)


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    end = time.monotonic() + _START_S
    while process.poll() is None and time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    text = f"the server does not listen on port {port}: {process.args!r}"
    raise AssertionError(text)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port

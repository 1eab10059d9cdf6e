"""Object stores written by others, which run as processes of their own.

``python -m tests.oracle.install`` sets them up. Tests that need one are marked ``oracle``, and skipped without it.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from table_format.io.azure import open_azure
from table_format.options.azure import AzureOptions
from table_format.options.declare import parse_group
from tests.oracle.install import AZURITE_PROGRAM, DEFAULT_DIRECTORY, GATEWAY_PROGRAM
from tests.support.s3_server import KEY, SECRET, S3Server

PROGRAMS = Path(os.environ.get("PAIMON_ORACLE_DIR", DEFAULT_DIRECTORY))
_START_S = 60
_ACCOUNT = "localaccount"
_ACCOUNT_KEY = b64encode(b"local-hush").decode()


def is_set_up(program: str) -> bool:
    """Whether a program of ``tests.oracle.install`` is there."""
    return (PROGRAMS / program).exists()


def skip_without(program: str) -> None:
    """Skip a test that needs a program, and say so."""
    if not is_set_up(program):
        pytest.skip(f"!!!!! {program} is not set up, nothing is checked on it: python -m tests.oracle.install !!!!!")


@contextmanager
def running_gateway(directory: Path) -> Iterator[S3Server]:
    """Run Versity S3 Gateway, which keeps the objects as files below a directory and checks signatures."""
    port = free_port()
    command: list[str | Path] = [PROGRAMS / GATEWAY_PROGRAM, "--quiet", "--port", f"127.0.0.1:{port}"]
    command += ["posix", directory]
    with running_program(command, port, {"ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET}):
        yield S3Server(port)


@dataclass(frozen=True)
class AzuriteServer:
    """A running emulator. ``options`` are those of a catalog that uses it."""

    port: int

    @property
    def options(self) -> dict[str, str]:
        return {
            "azure.endpoint": f"http://127.0.0.1:{self.port}",
            "azure.account-name": _ACCOUNT,
            "azure.account.key": _ACCOUNT_KEY,
        }

    def make_container(self, name: str) -> str:
        """Create a container and return its URI."""
        open_azure(parse_group(AzureOptions, self.options)).clients.file_system().create_dir(name)
        return f"az://{name}"


@contextmanager
def running_azurite(directory: Path) -> Iterator[AzuriteServer]:
    """Run Azurite, the emulator of Azure Storage, for blobs."""
    port = free_port()
    command = ["node", PROGRAMS / AZURITE_PROGRAM, "--silent", "--skipApiVersionCheck", "--disableTelemetry"]
    command += ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", directory]
    with running_program(command, port, {"AZURITE_ACCOUNTS": f"{_ACCOUNT}:{_ACCOUNT_KEY}"}):
        yield AzuriteServer(port)


@contextmanager
def running_program(command: Sequence[str | Path], port: int, environment: Mapping[str, str]) -> Iterator[None]:
    """Run a program until the end of the block, from when it listens on a port."""
    process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL)
    try:
        _wait(process, port)
        yield
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            # Azurite waits for connections that are kept open.
            process.kill()
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


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port

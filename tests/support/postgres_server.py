"""A server of PostgreSQL, run by a user who is not root: it refuses that one."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.other_servers import free_port

USER, PASSWORD, DATABASE = "lake", "hush-hush-lake", "catalogs"
_ACCOUNTS = ("postgres", "nobody")


@dataclass(frozen=True)
class PostgresServer:
    """A running server with an empty database."""

    port: int

    @property
    def uri(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/{DATABASE}"

    @property
    def options(self) -> dict[str, str]:
        """The options of a catalog in the database."""
        return {"metastore": "jdbc", "uri": self.uri, "jdbc.user": USER, "jdbc.password": PASSWORD}


@contextmanager
def running_postgres(directory: Path) -> Iterator[PostgresServer]:
    """Run a server whose files are in a directory. Without its programs the test is skipped, and says so."""
    programs = {name: shutil.which(name) for name in ("initdb", "postgres", "pg_ctl")}
    missing = [name for name, path in programs.items() if path is None]
    if missing:
        pytest.skip(f"!!!!! {', '.join(missing)} not found, nothing is checked on PostgreSQL: install its server !!!!!")
    as_user = _as_user(directory)
    data, port = directory / "data", free_port()
    secret = directory / "password"
    secret.write_text(PASSWORD)
    secret.chmod(0o644)
    init = ["initdb", "-D", data, "-U", USER, "-A", "scram-sha-256", f"--pwfile={secret}", "-E", "UTF8", "--no-sync"]
    _run(as_user, [*init, "--locale=C"], directory)
    settings = f"-p {port} -k {directory} -c listen_addresses=127.0.0.1 -c fsync=off -c timezone=Asia/Tokyo"
    start = ["pg_ctl", "-D", data, "-w", "-o", settings, "-l", directory / "log"]
    _run(as_user, [*start, "start"], directory)
    try:
        _create_database(port)
        yield PostgresServer(port)
    finally:
        _run(as_user, ["pg_ctl", "-D", data, "-m", "immediate", "stop"], directory)


def _as_user(directory: Path) -> Sequence[str]:
    """What runs a command as somebody else than root, who may then write to the directory."""
    if os.geteuid() != 0:
        return []
    account = next((name for name in _ACCOUNTS if _exists(name)), None)
    if account is None or shutil.which("setpriv") is None:
        pytest.skip("!!!!! PostgreSQL does not run as root, nothing is checked on it: install setpriv !!!!!")
    shutil.chown(directory, account)
    for parent in directory.parents:
        if parent.stat().st_uid == os.getuid() and not parent.stat().st_mode & 0o001 and "pytest" in str(parent):
            parent.chmod(parent.stat().st_mode | 0o011)
    return ["setpriv", f"--reuid={account}", "--clear-groups", "--regid=nogroup"]


def _exists(account: str) -> bool:
    return subprocess.run(["id", account], capture_output=True, check=False).returncode == 0


def _run(as_user: Sequence[str], command: Sequence[object], directory: Path) -> None:
    # The server keeps the output open that it inherits.
    done = subprocess.run([*as_user, *map(str, command)], cwd=directory, stdout=subprocess.DEVNULL, check=False)
    assert done.returncode == 0, f"{command} failed: {directory / 'log'}"


def _create_database(port: int) -> None:
    import psycopg

    end = time.monotonic() + 30
    while True:
        try:
            with psycopg.connect(
                host="127.0.0.1", port=port, user=USER, password=PASSWORD, dbname="postgres", autocommit=True
            ) as connection:
                connection.execute(f"CREATE DATABASE {DATABASE}")
            return
        except psycopg.OperationalError:
            if time.monotonic() > end:
                raise

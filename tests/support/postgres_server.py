"""A server of PostgreSQL, run by a user who is not root: it refuses that one."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from tests.support.other_servers import free_port
from tests.support.other_users import as_other_user

USER, PASSWORD, DATABASE = "lake", "hush-hush-lake", "catalogs"
_ACCOUNTS = ("postgres", "nobody")


@dataclass(frozen=True)
class PostgresServer:
    """A running server with an empty database."""

    port: int
    kind: ClassVar = "postgresql"
    refusal: ClassVar = 'password authentication failed for user "lake"'

    @property
    def uri(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/{DATABASE}"

    @property
    def options(self) -> dict[str, str]:
        """The options of a catalog in the database."""
        return {"metastore": "jdbc", "uri": self.uri, "jdbc.user": USER, "jdbc.password": PASSWORD}


@contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """Run a server. Without its programs the test is skipped, and says so."""
    missing = [name for name in ("initdb", "postgres", "pg_ctl") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"!!!!! {', '.join(missing)} not found, nothing is checked on PostgreSQL: install its server !!!!!")
    # Not in a directory of pytest: those of root are closed to the user who runs the server.
    directory = Path(tempfile.mkdtemp(prefix="postgres-"))
    try:
        as_user = as_other_user(directory, _ACCOUNTS, "PostgreSQL")
        data, port = directory / "data", free_port()
        (directory / "password").write_text(PASSWORD)
        (directory / "password").chmod(0o644)
        init = ["initdb", "-D", data, "-U", USER, "-A", "scram-sha-256", f"--pwfile={directory / 'password'}"]
        _run(as_user, [*init, "-E", "UTF8", "--locale=C", "--no-sync"], directory)
        # Another time zone than that of most machines.
        settings = f"-p {port} -k {directory} -c listen_addresses=127.0.0.1 -c fsync=off -c timezone=Asia/Kathmandu"
        _run(as_user, ["pg_ctl", "-D", data, "-w", "-o", settings, "-l", directory / "log", "start"], directory)
        try:
            _create_database(port)
            yield PostgresServer(port)
        finally:
            _run(as_user, ["pg_ctl", "-D", data, "-m", "immediate", "stop"], directory)
    finally:
        shutil.rmtree(directory)


def _run(as_user: Sequence[str], command: Sequence[object], directory: Path) -> None:
    # The server keeps the output open that it inherits.
    done = subprocess.run([*as_user, *map(str, command)], cwd=directory, stdout=subprocess.DEVNULL, check=False)
    assert done.returncode == 0, f"{command} failed: {directory / 'log'}"


def _create_database(port: int) -> None:
    import psycopg

    server = f"host=127.0.0.1 port={port} user={USER} password={PASSWORD} dbname=postgres"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {DATABASE}")

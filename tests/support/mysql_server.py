"""A server of MariaDB, which has the protocol of MySQL, run by a user who is not root."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from tests.support.other_servers import free_port, running_program
from tests.support.other_users import as_other_user

USER, PASSWORD, DATABASE = "lake", "hush-hush-lake", "catalogs"
EMPTY, OF_JAVA = "empty", "of_java"
_PROGRAMS = ("mariadb-install-db", "mariadbd", "openssl")
_ACCOUNTS = ("mysql", "nobody")
# Another time zone than that of most machines, and values that are too long are cut: sessions must not depend on them.
_SETTINGS = """
[mariadbd]
default_time_zone = +05:45
sql_mode =
skip_name_resolve
innodb_flush_log_at_trx_commit = 0
innodb_fast_shutdown = 2
innodb_lock_wait_timeout = 5
innodb_buffer_pool_size = 32M
"""
_STATEMENTS = f"""
DROP USER IF EXISTS ''@'localhost';
CREATE USER '{USER}' IDENTIFIED BY '{PASSWORD}';
GRANT ALL ON *.* TO '{USER}';
CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4;
CREATE DATABASE {EMPTY} CHARACTER SET utf8mb4;
CREATE DATABASE {OF_JAVA} CHARACTER SET utf8mb3;
"""


@dataclass(frozen=True)
class MySqlServer:
    """A running server with empty databases. In ``OF_JAVA``, Java can create its tables: the keys are shorter."""

    port: int
    certificate: Path
    kind: ClassVar = "mysql"
    refusal: ClassVar = "Access denied for user 'lake'"

    @property
    def uri(self) -> str:
        return self.uri_of(DATABASE)

    def uri_of(self, database: str) -> str:
        return f"jdbc:mysql://127.0.0.1:{self.port}/{database}"

    @property
    def options(self) -> dict[str, str]:
        """The options of a catalog in ``DATABASE``."""
        return {"metastore": "jdbc", "uri": self.uri, "jdbc.user": USER, "jdbc.password": PASSWORD}


@contextmanager
def running_mysql() -> Iterator[MySqlServer]:
    """Run a server. Without its programs the test is skipped, and says so."""
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if missing:
        pytest.skip(f"!!!!! {', '.join(missing)} not found, nothing is checked on MySQL: install mariadb-server !!!!!")
    # Not in a directory of pytest: those of root are closed to the user who runs the server.
    directory = Path(tempfile.mkdtemp(prefix="mysql-"))
    try:
        as_user = as_other_user(directory, _ACCOUNTS, "MariaDB")
        settings, statements = directory / "my.cnf", directory / "init.sql"
        settings.write_text(_SETTINGS)
        statements.write_text(_STATEMENTS)
        key, certificate, data = directory / "key.pem", directory / "certificate.pem", directory / "data"
        certify = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        certify += ["-keyout", str(key), "-out", str(certificate), "-days", "2", "-subj", "/CN=localhost"]
        create = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db"]
        create += ["--auth-root-authentication-method=normal"]
        for command in (certify, create):
            done = subprocess.run([*as_user, *command], cwd=directory, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
        port = free_port()
        serve = ["mariadbd", f"--defaults-file={settings}", f"--datadir={data}", f"--socket={directory}/socket"]
        serve += ["--bind-address=127.0.0.1", f"--port={port}", f"--init-file={statements}", "--silent-startup"]
        serve += [f"--ssl-key={key}", f"--ssl-cert={certificate}", f"--log-error={directory}/log"]
        with running_program([*as_user, *serve], port, {}):
            yield MySqlServer(port, certificate)
    finally:
        shutil.rmtree(directory)

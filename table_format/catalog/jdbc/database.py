"""Connections to the database of a catalog: one pool per process and address.

A ``Database`` is a value. It can be sent to other processes, which connect when they use it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from table_format.catalog.jdbc import mysql
from table_format.catalog.jdbc.address import MYSQL, POSTGRESQL, SQLITE, Address
from table_format.errors import MetastoreUnavailable
from table_format.extras import require, require_installed
from table_format.secrets import Secret, redact

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

_BUSY_SECONDS: Final = 10
"""The longest wait for other writers of a file of SQLite, which has one writer at a time."""
_LOCKED_FILE: Final = (
    "; another process does not release the file. Apache Paimon in Java before 2.0 keeps it locked until it ends: use "
    "PostgreSQL or MySQL to share a catalog with it"
)
_CONNECT_SECONDS: Final = 10
_DRIVERS: Final = {SQLITE: "sqlite", POSTGRESQL: "postgresql+psycopg", MYSQL: "mysql+pymysql"}
_PACKAGES: Final = {POSTGRESQL: "psycopg", MYSQL: "pymysql"}
"""The packages of the drivers; that of SQLite is a part of Python."""


@dataclass(frozen=True, slots=True, repr=False)
class Database:
    """Where the database is, and who connects. ``connections`` is how many connections are kept open."""

    address: Address
    user: str | None = None
    password: Secret | None = None
    connections: int = 2

    def __repr__(self) -> str:
        return f"Database({str(self.address)!r})"

    def __reduce__(self) -> tuple[object, ...]:
        # The tasks of an engine take the lock, so the password travels with them, as the keys of a store do.
        password = None if self.password is None else self.password.reveal()
        return (_restored, (self.address, self.user, password, self.connections))

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Run statements in one transaction, which is rolled back if the body raises.

        Raises:
            MetastoreUnavailable: the database cannot be reached or refused a statement. The message does not hold the
                password.
        """
        errors = require("sqlalchemy").exc
        try:
            with _engine_of(self).begin() as connection:
                yield connection
        except errors.SQLAlchemyError as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> MetastoreUnavailable:
        reason = " ".join(str(getattr(error, "orig", None) or error).split())
        secrets = [] if self.password is None else [self.password]
        advice = mysql.advice_on(error) if self.address.kind == MYSQL else ""
        if self.address.kind == SQLITE and "database is locked" in reason:
            advice = _LOCKED_FILE
        return MetastoreUnavailable(f"the database of the catalog, {self.address}: {redact(reason, secrets)}{advice}")


def require_driver(kind: str) -> None:
    """Check that the packages for this kind of database are installed.

    Raises:
        PackageMissing: they are not; the message names the extra.
    """
    require_installed("sqlalchemy")
    if kind in _PACKAGES:
        require_installed(_PACKAGES[kind])


def _restored(address: Address, user: str | None, password: str | None, connections: int) -> Database:
    return Database(address, user, None if password is None else Secret(password), connections)


# --- the pools of this process ----------------------------------------------------------------------------------------

_ENGINES: Final[dict[Database, Engine]] = {}
_LEFT_TO_PARENT: Final[list[object]] = []
_LOCK = threading.Lock()


def _engine_of(database: Database) -> Engine:
    with _LOCK:
        if database not in _ENGINES:
            _ENGINES[database] = _open(database)
        return _ENGINES[database]


def _open(database: Database) -> Engine:
    require_driver(database.address.kind)
    sqlalchemy = require("sqlalchemy")
    address = database.address
    if address.kind == SQLITE:
        # A file has no users; Java's driver ignores them as well.
        url = sqlalchemy.URL.create(_DRIVERS[SQLITE], database=address.database)
        engine: Engine = sqlalchemy.create_engine(url, connect_args={"timeout": _BUSY_SECONDS}, hide_parameters=True)
        return engine
    password = None if database.password is None else database.password.reveal()
    url = sqlalchemy.URL.create(
        _DRIVERS[address.kind], database.user, password, address.host, address.port, address.database
    )
    # By default, MySQL locks the gaps between rows, so that creators of different tables may block each other.
    engine = sqlalchemy.create_engine(
        url,
        connect_args=_arguments(address),
        pool_size=database.connections,
        pool_pre_ping=True,
        hide_parameters=True,
        isolation_level="READ COMMITTED",
    )
    if address.kind == MYSQL:
        sqlalchemy.event.listen(engine, "do_connect", mysql.connect)
    begin_session = mysql.begin_session if address.kind == MYSQL else _use_local_time
    sqlalchemy.event.listen(engine, "connect", begin_session)
    return engine


def _arguments(address: Address) -> dict[str, Any]:
    if address.kind == MYSQL:
        return mysql.connection_arguments(address.parameters, _CONNECT_SECONDS)
    return {"connect_timeout": str(_CONNECT_SECONDS), **dict(address.parameters)}


def _use_local_time(connection: Any, _: object) -> None:  # noqa: ANN401 - a connection of the driver
    """Let the session have the time zone of this machine, as Java's driver does.

    The time of a lock is stored without a zone, so all who read it must have the same one.
    """
    seconds = time.localtime().tm_gmtoff
    sign, minutes = "-" if seconds < 0 else "+", abs(seconds) // 60
    with connection.cursor() as cursor:
        cursor.execute(f"SET TIME ZONE INTERVAL '{sign}{minutes // 60:02d}:{minutes % 60:02d}' HOUR TO MINUTE")
    connection.commit()


def _forget_connections() -> None:
    """In a forked process: leave the connections to the parent, which uses them, and open others when needed."""
    global _LOCK
    _LOCK = threading.Lock()
    for engine in _ENGINES.values():
        _LEFT_TO_PARENT.append(engine.pool)  # Nothing closes its connections here.
        engine.dispose(close=False)


os.register_at_fork(after_in_child=_forget_connections)

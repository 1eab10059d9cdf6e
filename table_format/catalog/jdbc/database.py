"""Connections to the database of a catalog: one pool per process and address.

A ``Database`` is a value. It can be sent to other processes, which connect when they use it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from table_format.catalog.jdbc import mysql, postgresql
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


@dataclass(frozen=True, slots=True)
class _Server:
    """How a kind of server is reached: the driver in SQLAlchemy, its package, its arguments, and its sessions."""

    driver: str
    package: str
    arguments: Callable[[Sequence[tuple[str, str]], int], dict[str, Any]]
    begin_session: Callable[[Any, object], None]


_SERVERS: Final = {
    POSTGRESQL: _Server("postgresql+psycopg", "psycopg", postgresql.connection_arguments, postgresql.begin_session),
    MYSQL: _Server("mysql+pymysql", "pymysql", mysql.connection_arguments, mysql.begin_session),
}


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
    if kind in _SERVERS:
        require_installed(_SERVERS[kind].package)


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
        url = sqlalchemy.URL.create(SQLITE, database=address.database)
        engine: Engine = sqlalchemy.create_engine(url, connect_args={"timeout": _BUSY_SECONDS}, hide_parameters=True)
        return engine
    server = _SERVERS[address.kind]
    password = None if database.password is None else database.password.reveal()
    url = sqlalchemy.URL.create(server.driver, database.user, password, address.host, address.port, address.database)
    # By default, MySQL locks the gaps between rows, so that creators of different tables may block each other.
    engine = sqlalchemy.create_engine(
        url,
        connect_args=server.arguments(address.parameters, _CONNECT_SECONDS),
        pool_size=database.connections,
        pool_pre_ping=True,
        hide_parameters=True,
        isolation_level="READ COMMITTED",
    )
    if address.kind == MYSQL:
        sqlalchemy.event.listen(engine, "do_connect", mysql.connect)
    sqlalchemy.event.listen(engine, "connect", server.begin_session)
    return engine


def _forget_connections() -> None:
    """In a forked process: leave the connections to the parent, which uses them, and open others when needed."""
    global _LOCK
    _LOCK = threading.Lock()
    for engine in _ENGINES.values():
        _LEFT_TO_PARENT.append(engine.pool)  # Nothing closes its connections here.
        engine.dispose(close=False)


os.register_at_fork(after_in_child=_forget_connections)

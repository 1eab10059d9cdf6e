"""The rows of the locks, with the statements of Java's ``JdbcDistributedLockDialect``.

This module imports SQLAlchemy; only code that talks to a database imports it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Double, String, cast, delete, func, insert, select, text
from sqlalchemy.exc import IntegrityError

from table_format.catalog.jdbc.address import MYSQL, POSTGRESQL, SQLITE
from table_format.catalog.jdbc.tables import LOCKS
from table_format.errors import AlreadyExistsError

_ACQUIRED_AT: Final = LOCKS.c.acquired_at
_AGES: Final[Mapping[str, ColumnElement[Any]]] = {
    SQLITE: func.strftime("%s", "now") - func.strftime("%s", _ACQUIRED_AT),
    POSTGRESQL: cast(func.extract("epoch", func.age(func.now(), _ACQUIRED_AT)), Double),
    MYSQL: func.timestampdiff(text("SECOND"), _ACQUIRED_AT, func.now()),
}
"""The age of a lock in seconds."""


def delete_expired(connection: Connection, lock_id: str, kind: str) -> None:
    """Delete the row of a lock that its writer held for too long. ``kind`` is that of the database."""
    connection.execute(delete(LOCKS).where(_AGES[kind] > LOCKS.c.expire_time_seconds, LOCKS.c.lock_id == lock_id))


def insert_lock(connection: Connection, lock_id: str, expire_seconds: int) -> str:
    """Insert the row of a lock, and return its time.

    Raises:
        AlreadyExistsError: another writer has it; the transaction has failed.
    """
    try:
        connection.execute(insert(LOCKS).values(lock_id=lock_id, expire_time_seconds=expire_seconds))
    except IntegrityError as error:
        message = f"lock '{lock_id}' already exists"
        raise AlreadyExistsError(message) from error
    time: str = connection.execute(select(_time()).where(LOCKS.c.lock_id == lock_id)).scalar_one()
    return time


def delete_lock(connection: Connection, lock_id: str, acquired_at: str) -> bool:
    """Delete the row that was inserted at this time. Return whether it was there."""
    deleted = connection.execute(delete(LOCKS).where(LOCKS.c.lock_id == lock_id, _time() == acquired_at))
    return deleted.rowcount > 0


def _time() -> ColumnElement[str]:
    """Return the time as the database writes it: a driver might round it."""
    return cast(_ACQUIRED_AT, String)

"""What is particular to PostgreSQL: parameters of Java's driver, and sessions."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from table_format.catalog.jdbc.parameters import given_parameters

_PARAMETERS: Final[Mapping[str, str]] = {
    "ApplicationName": "application_name",
    "connectTimeout": "connect_timeout",
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
}
"""Parameters of Java's driver, and their names here."""


def read_parameters(query: str) -> tuple[tuple[str, str], ...]:
    """Return the parameters of an address as ``connection_arguments`` needs them.

    >>> read_parameters("sslmode=require&connectTimeout=3")
    (('sslmode', 'require'), ('connect_timeout', '3'))

    Raises:
        InvalidOption: a parameter is not supported.
    """
    return tuple((_PARAMETERS[name], value) for name, value in given_parameters(query, _PARAMETERS))


def connection_arguments(parameters: Sequence[tuple[str, str]], connect_seconds: int) -> dict[str, Any]:
    """Return the arguments of psycopg. ``connect_seconds`` is the longest wait for a connection by default."""
    return {"connect_timeout": str(connect_seconds), **dict(parameters)}


def begin_session(connection: Any, _: object) -> None:  # noqa: ANN401 - a connection of the driver
    """Let the session have the time zone of this machine, as Java's driver does.

    The time of a lock is stored without a zone, so all who read it must have the same one.
    """
    seconds = time.localtime().tm_gmtoff
    sign, minutes = "-" if seconds < 0 else "+", abs(seconds) // 60
    with connection.cursor() as cursor:
        cursor.execute(f"SET TIME ZONE INTERVAL '{sign}{minutes // 60:02d}:{minutes % 60:02d}' HOUR TO MINUTE")
    connection.commit()

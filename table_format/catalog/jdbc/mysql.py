"""What is particular to MySQL and MariaDB: parameters of Java's driver, connections, and errors of its transactions."""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from typing import Any, Final

from table_format.catalog.jdbc.parameters import given_parameters
from table_format.errors import InvalidOption
from table_format.options.jdbc import URI

CONNECT_SECONDS: Final = "connect_timeout"
TLS: Final = "tls"
DISABLED: Final = "DISABLED"
PREFERRED: Final = "PREFERRED"
REQUIRED: Final = "REQUIRED"
VERIFY_CA: Final = "VERIFY_CA"
VERIFY_IDENTITY: Final = "VERIFY_IDENTITY"
_MODES: Final = (DISABLED, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY)
_LONGEST_SECONDS: Final = 31_536_000
"""The longest wait that PyMySQL allows: a year."""
_DEADLOCK: Final = 1213
_OTHER_LETTERS: Final = frozenset({1267, 1366})
"""Errors about a text that the character set of a column does not have."""
_THREE_BYTES: Final = "; names have letters of at most three bytes in UTF-8 in MySQL"

_CONNECT_TIMEOUT: Final = "connectTimeout"
_SSL_MODE: Final = "sslMode"
_USE_SSL: Final = "useSSL"
_CHOICES: Final[Mapping[str, Mapping[str, tuple[str, str] | None]]] = {
    _SSL_MODE: {mode.lower(): (TLS, mode) for mode in _MODES},
    _USE_SSL: {"true": (TLS, PREFERRED), "false": (TLS, DISABLED)},
    "characterEncoding": {"utf-8": None, "utf8": None},
    "useUnicode": {"true": None},
    "nullDatabaseMeansCurrent": {"true": None},
}
"""The values of parameters of Java's driver, in lower case. ``None`` is what holds for every connection."""

_SESSION: Final = "SET time_zone = '+00:00', sql_mode = CONCAT(@@sql_mode, ',STRICT_TRANS_TABLES')"
"""Times in UTC, so that no age of a lock jumps with the summer time. A value that is too long is refused, not cut, as
in sessions of Java's driver."""


# --- parameters of Java's driver --------------------------------------------------------------------------------------


def read_parameters(query: str) -> tuple[tuple[str, str], ...]:
    """Return the parameters of an address as ``connection_arguments`` needs them.

    >>> read_parameters("connectTimeout=2500&sslMode=required")
    (('connect_timeout', '3'), ('tls', 'REQUIRED'))

    Raises:
        InvalidOption: a parameter or its value is not supported.
    """
    given = dict(given_parameters(query, [_CONNECT_TIMEOUT, *_CHOICES]))
    if _SSL_MODE in given:
        given.pop(_USE_SSL, None)  # As in Java.
    read = [
        (CONNECT_SECONDS, _seconds(value)) if name == _CONNECT_TIMEOUT else _choice(name, value)
        for name, value in given.items()
    ]
    return tuple(parameter for parameter in read if parameter is not None)


def _seconds(milliseconds: str) -> str:
    if not milliseconds.isdecimal():
        message = f"the parameter '{_CONNECT_TIMEOUT}': expected milliseconds, found {milliseconds!r}"
        raise InvalidOption(URI.key, message)
    # In Java, 0 means without limit.
    seconds = -(-int(milliseconds) // 1000) or _LONGEST_SECONDS
    return str(min(seconds, _LONGEST_SECONDS))


def _choice(name: str, value: str) -> tuple[str, str] | None:
    choices = _CHOICES[name]
    if value.lower() not in choices:
        message = f"the parameter '{name}': expected {' or '.join(choices)}, found {value!r}"
        raise InvalidOption(URI.key, message)
    return choices[value.lower()]


# --- connections ------------------------------------------------------------------------------------------------------


def connection_arguments(parameters: Sequence[tuple[str, str]], connect_seconds: int) -> dict[str, Any]:
    """Return the arguments of PyMySQL. ``connect_seconds`` is the longest wait for a connection by default."""
    given = dict(parameters)
    return {
        "connect_timeout": int(given.get(CONNECT_SECONDS, connect_seconds)),
        "charset": "utf8mb4",
        **_tls_arguments(given.get(TLS, PREFERRED)),
    }


def _tls_arguments(mode: str) -> dict[str, Any]:
    if mode == DISABLED:
        return {"ssl_disabled": True}
    if mode == PREFERRED:
        return {}
    context = ssl.create_default_context()
    if mode != VERIFY_IDENTITY:
        context.check_hostname = False
    if mode == REQUIRED:
        context.verify_mode = ssl.CERT_NONE
    return {"ssl": context}


def begin_session(connection: Any, _: object) -> None:  # noqa: ANN401 - a connection of the driver
    """Set what every session needs."""
    with connection.cursor() as cursor:
        cursor.execute(_SESSION)


def connect(dialect: Any, _: object, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Connect, with an error of the driver where it raises another one: a plugin may need a package that is missing."""
    try:
        return dialect.connect(*arguments, **named)
    except RuntimeError as error:
        raise dialect.loaded_dbapi.OperationalError(str(error)) from error


# --- errors -----------------------------------------------------------------------------------------------------------


def is_deadlock(error: BaseException | None) -> bool:
    """Whether the server undid a transaction of several that waited for each other; ``error`` is one of SQLAlchemy."""
    return _number_of(error) == _DEADLOCK


def advice_on(error: BaseException) -> str:
    """Return what to add to the message of an error of SQLAlchemy."""
    return _THREE_BYTES if _number_of(error) in _OTHER_LETTERS else ""


def _number_of(error: BaseException | None) -> object:
    reason = getattr(error, "orig", None)
    return reason.args[0] if reason is not None and reason.args else None

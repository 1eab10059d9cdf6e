"""The address of a database as Java writes it: ``jdbc:<kind>:...``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from table_format.catalog.jdbc import mysql, postgresql
from table_format.errors import InvalidOption, UnsupportedFeature
from table_format.options.jdbc import URI

SQLITE: Final = "sqlite"
POSTGRESQL: Final = "postgresql"
MYSQL: Final = "mysql"
"""MySQL and MariaDB, which have the same protocol."""
_PREFIX: Final = "jdbc:"


@dataclass(frozen=True, slots=True)
class Address:
    """A database: a file, or a name on a server. ``parameters`` are arguments of the driver of this library."""

    kind: str
    database: str | None
    host: str | None = None
    port: int | None = None
    parameters: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        if self.kind == SQLITE:
            return f"{_PREFIX}{self.kind}:{self.database}"
        port = "" if self.port is None else f":{self.port}"
        return f"{_PREFIX}{self.kind}://{self.host or 'localhost'}{port}/{self.database or ''}"


def parse_address(uri: str) -> Address:
    """Parse the option ``uri``.

    >>> str(parse_address("jdbc:postgresql://host/lake?sslmode=require"))
    'jdbc:postgresql://host/lake'
    >>> parse_address("jdbc:sqlite:/data/lake.db").database
    '/data/lake.db'

    Raises:
        InvalidOption: it is malformed. UnsupportedFeature: this version does not know such a database.
    """
    prefix, kind, rest = uri[: len(_PREFIX)], *uri[len(_PREFIX) :].partition(":")[::2]
    if prefix != _PREFIX or not rest:
        raise _malformed(uri, "an address such as 'jdbc:sqlite:/data/lake.db' or 'jdbc:postgresql://host/lake'")
    if kind == SQLITE:
        return _sqlite(uri, rest)
    if kind == POSTGRESQL:
        return _postgresql(uri, rest)
    if kind == MYSQL:
        return _mysql(uri, rest)
    feature = f"{URI.key}={_PREFIX}{kind}"
    message = (
        f"catalog option '{URI.key}': databases of the kind '{kind}' are not supported by this version; it has "
        f"{SQLITE}, {POSTGRESQL} and {MYSQL}, which is also for MariaDB"
    )
    raise UnsupportedFeature(feature, message)


def _sqlite(uri: str, rest: str) -> Address:
    path = rest.removeprefix("file:")
    if "?" in path or path == ":memory:":
        raise _malformed(uri, "the path of a file without parameters: each connection must see the same database")
    return Address(SQLITE, str(Path(path).absolute()))


def _postgresql(uri: str, rest: str) -> Address:
    if not rest.startswith("//"):
        database, _, query = rest.partition("?")
        return Address(POSTGRESQL, _name(database), parameters=postgresql.read_parameters(query))
    return _on_server(uri, POSTGRESQL, rest, postgresql.read_parameters)


def _mysql(uri: str, rest: str) -> Address:
    address = _on_server(uri, MYSQL, rest, mysql.read_parameters) if rest.startswith("//") else None
    if address is None or address.database is None:
        raise _malformed(uri, "an address such as 'jdbc:mysql://host/lake'")
    return address


def _on_server(uri: str, kind: str, rest: str, parameters_of: Callable[[str], tuple[tuple[str, str], ...]]) -> Address:
    try:
        parts = urlsplit(f"{kind}:{rest}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise _malformed(uri, f"one host and one port ({error})") from error
    if "," in parts.netloc or "@" in parts.netloc:
        raise _malformed(uri, "one host and one port; give the user in 'jdbc.user'")
    return Address(kind, _name(parts.path), host, port, parameters_of(parts.query))


def _name(path: str) -> str | None:
    return unquote(path.strip("/")) or None


def _malformed(uri: str, expected: str) -> InvalidOption:
    return InvalidOption(URI.key, f"expected {expected}, found {uri!r}")

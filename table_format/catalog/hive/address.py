"""The addresses of a Hive metastore as Java writes them: ``thrift://host:9083,thrift://other:9083``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from table_format.errors import InvalidOption
from table_format.options.hive import URI

_SCHEME: Final = "thrift"


@dataclass(frozen=True, slots=True)
class Address:
    """One server of a metastore."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{_SCHEME}://{host}:{self.port}"


def parse_addresses(uris: str) -> tuple[Address, ...]:
    """Parse the option ``uri``: the servers in the order in which they are tried.

    >>> [str(address) for address in parse_addresses("thrift://a:9083, thrift://[::1]:9084")]
    ['thrift://a:9083', 'thrift://[::1]:9084']

    Raises:
        InvalidOption: one of them is malformed.
    """
    return tuple(_parsed(uri.strip()) for uri in uris.split(","))


def _parsed(uri: str) -> Address:
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise _malformed(uri, str(error)) from error
    if parts.scheme != _SCHEME or not host or port is None:
        raise _malformed(uri)
    if "@" in parts.netloc or parts.path.strip("/") or parts.query:
        raise _malformed(uri, "it has more than a host and a port")
    return Address(host, port)


def _malformed(uri: str, why: str = "") -> InvalidOption:
    reason = f" ({why})" if why else ""
    return InvalidOption(URI.key, f"expected addresses such as 'thrift://host:9083', found {uri!r}{reason}")

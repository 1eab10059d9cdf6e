"""The address of a REST server, as Java writes it: with or without a scheme, and with a path."""

from __future__ import annotations

from urllib.parse import urlsplit

from table_format.errors import InvalidOption
from table_format.options.rest import URI


def parse_uri(uri: str) -> str:
    """Parse the option ``uri``.

    >>> parse_uri("catalog.example.com:8080/"), parse_uri("https://example.com/paimon")
    ('http://catalog.example.com:8080', 'https://example.com/paimon')

    Raises:
        InvalidOption: it is malformed.
    """
    address = uri.rstrip("/")
    if not address.startswith(("http://", "https://")):
        address = f"http://{address}"
    try:
        parts = urlsplit(address)
        is_whole = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        is_whole = False
    if not is_whole or parts.query or parts.fragment or "@" in parts.netloc or "://" in address.partition("://")[2]:
        raise InvalidOption(URI.key, f"expected an address such as 'https://host:8080', found {uri!r}")
    return address

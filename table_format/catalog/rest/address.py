"""The address of a REST server, as Java writes it: with or without a scheme, and with a path; and headers."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from table_format.errors import InvalidOption
from table_format.options.rest import URI
from table_format.secrets import Secret

HEADER_PREFIX: Final = "header."


def parse_uri(uri: str) -> str:
    """Parse the option ``uri``.

    >>> parse_uri("catalog.example.com:8080/"), parse_uri("https://example.com/paimon")
    ('http://catalog.example.com:8080', 'https://example.com/paimon')

    Raises:
        InvalidOption: it is malformed.
    """
    address = uri if "://" in uri else f"http://{uri}"
    try:
        parts = urlsplit(address)
        is_server = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_server = False
    if not is_server or parts.query or parts.fragment or "@" in parts.netloc:
        raise InvalidOption(URI.key, f"expected an address such as 'https://host:8080', found {uri!r}")
    return address.rstrip("/")


def check_header(key: str, value: Secret) -> None:
    """Check the value of an option that is sent in a header.

    Raises:
        InvalidOption: names the option but not its value.
    """
    if not all(" " <= letter <= "~" for letter in value.reveal()):
        raise InvalidOption(key, "has characters that a request cannot carry, such as the end of a line")

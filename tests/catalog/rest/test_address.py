"""The address of a REST server."""

from __future__ import annotations

import pytest

from table_format.catalog.rest.address import parse_uri
from table_format.errors import InvalidOption


@pytest.mark.parametrize(
    "uri", ["", "http://", "https://host:port", "ftp://host", "http://host?token=x", "http://host#x", "http://host:0"]
)
def test_what_is_not_an_address_is_refused(uri: str) -> None:
    with pytest.raises(InvalidOption, match=r"expected an address such as 'https://host:8080'"):
        parse_uri(uri)

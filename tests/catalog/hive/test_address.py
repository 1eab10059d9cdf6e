"""Addresses of a Hive metastore."""

from __future__ import annotations

import pytest

from table_format.catalog.hive.address import parse_addresses
from table_format.errors import InvalidOption


@pytest.mark.parametrize(
    ("uris", "expected"),
    [
        ("thrift://host:9083", ["thrift://host:9083"]),
        ("thrift://a:1,thrift://b:2/ , thrift://[::1]:3", ["thrift://a:1", "thrift://b:2", "thrift://[::1]:3"]),
    ],
)
def test_servers_are_tried_in_the_order_in_which_they_are_written(uris: str, expected: list[str]) -> None:
    assert [str(address) for address in parse_addresses(uris)] == expected


@pytest.mark.parametrize(
    "uris",
    [
        "host:9083",
        "http://host:9083",
        "thrift://host",
        "thrift://:9083",
        "thrift://host:port",
        "thrift://a:1,",
        "thrift://a:1/db",
        "thrift://me@a:1",
    ],
)
def test_an_address_that_cannot_be_is_refused(uris: str) -> None:
    with pytest.raises(InvalidOption, match="'uri': expected addresses such as 'thrift://host:9083', found"):
        parse_addresses(uris)

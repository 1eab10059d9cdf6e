"""The address of a REST server."""

from __future__ import annotations

import pytest

from table_format import load_catalog
from table_format.catalog.rest.address import parse_uri
from table_format.errors import InvalidOption, MetastoreUnavailable, UnsupportedFeature


@pytest.mark.parametrize(
    "uri", ["", "http://", "https://host:port", "ftp://host", "http://host?token=x", "http://host#x", "http://host:0"]
)
def test_what_is_not_an_address_is_refused(uri: str) -> None:
    with pytest.raises(InvalidOption, match=r"expected an address such as 'https://host:8080'"):
        parse_uri(uri)


GIVEN = {"metastore": "rest", "warehouse": "lake", "uri": "127.0.0.1:1", "token.provider": "bear", "token": "hush"}


@pytest.mark.parametrize("option", ["uri", "token.provider", "token", "warehouse"])
def test_an_option_that_is_missing_is_named(option: str) -> None:
    with pytest.raises(InvalidOption, match=rf"'{option}' is required"):
        load_catalog({key: value for key, value in GIVEN.items() if key != option})


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("token.provider", "dlf"),
        ("dlf.region", "cn-hangzhou"),
        ("dlf.access-key-secret", "hush"),
        ("data-token.enabled", "true"),
        ("io-cache.enabled", "true"),
        ("lock.enabled", "true"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(option: str, value: str) -> None:
    with pytest.raises(UnsupportedFeature, match=rf"'{option}'"):
        load_catalog({**GIVEN, option: value})


@pytest.mark.parametrize("option", ["token", "header.x-name"])
def test_a_text_that_would_end_a_header_is_refused_and_not_shown(option: str) -> None:
    with pytest.raises(InvalidOption, match=rf"'{option}': has characters that a request cannot carry") as raised:
        load_catalog({**GIVEN, option: "hush\nx: y"})
    assert "hush" not in str(raised.value)


def test_a_server_that_cannot_be_reached_is_named() -> None:
    with pytest.raises(MetastoreUnavailable, match=r"GET http://127\.0\.0\.1:1/v1/config: the server cannot be"):
        load_catalog(GIVEN)

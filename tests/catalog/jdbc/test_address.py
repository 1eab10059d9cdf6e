"""Addresses of databases, as Java writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from table_format.catalog.jdbc.address import Address, parse_address
from table_format.errors import InvalidOption, UnsupportedFeature


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("jdbc:sqlite:/data/lake.db", Address("sqlite", "/data/lake.db")),
        ("jdbc:sqlite:file:/data/a b.db", Address("sqlite", "/data/a b.db")),
        ("jdbc:postgresql://host/lake", Address("postgresql", "lake", "host")),
        ("jdbc:postgresql://host:5433/a%20b", Address("postgresql", "a b", "host", 5433)),
        ("jdbc:postgresql://[::1]:5433/", Address("postgresql", None, "::1", 5433)),
        ("jdbc:postgresql:lake", Address("postgresql", "lake")),
        (
            "jdbc:postgresql://host/lake?sslmode=verify-full&connectTimeout=3",
            Address("postgresql", "lake", "host", None, (("sslmode", "verify-full"), ("connect_timeout", "3"))),
        ),
        ("jdbc:mysql://host:3307/lake", Address("mysql", "lake", "host", 3307)),
        ("jdbc:mysql:///lake", Address("mysql", "lake")),
        (
            "jdbc:mysql://host/lake?connectTimeout=2500&sslMode=verify_ca&useSSL=false&characterEncoding=UTF-8",
            Address("mysql", "lake", "host", None, (("connect_timeout", "3"), ("tls", "VERIFY_CA"))),
        ),
        (
            "jdbc:mysql://host/lake?useSSL=false&connectTimeout=0&useUnicode=true",
            Address("mysql", "lake", "host", None, (("tls", "DISABLED"), ("connect_timeout", "31536000"))),
        ),
    ],
)
def test_an_address_of_java_is_understood(uri: str, expected: Address) -> None:
    assert parse_address(uri) == expected


def test_a_relative_file_is_that_of_the_directory_in_which_the_catalog_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse_address("jdbc:sqlite:lake.db").database == str(tmp_path / "lake.db")


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("sqlite:/data/lake.db", "expected an address such as 'jdbc:sqlite:/data/lake.db'"),
        ("jdbc:sqlite:", "expected an address"),
        ("jdbc:sqlite::memory:", "the path of a file without parameters"),
        ("jdbc:sqlite:/data/lake.db?cache=shared", "the path of a file without parameters"),
        ("jdbc:postgresql://a:1,b:2/lake", "one host and one port"),
        ("jdbc:postgresql://a:port/lake", "one host and one port"),
        ("jdbc:postgresql://user@a/lake", "give the user in 'jdbc.user'"),
        ("jdbc:mysql://a", "an address such as 'jdbc:mysql://host/lake'"),
        ("jdbc:mysql:loadbalance://a/lake", "an address such as 'jdbc:mysql://host/lake'"),
        ("jdbc:mysql://a,b/lake", "one host and one port"),
        ("jdbc:mysql://a/lake?sslmode=REQUIRED", "'sslmode' is not supported; did you mean sslMode"),
        ("jdbc:mysql://a/lake?serverTimezone=UTC", "'serverTimezone' is not supported; those of connectTimeout, ssl"),
        ("jdbc:mysql://a/lake?sslMode=always", "'sslMode': expected disabled or preferred or .*, found 'always'"),
        ("jdbc:mysql://a/lake?characterEncoding=latin1", "'characterEncoding': expected utf-8 or utf8, found 'latin1'"),
        ("jdbc:mysql://a/lake?connectTimeout=3s", "'connectTimeout': expected milliseconds, found '3s'"),
        ("jdbc:postgresql://a/lake?sslmod=require", "'sslmod' is not supported; did you mean sslmode"),
    ],
)
def test_an_address_that_cannot_be_is_refused(uri: str, message: str) -> None:
    with pytest.raises(InvalidOption, match=f"option 'uri': .*{message}"):
        parse_address(uri)


@pytest.mark.parametrize("kind", ["mariadb", "oracle"])
def test_a_kind_of_database_that_was_never_tried_is_refused_by_name(kind: str) -> None:
    with pytest.raises(
        UnsupportedFeature, match=f"the kind '{kind}' are not supported .* sqlite, postgresql and mysql, which"
    ):
        parse_address(f"jdbc:{kind}://host/lake")


def test_a_password_in_an_address_is_refused_and_not_shown() -> None:
    for parameter in ("user=a&password=hush-hush", "user=a;password=hush-hush"):
        with pytest.raises(InvalidOption) as refusal:
            parse_address(f"jdbc:mysql://host/lake?{parameter}")
        assert "hush" not in str(refusal.value)
    with pytest.raises(InvalidOption, match=r"give the user in 'jdbc\.user'") as refusal:
        parse_address("jdbc:mysql://lake:hush-hush@host/lake")
    assert "hush" not in str(refusal.value)

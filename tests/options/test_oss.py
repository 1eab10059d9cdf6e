"""The options of a warehouse in Alibaba Cloud OSS, and the addresses that follow from them."""

from __future__ import annotations

import pickle

import pytest

from table_format import load_catalog
from table_format.errors import InvalidOption
from table_format.io.oss import address_of
from table_format.options.declare import parse_group
from table_format.options.oss import OssOptions
from table_format.secrets import Secret

ENDPOINT = {"fs.oss.endpoint": "oss-cn-hangzhou.aliyuncs.com"}
KEYS = {"fs.oss.accessKeyId": Secret("hush-id"), "fs.oss.accessKeySecret": Secret("hush")}


@pytest.fixture(autouse=True)
def no_keys_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OSS_ACCESS_KEY_ID", "OSS_ACCESS_KEY_SECRET", "OSS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def test_the_uri_names_the_bucket() -> None:
    catalog = load_catalog({"warehouse": "oss://lake/warehouse/", **ENDPOINT, **KEYS})
    assert (catalog.warehouse, catalog.io.uri(catalog.warehouse)) == ("/lake/warehouse", "oss://lake/warehouse")


@pytest.mark.parametrize(
    ("options", "address"),
    [
        ({"endpoint": "oss-cn-hangzhou.aliyuncs.com"}, "https://lake.oss-cn-hangzhou.aliyuncs.com"),
        ({"endpoint": "http://s3.oss-eu-central-1.aliyuncs.com/"}, "http://lake.s3.oss-eu-central-1.aliyuncs.com"),
        ({"endpoint": "data.example.com"}, "https://data.example.com"),
        ({"endpoint": "data.example.com", "cname.enabled": "false"}, "https://lake.data.example.com"),
        ({"endpoint": "data.example.com", "sld.enabled": "true"}, "https://data.example.com/lake"),
        ({"endpoint": "http://10.0.0.7:8080"}, "http://10.0.0.7:8080/lake"),
        ({"endpoint": "http://[::1]:8080"}, "http://[::1]:8080/lake"),
    ],
)
def test_the_bucket_is_where_the_client_of_alibaba_puts_it(options: dict[str, str], address: str) -> None:
    parsed = parse_group(OssOptions, {f"fs.oss.{key}": value for key, value in options.items()})
    assert address_of(parsed, "lake") == address


def test_the_spellings_of_a_catalog_that_folds_keys_are_understood() -> None:
    folded = {key.lower(): value for key, value in KEYS.items()}
    assert parse_group(OssOptions, folded) == parse_group(OssOptions, KEYS)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (KEYS, r"fs\.oss\.endpoint"),
        (ENDPOINT, r"fs\.oss\.accessKeyId"),
        ({**ENDPOINT, "fs.oss.accessKeyId": Secret("hush")}, r"fs\.oss\.accessKeySecret"),
        ({**ENDPOINT, "fs.oss.securityToken": Secret("hush")}, r"fs\.oss\.accessKeyId"),
        ({**ENDPOINT, **KEYS, "fs.oss.cname.enabled": "false"}, r"fs\.oss\.cname\.enabled"),
        ({"fs.oss.endpoint": "10.0.0.7", **KEYS, "fs.oss.cname.enabled": "false"}, r"fs\.oss\.cname\.enabled"),
        ({"fs.oss.endpoint": "store.example.com/lake", **KEYS}, r"fs\.oss\.sld\.enabled"),
        ({**ENDPOINT, **KEYS, "fs.oss.acccessKeyId": "hush"}, r"fs\.oss\.acccessKeyId"),
        ({**ENDPOINT, **KEYS, "fs.oss.server-side-encryption": "KMS"}, r"fs\.oss\.server-side-encryption"),
    ],
)
def test_what_is_missing_or_has_no_effect_is_named_without_the_key(
    options: dict[str, str | Secret], named: str
) -> None:
    with pytest.raises(InvalidOption, match=named) as refused:
        load_catalog({"warehouse": "oss://lake/w", **options})
    assert "hush" not in str(refused.value)


def test_the_options_are_sent_with_the_keys_and_show_none() -> None:
    options = parse_group(OssOptions, {**ENDPOINT, **KEYS, "fs.oss.securityToken": Secret("hush-token")})
    assert pickle.loads(pickle.dumps(options)) == options  # noqa: S301 - our own bytes
    assert "hush" not in repr(options)

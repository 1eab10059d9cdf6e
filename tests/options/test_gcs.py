"""The options of a warehouse in Google Cloud Storage."""

from __future__ import annotations

import pickle

import pytest

from table_format import load_catalog
from table_format.errors import InvalidOption
from table_format.options.declare import parse_group
from table_format.options.gcs import Authentication, GcsOptions
from table_format.secrets import Secret

HUSH = "-----BEGIN PRIVATE KEY-----\nhush-hush\n-----END PRIVATE KEY-----\n"
ACCOUNT = "fs.gs.auth.service.account"
KEY_FILE = {f"{ACCOUNT}.json.keyfile": "/keys/lake.json"}
KEY = {
    f"{ACCOUNT}.email": "lake@project.iam.gserviceaccount.com",
    f"{ACCOUNT}.private.key.id": Secret("hush-id"),
    f"{ACCOUNT}.private.key": Secret(HUSH),
}


def test_the_uri_names_the_bucket() -> None:
    catalog = load_catalog({"warehouse": "gs://lake/warehouse/", **KEY})
    assert (catalog.warehouse, catalog.io.uri(catalog.warehouse)) == ("/lake/warehouse", "gs://lake/warehouse")


@pytest.mark.parametrize("word", ["SERVICE_ACCOUNT_JSON_KEYFILE", "service-account-json-keyfile"])
def test_the_words_of_hadoop_are_understood(word: str) -> None:
    options = parse_group(GcsOptions, {"fs.gs.auth.type": word, **KEY_FILE})
    assert options.authentication is Authentication.SERVICE_ACCOUNT_JSON_KEYFILE
    assert load_catalog({"warehouse": "gs://lake/w", "fs.gs.auth.type": word, **KEY_FILE}).io.clients.options == options


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE"}, f"{ACCOUNT}.json.keyfile"),
        ({"fs.gs.auth.type": "UNAUTHENTICATED", **KEY_FILE}, "fs.gs.auth.type"),
        ({"fs.gs.auth.type": "APPLICATION_DEFAULT", **KEY}, "fs.gs.auth.type"),
        ({"fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE", **KEY}, f"{ACCOUNT}.json.keyfile"),
        ({"fs.gs.auth.type": "USER_CREDENTIALS"}, "fs.gs.auth.type"),
        ({**KEY, **KEY_FILE}, f"{ACCOUNT}.json.keyfile"),
        *(({key: value for key, value in KEY.items() if key != missing}, missing) for missing in KEY),
        ({**KEY, f"{ACCOUNT}.private.key": Secret("hush")}, f"{ACCOUNT}.private.key"),
        ({f"{ACCOUNT}.privat.key": HUSH}, f"{ACCOUNT}.privat.key"),
        ({"fs.gs.project.id": "shop"}, "fs.gs.project.id"),
        ({"fs.gs.auth.null.enable": "true"}, "fs.gs.auth.null.enable"),
    ],
)
def test_what_is_missing_contradicts_or_has_no_effect_is_named_without_the_key(
    options: dict[str, str | Secret], named: str
) -> None:
    with pytest.raises(InvalidOption, match=named) as refused:
        load_catalog({"warehouse": "gs://lake/w", **options})
    assert "hush" not in str(refused.value)


def test_the_options_are_sent_with_the_key_and_show_none() -> None:
    options = parse_group(GcsOptions, {**KEY, "fs.gs.storage.root.url": "http://localhost:4443"})
    assert pickle.loads(pickle.dumps(options)) == options  # noqa: S301 - our own bytes
    assert "hush" not in repr(options)

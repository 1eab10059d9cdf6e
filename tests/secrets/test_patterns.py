"""What is a secret, and what is none: keys, texts, and the type that hides one."""

from __future__ import annotations

import base64
import copy
import dataclasses
import json
import pickle
import re
import time
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_format.secrets import (
    MASK,
    SPARK_KEY_PATTERN,
    SPARK_TEXT_PATTERN,
    Secret,
    holds_secret,
    is_secret_key,
    masked_repr,
    redact,
    shown_option,
)
from tests.support.canaries import canary, leaks

HUSH = canary("hush")

SECRET_KEYS = [
    "password",
    "jdbc.password",
    "javax.net.ssl.keyStorePassword",
    "passwd",
    "db-passwd",
    "pwd",
    "secret",
    "fs.s3a.secret.key",
    "s3.secret-key",
    "fs.oss.accessKeySecret",
    "fs.oss.accesskeysecret",
    "fs.s3a.access.key",
    "s3.access-key",
    "accessKeyId",
    "token",
    "dlf.security-token",
    "fs.s3a.session.token",
    "session-token",
    "rest.token",
    "fs.azure.account.key.shop.dfs.core.windows.net",
    "fs.azure.account.key.my-file",
    "fs.azure.sas.container.account",
    "fs.azure.account.oauth2.client.secret",
    "credential",
    "aws_credentials",
    "google.private-key",
    "fs.gs.auth.service.account.private.key",
    "api-key",
    "apiKey",
    "x.api_key",
    "sas",
    "sasToken",
    "fs.s3a.encryption.key",
    "fs.s3a.server-side-encryption.key",
    "fs.s3a.session.key",
    "ssl.keystore.pass",
    "header.Authorization",
    "spark.ssl.keyPassword",
    "spark.authenticate.secret",
    "spark.connect.authenticate.token",
    "security.kerberos.jaas.config",
    "auth-params",
    "basic-auth",
    "fs.azure.storage.key.x",
    "shared-key",
]

PLAIN_KEYS = [
    "bucket",
    "bucket-key",
    "primary-key",
    "sequence.field",
    "merge-engine",
    "fs.s3a.aws.credentials.provider",
    "token-path",
    "hadoop.security.credential.provider.path",
    "password-file",
    "jdbc.user",
    "s3.endpoint",
    "fields.sales_assets.aggregate-function",
    "full-text-index.tokenizer",
    "spark.sql.shuffle.partitions",
    "bypass",
    "signal.interval",
    "compaction.min.file-num",
    "spark.network.crypto.enabled",
    "spark.io.encryption.keySizeBits",
    "consumer-id",
    "key",
    "passenger",
]


@pytest.mark.parametrize("key", SECRET_KEYS)
def test_a_key_that_names_a_secret_is_recognized_in_every_spelling(key: str) -> None:
    for spelled in (key, key.upper(), key.lower(), f"spark.hadoop.{key}"):
        assert is_secret_key(spelled)
        assert shown_option(spelled, HUSH) == MASK
        assert re.search(SPARK_KEY_PATTERN, spelled)


@pytest.mark.parametrize("key", PLAIN_KEYS)
def test_a_key_that_only_looks_like_a_secret_is_shown(key: str) -> None:
    assert not is_secret_key(key)
    assert shown_option(key, "plain") == "plain"


TEXTS = [
    "s3://key:{}@bucket/warehouse",
    "hdfs://user:{}@name-node:8020/w",
    "no such store 's3://key:{}@bucket/w': it takes a path",
    "s3%3A%2F%2Fkey%3A{}%40bucket",
    "s3://key%3A{}@bucket",
    "jdbc:mysql://host:3306/db?user=a&password={}&useSSL=true",
    "jdbc:sqlserver://host;user=a;password={};x=1",
    "jdbc:oracle:thin:scott/{}@//host:1521/x",
    "jdbc:postgresql://a:{}@host/db",
    "sc://host:15002/;token={};user_id=7",
    "https://shop.blob.core.windows.net/c?sv=2024&sig={}&se=1",
    "https://b.s3.amazonaws.com/k?X-Amz-Credential={}&X-Amz-Date=1",
    "https://b.s3.amazonaws.com/k?X-Amz-Security-Token={}",
    "AccountName=a;AccountKey={};EndpointSuffix=core",
    "host=h password={} dbname=d",
    "host=h password='{}' dbname=d",
    "{{'jdbc.password': '{}', 'user': 'a'}}",
    '{{"token": "{}", "x": 1}}',
    '"{{\\"token\\": \\"{}\\", \\"x\\": 1}}"',
    "option 'fs.s3a.secret.key' = '{}' is not supported",
    "Map(password -> {}, user -> a)",
    "--conf spark.hadoop.fs.s3a.secret.key={} --master x",
    "--password {} --user a",
    "Authorization: Basic {}",
    "'authorization': 'Bearer {}'",
    "bearer {}",
    "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_with_a_secret_loses_it_and_nothing_is_left_to_mask(text: str) -> None:
    planted = text.format(HUSH)
    shown = redact(planted)
    assert not leaks(shown, HUSH)
    assert MASK in shown
    assert holds_secret(planted)
    assert redact(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "hdfs://host:8020/warehouse",
        "http://host:80/a@b",
        "abfss://container@account.dfs.core.windows.net/w",
        "/data/a:b@c/warehouse",
        "filter token = 'abc' fits no column",
        "column 'password' is STRING NOT NULL; found 1 null",
        "the basic compaction of a table with a token column",
        "jdbc:oracle:thin:@host:1521:x",
        "option 'bucket' = '4'",
    ],
)
def test_a_text_without_a_secret_stays_as_it_is(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize("uri", ["s3a://{}@bucket/warehouse", "https://{}@host/path", "oss://{}@b"])
def test_what_stands_alone_before_the_at_sign_of_a_bucket_is_a_key(uri: str) -> None:
    assert redact(uri.format("AbC123")) == uri.format(MASK)


@given(st.text(max_size=200))
def test_what_was_redacted_has_nothing_more_to_redact(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


LETTERS = st.from_regex(r"[a-zA-Z][a-zA-Z0-9+/=%_.~-]{4,30}[a-zA-Z0-9]", fullmatch=True)


@given(LETTERS, st.sampled_from(TEXTS))
def test_no_secret_of_letters_of_urls_survives_in_any_text(secret: str, text: str) -> None:
    if secret in text:
        return
    assert secret not in redact(text.format(secret))


@given(st.text(min_size=4, max_size=30), st.text(max_size=10), st.text(max_size=10))
def test_a_known_secret_is_found_in_every_usual_encoding(secret: str, before: str, after: str) -> None:
    for form in (secret, json.dumps(secret)[1:-1], repr(secret)[1:-1], secret.encode("utf-8").hex()):
        shown = redact(f"{before}|{form}|{after}", [Secret(secret)])
        assert f"|{form}|" not in shown or form in MASK


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode, bytes.hex, quote, quote_plus])
@pytest.mark.parametrize("before", ["", "a", "ab", "abc", "user:"])
def test_a_known_secret_is_found_in_the_encodings_that_canaries_are_searched_in(encode: Any, before: str) -> None:
    encoded = encode(f"{before}{HUSH}:z".encode())
    text = encoded if isinstance(encoded, str) else encoded.decode()
    assert leaks(text, HUSH)
    assert not leaks(redact(f"reply <{text}>", [Secret(HUSH)]), HUSH)


@pytest.mark.parametrize(
    "part", ["a", "password", "://", "token='", "://a:", "%3A%2F%2F", "s3://", "-----BEGIN PRIVATE KEY-----"]
)
def test_redaction_of_a_hostile_text_takes_no_long_time(part: str) -> None:
    began = time.monotonic()
    redact(part * (100_000 // len(part)) + "@%40 key")
    assert time.monotonic() - began < 5


def test_a_secret_shows_itself_nowhere_but_to_the_one_who_asks() -> None:
    secret = Secret(HUSH)
    with pytest.raises(TypeError) as refused:
        json.dumps({"a": secret})
    shown = [repr(secret), str(secret), f"{secret}", f"{secret:>30}", "%s" % secret, repr([{"a": secret}])]  # noqa: UP031
    shown += [json.dumps({"a": secret}, default=str), str(refused.value), str(vars(type(secret)))]
    assert not leaks(" ".join(shown), HUSH)
    assert secret.reveal() == HUSH


def test_a_secret_is_a_value_that_does_not_change() -> None:
    assert Secret("a") == Secret("a") != Secret("b")
    assert {Secret("a"): 1}[Secret("a")] == 1
    assert Secret("a") == "a"
    assert Secret("a") != 1
    secret = Secret("a")
    assert copy.deepcopy(secret) is secret
    assert copy.copy(secret) is secret
    with pytest.raises(AttributeError, match="cannot be changed"):
        secret.value = "b"  # type: ignore[attr-defined]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_secret_does_not_travel(protocol: int) -> None:
    with pytest.raises(TypeError, match="environment variable"):
        pickle.dumps({"a": Secret(HUSH)}, protocol)


def test_the_text_of_a_dataclass_masks_its_options() -> None:
    @dataclasses.dataclass(repr=False)
    class Holder:
        name: str
        options: dict[str, str]
        counts: dict[int, int]
        __repr__ = masked_repr

    shown = repr(Holder(f"s3://k:{HUSH}@b", {"x.token": HUSH, "bucket": "4"}, {1: 2}))
    assert not leaks(shown, HUSH)
    assert "'bucket': '4'" in shown
    assert "{1: 2}" in shown


def test_patterns_of_spark_are_those_of_java() -> None:
    # What differs between the two languages: named groups, possessive parts, conditionals, flags in the middle.
    for pattern in (SPARK_KEY_PATTERN, SPARK_TEXT_PATTERN):
        assert not re.search(r"\(\?P|\(\?\(|[*+?}]\+", pattern)

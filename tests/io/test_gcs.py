"""Requests to Google Cloud Storage: who signs them, and deletions of many files."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode

import obstore
import pytest

from table_format.errors import InvalidInputError
from table_format.io.gcs import open_gcs
from table_format.options.declare import parse_group
from table_format.options.gcs import GcsOptions
from tests.support.gcs_server import EMAIL, KEY_ID
from tests.support.s3_server import Fault

ENDPOINT = "fs.gs.storage.root.url"


@pytest.fixture
def tokens(gcs_server):
    """The tokens of the requests of a test."""
    gcs_server.tokens.clear()
    return gcs_server.tokens


def opened(server, **options):
    given = {key.replace("_", "."): value for key, value in options.items()}
    return open_gcs(parse_group(GcsOptions, {ENDPOINT: server.endpoint, **given}))


def signer(token):
    """The account and the key that a token names."""
    header, claims, _ = (part + "=" * (-len(part) % 4) for part in token.split("."))
    return json.loads(urlsafe_b64decode(claims))["iss"], json.loads(urlsafe_b64decode(header))["kid"]


def test_every_request_is_signed_with_the_key_of_the_options(gcs_place, tokens):
    gcs_place.io.make_directory(gcs_place.path("d"))
    gcs_place.io.create(gcs_place.path("d/f"), b"x")
    gcs_place.io.delete_tree(gcs_place.path("d"))
    assert {signer(token) for token in tokens} == {(EMAIL, KEY_ID)}


def test_the_key_can_be_in_a_file(gcs_server, gcs_place, tokens, tmp_path):
    key_file = tmp_path / "key.json"
    account = {"client_email": "file@project", "private_key_id": "of-file", "private_key": gcs_server.secret}
    key_file.write_text(json.dumps({"type": "service_account", **account}))
    store = opened(gcs_server, fs_gs_auth_service_account_json_keyfile=str(key_file))
    store.create(gcs_place.path("f"), b"x")
    assert {signer(token) for token in tokens} == {("file@project", "of-file")}


def test_without_authentication_no_request_has_a_token(gcs_server, gcs_place, tokens):
    store = opened(gcs_server, fs_gs_auth_type="UNAUTHENTICATED")
    store.make_directory(gcs_place.path("d"))
    store.create(gcs_place.path("d/f"), b"x")
    assert store.read(gcs_place.path("d/f")) == b"x"
    store.delete_tree(gcs_place.path("d"))
    assert tokens == {""}


def test_requests_are_signed_by_the_options_whatever_the_environment_says(gcs_place, tokens, monkeypatch):
    io, path = gcs_place.io, gcs_place.path("f")
    monkeypatch.setenv("GOOGLE_SKIP_SIGNATURE", "true")
    obstore.put(io.clients.objects("laws"), path.removeprefix("/laws/"), b"x")
    assert {signer(token) for token in tokens} == {(EMAIL, KEY_ID)}
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", "/of/another/program.json")
    with pytest.raises(InvalidInputError, match="variable GOOGLE_SERVICE_ACCOUNT would decide"):
        io.clients.objects("laws")


def test_a_key_file_that_is_missing_is_named(gcs_server):
    store = opened(gcs_server, fs_gs_auth_service_account_json_keyfile="/no/such/key.json")
    with pytest.raises(OSError, match=r"/no/such/key\.json"):
        store.read("/laws/f")


def test_a_damaged_key_is_an_error_that_does_not_show_it(gcs_server):
    damaged = gcs_server.options | {"fs.gs.auth.service.account.private.key": "-----BEGIN PRIVATE KEY-----\nhush-hush"}
    store = open_gcs(parse_group(GcsOptions, damaged))
    for act in (store.read, store.list):
        with pytest.raises(OSError, match="pem") as refused:
            act("/laws/f")
        assert "hush" not in str(refused.value)


def test_the_lines_of_a_key_can_be_separated_as_in_the_key_file(gcs_server, gcs_place, tokens):
    key = {"fs.gs.auth.service.account.private.key": gcs_server.secret.replace("\n", "\\n")}
    open_gcs(parse_group(GcsOptions, gcs_server.options | key)).create(gcs_place.path("f"), b"x")
    assert {signer(token) for token in tokens} == {(EMAIL, KEY_ID)}


def test_a_name_that_is_written_too_often_is_written_by_a_repeated_request(gcs_server, gcs_place):
    refusals = [Fault.TOO_OFTEN] * 2
    with gcs_server.failing(lambda _: refusals.pop() if refusals else None):
        gcs_place.io.overwrite(gcs_place.path("LATEST"), b"2")
    assert (gcs_place.io.read(gcs_place.path("LATEST")), refusals) == (b"2", [])


def test_a_file_that_does_not_exist_does_not_keep_others_from_being_deleted(gcs_place):
    names = [f"f{number}" for number in range(24)]
    for name in (names[0], names[11], names[-1]):
        gcs_place.io.create(gcs_place.path(name), b"x")
    gcs_place.io.delete_files([gcs_place.path(name) for name in names])
    assert gcs_place.names() == []

"""Requests to Alibaba Cloud OSS: their condition, and who signs them."""

from __future__ import annotations

import pytest

from table_format.io.oss import open_oss
from table_format.options.declare import parse_group
from table_format.options.oss import OssOptions


@pytest.fixture
def store(oss_server, oss_place):
    oss_place.io.create(oss_place.path("first"), b"")  # the condition has been tried
    oss_server.keys.clear()
    return oss_place.io


def test_the_condition_of_a_write_is_signed(oss_server, oss_place, store):
    store.create(oss_place.path("f"), b"x")
    with pytest.raises(FileExistsError):
        store.create(oss_place.path("f"), b"y")
    assert store.read(oss_place.path("f")) == b"x"
    assert oss_server.unsigned == []


def test_a_file_is_replaced_without_the_condition(oss_place, store):
    for data in (b"1", b"2"):
        store.overwrite(oss_place.path("LATEST"), data)
    assert store.read(oss_place.path("LATEST")) == b"2"


def test_the_mark_of_a_directory_can_have_any_name(oss_place, store):
    names = ("shop.db", "x=%y", "a+b", "a b", "中")
    for name in names:
        store.make_directory(oss_place.path(f"{name}/t"))
        store.make_directory(oss_place.path(f"{name}/t"))
    assert oss_place.names() == sorted(["first", *names])
    for name in names:
        store.delete_tree(oss_place.path(name))
    assert oss_place.names() == ["first"]


def test_without_keys_in_the_options_those_of_the_environment_sign(oss_server, oss_place, store, monkeypatch):
    monkeypatch.setenv("OSS_ACCESS_KEY_ID", "of-environment")
    monkeypatch.setenv("OSS_ACCESS_KEY_SECRET", "hush")
    other = open_oss(parse_group(OssOptions, {"fs.oss.endpoint": f"{oss_server.endpoint}/"}))
    assert other.read(oss_place.path("first")) == b""
    assert oss_server.keys == {"of-environment"}

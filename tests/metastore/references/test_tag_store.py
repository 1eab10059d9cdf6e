from __future__ import annotations

import errno
import os
from dataclasses import replace

import pytest

from table_format.errors import AlreadyExistsError, CorruptionError, InvalidIdentifier, SnapshotExpired, TagNotFound
from table_format.metastore.references.tag_store import TagStore
from tests.support.metastore_table import HOUR, a_table


def test_a_tag_without_a_retention_time_has_the_bytes_of_the_snapshot():
    table = a_table()
    snapshot = table.append()
    TagStore(table.store).create("v1", snapshot)
    paths = table.store.paths
    assert table.store.io.read(paths.tag("v1")) == table.store.io.read(paths.snapshot(1))


def test_tags_are_listed_loaded_and_end():
    table = a_table()
    tags = TagStore(table.store)
    assert list(tags.names()) == []
    tags.create("b", table.append())
    tags.create("a", table.append(identifier=2), time_retained_ms=HOUR)
    assert list(tags.names()) == ["a", "b"]
    assert (tags.load("a").snapshot.id, tags.load("a").time_retained_ms) == (2, HOUR)
    assert tags.load("a").create_time_ms == table.clock.ms
    assert {name: tag.snapshot.id for name, tag in tags.all().items()} == {"a": 2, "b": 1}
    tags.remove("a")
    tags.remove("a")
    with pytest.raises(TagNotFound, match="tag 'a' does not exist; the tags are b"):
        tags.load("a")


def test_names_are_unique_and_legal():
    table = a_table()
    tags, snapshot = TagStore(table.store), table.append()
    tags.create("t", snapshot)
    with pytest.raises(AlreadyExistsError, match="tag 't' already exists"):
        tags.create("t", table.append(identifier=2))
    for name in ("", "7", "../x", "a/b"):
        with pytest.raises(InvalidIdentifier):
            tags.create(name, snapshot)


def test_an_expired_snapshot_cannot_be_tagged():
    table = a_table()
    snapshot = table.append()
    table.append(identifier=2)
    table.snapshots.delete(1)
    with pytest.raises(SnapshotExpired):
        TagStore(table.store).create("late", snapshot)
    assert list(TagStore(table.store).names()) == []


def test_a_broken_tag_names_its_file():
    table = a_table()
    table.append()
    table.store.io.create(table.store.paths.tag("t"), b"nonsense")
    with pytest.raises(CorruptionError, match="tag-t"):
        TagStore(table.store).load("t")


class _FullDisk:
    """A store that refuses to write files with some names."""

    def __init__(self, io, name):
        self._io, self._name = io, name

    def __getattr__(self, verb):
        return getattr(self._io, verb)

    def _write(self, verb, path, data):
        if path.endswith(self._name):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        getattr(self._io, verb)(path, data)

    def create(self, path, data):
        self._write("create", path, data)

    def overwrite(self, path, data):
        self._write("overwrite", path, data)


def test_a_tag_that_a_full_disk_refuses_leaves_no_notice():
    table = a_table()
    snapshot = table.append()
    full = TagStore(replace(table.store, io=_FullDisk(table.store.io, "/tag-t")))
    with pytest.raises(OSError, match="/tag-t"):
        full.create("t", snapshot)
    assert TagStore(table.store).names_being_deleted() == []


def test_a_tag_whose_replacement_a_full_disk_refuses_is_as_before():
    table = a_table()
    tags, snapshot = TagStore(table.store), table.append()
    tags.create("t", snapshot)
    full = TagStore(replace(table.store, io=_FullDisk(table.store.io, "/tag-t")))
    with pytest.raises(OSError, match="/tag-t"):
        full.replace("t", table.append(identifier=2))
    assert tags.names_being_deleted() == []
    assert tags.load("t").snapshot.is_same(snapshot)
    tags.refuse_if_being_deleted("t")

"""Directories of Google Cloud Storage: beginnings of names, and the marks of Hadoop."""

from __future__ import annotations

import pytest
from pyarrow import fs


@pytest.fixture
def place(gcs_place):
    return gcs_place


def test_the_marks_of_a_tree_are_deleted_with_it_at_every_depth(place):
    place.io.make_directory(place.path("t/a/b"))
    place.io.create(place.path("t/a/f"), b"1")
    assert place.names("t/a") == ["b", "f"]
    place.io.delete_tree(place.path("t"))
    assert place.io.status(place.path("t")) is None
    assert place.names() == []


def test_an_empty_file_beside_a_mark_is_moved_and_deleted_as_a_file(place):
    place.io.create(place.path("t/empty"), b"")
    place.io.make_directory(place.path("t/marked"))
    place.io.rename_directory(place.path("t"), place.path("u"))
    assert place.names() == ["u"]
    assert place.names("u") == ["empty"]
    place.io.delete_tree(place.path("u"))
    assert place.names() == []


def test_what_others_write_into_a_directory_stays_if_its_marks_are_deleted(place):
    place.io.make_directory(place.path("d"))
    place.io.create(place.path("d/empty"), b"")
    place.io.clients.file_system().delete_dir(place.path("d")[1:])
    assert place.names("d") == ["empty"]
    place.io.delete(place.path("d/empty"))
    assert place.io.status(place.path("d")) is None


def test_a_file_and_a_directory_can_have_one_name(place):
    place.io.create(place.path("x"), b"1")
    place.io.create(place.path("x/y"), b"2")
    place.io.make_directory(place.path("x"))
    assert [(child.name, child.is_directory) for child in place.io.list(place.root)] == [("x", True), ("x", False)]
    assert place.io.status(place.path("x")).size == 1
    assert place.names("x") == ["y"]


def test_a_mark_keeps_its_name_to_the_character(place):
    names = ["100%25", "a b", "a%2Fb", "q'uote\"&;+", "ä中😀"]
    for name in names:
        place.io.make_directory(place.path(f"{name}/{name}"))
    assert place.names() == sorted(names)
    assert [place.names(name) for name in names] == [[name] for name in names]
    for name in names:
        place.io.delete_tree(place.path(name))
    assert place.names() == []


def test_a_bucket_is_a_directory_and_what_is_missing_in_it_is_none(place):
    directories = place.io.clients.file_system()
    assert directories.get_file_info("laws").type is fs.FileType.Directory
    assert directories.get_file_info("laws/no/such").type is fs.FileType.NotFound
    assert directories.get_file_info(fs.FileSelector("laws/no/such", allow_not_found=True)) == []

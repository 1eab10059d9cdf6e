"""The laws of ``FileIO``: one suite that every store passes."""

from __future__ import annotations

import threading

import pytest

from table_format.errors import Truncated
from table_format.io.file_io import FileTooLarge, RemoteStore
from table_format.io.locations import Location
from table_format.io.regular_files import read_file
from table_format.limits import MAX_JSON_BYTES, MAX_UNANNOUNCED_BYTES, MIB
from table_format.object_table.listing import listed

ODD_NAMES = ["a b", "100%25", "a%2Fb", "ä€中文😀", "~!@$&(),;+", "data-x.zstd.parquet", "trailing.", "q'uote\"", "-"]
ALL_VERBS = [
    ("read", ()),
    ("open_input", ()),
    ("create", (b"x",)),
    ("overwrite", (b"x",)),
    ("open_output", ()),
    ("status", ()),
    ("list", ()),
    ("delete", ()),
    ("delete_tree", ()),
    ("delete_empty_directory", ()),
    ("make_directory", ()),
]


def race(actions):
    """Run the actions in one thread each, all released at once; the results in the order of the actions."""
    barrier = threading.Barrier(len(actions))
    results = [None] * len(actions)

    def body(index):
        barrier.wait()
        try:
            results[index] = actions[index]()
        except OSError as error:
            results[index] = error

    threads = [threading.Thread(target=body, args=(i,)) for i in range(len(actions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_a_created_file_is_read_back_and_listed(place):
    place.io.create(place.path("dir/file"), b"bytes")
    assert place.io.read(place.path("dir/file")) == b"bytes"
    assert place.names("dir") == ["file"]
    status = place.io.status(place.path("dir/file"))
    assert (status.name, status.size, status.is_directory) == ("file", 5, False)
    assert status.modified_ms > 0


def test_an_empty_file_is_a_file(place):
    place.io.create(place.path("empty"), b"")
    assert place.io.read(place.path("empty")) == b""
    assert place.io.status(place.path("empty")).size == 0


def test_of_64_threads_that_create_one_name_exactly_one_wins_and_its_bytes_stay(place):
    rounds = 2 if isinstance(place.io, RemoteStore) else 5
    for round_ in range(rounds):
        path = place.path(f"snapshot/snapshot-{round_}")
        results = race([lambda i=i, path=path: place.io.create(path, b"%d" % i) for i in range(64)])
        winners = [i for i, result in enumerate(results) if result is None]
        assert len(winners) == 1
        assert all(isinstance(r, FileExistsError) for i, r in enumerate(results) if i != winners[0])
        assert place.io.read(path) == b"%d" % winners[0]
    assert place.names("snapshot") == [f"snapshot-{i}" for i in range(rounds)]


def test_create_refuses_a_name_that_is_taken_by_a_directory(directories):
    directories.io.make_directory(directories.path("d"))
    with pytest.raises(FileExistsError):
        directories.io.create(directories.path("d"), b"x")


def test_a_name_can_be_created_again_after_its_deletion(place):
    place.io.create(place.path("f"), b"1")
    place.io.delete(place.path("f"))
    place.io.create(place.path("f"), b"2")
    assert place.io.read(place.path("f")) == b"2"


def test_readers_see_old_or_new_bytes_of_an_overwritten_file_and_never_a_mixture(place):
    path = place.path("LATEST")
    versions = [bytes([digit]) * 100_000 for digit in b"0123456789"]
    place.io.overwrite(path, versions[0])
    seen = []

    def read():
        for _ in range(200):
            seen.append(place.io.read(path))

    def write():
        for version in versions * 5:
            place.io.overwrite(path, version)

    assert race([read, read, write]) == [None, None, None]
    assert set(seen) <= set(versions)
    assert place.io.read(path) == versions[-1]
    assert place.names() == ["LATEST"]


def test_overwrite_makes_the_file_and_its_directories(place):
    place.io.overwrite(place.path("a/b/hint"), b"1")
    assert place.io.read(place.path("a/b/hint")) == b"1"


def test_overwrite_refuses_a_directory(directories):
    directories.io.make_directory(directories.path("d"))
    with pytest.raises(IsADirectoryError):
        directories.io.overwrite(directories.path("d"), b"x")
    assert directories.names("d") == []


def test_an_output_holds_what_was_written_when_it_is_closed(place):
    path = place.path("p=1/bucket-0/data-1.parquet")
    with place.io.open_output(path) as sink:
        sink.write(b"head")
        sink.write(b"tail")
    assert place.io.read(path) == b"headtail"
    assert place.io.status(path).size == 8


def test_closing_an_output_twice_changes_nothing(place):
    sink = place.io.open_output(place.path("f"))
    sink.write(b"x")
    sink.close()
    sink.close()
    assert sink.closed
    assert place.io.read(place.path("f")) == b"x"


def test_an_output_refuses_a_name_that_exists(place):
    place.io.create(place.path("f"), b"first")
    with pytest.raises(FileExistsError):
        place.io.open_output(place.path("f")).close()
    assert place.io.read(place.path("f")) == b"first"


def test_an_abandoned_output_can_be_deleted(place):
    sink = place.io.open_output(place.path("f"))
    sink.write(b"part")
    place.io.delete(place.path("f"))
    assert place.io.status(place.path("f")) is None


def test_an_input_is_seekable(place):
    place.io.create(place.path("f"), b"0123456789")
    with place.io.open_input(place.path("f")) as source:
        assert source.size() == 10
        source.seek(7)
        assert source.read() == b"789"
        assert source.read_at(3, 2) == b"234"


@pytest.mark.parametrize("verb", ["read", "open_input"])
def test_reading_what_is_not_there_raises_file_not_found(place, verb):
    with pytest.raises(FileNotFoundError):
        getattr(place.io, verb)(place.path("missing"))
    with pytest.raises(FileNotFoundError):
        getattr(place.io, verb)(place.path("no/such/directory/file"))


def test_reading_a_directory_is_an_error(place):
    place.io.make_directory(place.path("d"))
    with pytest.raises(OSError):
        place.io.read(place.path("d"))


def test_what_is_not_there_has_no_status(place):
    place.io.create(place.path("f"), b"")
    assert place.io.status(place.path("missing")) is None
    assert place.io.status(place.path("no/such/dir")) is None


def test_a_directory_has_a_status_without_size_and_time(place):
    place.io.make_directory(place.path("a/b"))
    status = place.io.status(place.path("a"))
    assert (status.name, status.size, status.modified_ms, status.is_directory) == ("a", 0, 0, True)


def test_a_listing_is_sorted_and_shows_files_and_directories_but_not_what_lies_deeper(place):
    for name in ["b", "a", "sub/deep", "sub2/x/y", "C"]:
        place.io.create(place.path(name), b"1")
    assert place.names() == ["C", "a", "b", "sub", "sub2"]
    assert [s.is_directory for s in place.io.list(place.root)] == [False, False, False, True, True]


def test_a_missing_directory_lists_as_empty(place):
    assert place.io.list(place.path("no/such")) == []


def test_hidden_and_temporary_files_are_not_listed(place):
    for name in [".hidden", ".snapshot-1.uuid.tmp", "seen"]:
        place.io.create(place.path(name), b"")
    assert place.names() == ["seen"]
    hidden = place.io.list_hidden(place.path("seen").rpartition("/")[0])
    assert [child.name for child in hidden] == [".hidden", ".snapshot-1.uuid.tmp"]
    assert place.io.list_hidden(place.path("nothing")) == []


def test_a_file_is_listed_as_soon_as_it_is_created_and_no_longer_once_deleted(place):
    for i in range(20):
        place.io.create(place.path(f"f{i:02}"), b"")
        assert len(place.names()) == i + 1
    for i in range(20):
        place.io.delete(place.path(f"f{i:02}"))
        assert len(place.names()) == 19 - i


def test_deleting_what_is_not_there_does_nothing(place):
    place.io.delete(place.path("missing"))
    place.io.delete(place.path("no/such/missing"))
    place.io.delete_tree(place.path("no/such"))
    assert place.io.delete_empty_directory(place.path("no/such")) is False


def test_threads_that_delete_the_same_file_all_succeed(place):
    place.io.create(place.path("f"), b"")
    assert race([lambda: place.io.delete(place.path("f"))] * 16) == [None] * 16


def test_delete_refuses_a_directory(directories):
    directories.io.make_directory(directories.path("d"))
    with pytest.raises(OSError):
        directories.io.delete(directories.path("d"))
    assert directories.names() == ["d"]


def test_delete_tree_takes_everything_below_and_nothing_beside(place):
    for name in ["t/a", "t/b/c", "t/.hidden", "tt/x", "u"]:
        place.io.create(place.path(name), b"")
    place.io.delete_tree(place.path("t"))
    assert place.names() == ["tt", "u"]
    assert place.names("tt") == ["x"]


def test_threads_that_delete_one_tree_all_succeed(place):
    for i in range(40):
        place.io.create(place.path(f"t/{i % 4}/{i}"), b"")
    assert race([lambda: place.io.delete_tree(place.path("t"))] * 8) == [None] * 8
    assert place.names() == []


def test_only_an_empty_directory_is_deleted_as_empty(directories):
    directories.io.make_directory(directories.path("d"))
    directories.io.create(directories.path("d/f"), b"")
    assert directories.io.delete_empty_directory(directories.path("d")) is False
    directories.io.delete(directories.path("d/f"))
    assert directories.io.delete_empty_directory(directories.path("d")) is True
    assert directories.io.status(directories.path("d")) is None


def test_a_directory_that_holds_only_a_hidden_file_is_not_empty(place):
    place.io.create(place.path("d/.f.tmp"), b"")
    assert place.io.delete_empty_directory(place.path("d")) is False


def test_a_directory_moves_with_all_it_holds(place):
    place.io.create(place.path("old/a"), b"1")
    place.io.create(place.path("old/sub/b"), b"2")
    place.io.rename_directory(place.path("old"), place.path("new/home"))
    assert place.names() == ["new"]
    assert place.names("new/home") == ["a", "sub"]
    assert place.io.read(place.path("new/home/sub/b")) == b"2"


@pytest.mark.parametrize("filled", [True, False])
def test_a_directory_does_not_move_onto_one_that_exists(place, filled):
    place.io.create(place.path("old/a"), b"1")
    place.io.make_directory(place.path("new"))
    if filled:
        place.io.create(place.path("new/b"), b"2")
    with pytest.raises(FileExistsError):
        place.io.rename_directory(place.path("old"), place.path("new"))
    assert place.names("old") == ["a"]
    assert place.names("new") == (["b"] if filled else [])


def test_a_missing_directory_does_not_move(place):
    with pytest.raises(FileNotFoundError):
        place.io.rename_directory(place.path("old"), place.path("new"))
    assert place.names() == []


def test_a_directory_does_not_move_below_itself(place):
    place.io.create(place.path("d/a"), b"1")
    with pytest.raises(OSError):
        place.io.rename_directory(place.path("d"), place.path("d/e"))
    assert place.io.read(place.path("d/a")) == b"1"


def test_of_threads_that_move_directories_to_one_name_exactly_one_wins(place):
    for i in range(8):
        place.io.create(place.path(f"d{i}/f"), b"%d" % i)
    results = race([lambda i=i: place.io.rename_directory(place.path(f"d{i}"), place.path("x")) for i in range(8)])
    winners = [i for i, result in enumerate(results) if result is None]
    assert len(winners) == 1
    assert place.io.read(place.path("x/f")) == b"%d" % winners[0]
    assert len(place.names()) == 8


def test_making_a_directory_again_does_nothing(place):
    place.io.make_directory(place.path("a/b"))
    place.io.create(place.path("a/b/f"), b"")
    place.io.make_directory(place.path("a/b"))
    assert place.names("a/b") == ["f"]


def test_a_file_cannot_become_a_directory(directories):
    directories.io.create(directories.path("f"), b"")
    for action in (
        lambda: directories.io.make_directory(directories.path("f")),
        lambda: directories.io.create(directories.path("f/g"), b""),
        lambda: directories.io.list(directories.path("f")),
    ):
        with pytest.raises(OSError):
            action()
    assert directories.io.read(directories.path("f")) == b""


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_are_kept_to_the_character(place, name):
    place.io.create(place.path(f"{name}/{name}"), b"1")
    assert place.names() == [name]
    assert place.names(name) == [name]
    assert place.io.read(place.path(f"{name}/{name}")) == b"1"
    with place.io.open_input(place.path(f"{name}/{name}")) as source:
        assert source.read() == b"1"


@pytest.mark.parametrize("path", ["relative", "", "/a/../b", "/a/./b", "/a//b", "/a/", "/a\0b"])
@pytest.mark.parametrize(("verb", "arguments"), ALL_VERBS)
def test_a_path_that_could_lead_elsewhere_is_refused_by_every_verb(place, verb, arguments, path):
    with pytest.raises(OSError, match="absolute path"):
        getattr(place.io, verb)(path, *arguments)


def test_threads_that_create_and_delete_in_one_directory_do_not_disturb_each_other(place):
    def work(i):
        for n in range(20):
            place.io.create(place.path(f"d/{i}-{n}"), b"x")
            place.io.delete(place.path(f"d/{i}-{n}"))
            place.io.delete_empty_directory(place.path("d"))

    assert race([lambda i=i: work(i) for i in range(4)]) == [None] * 4
    assert place.names("d") == []


@pytest.mark.parametrize(
    ("name", "limit"), [("LATEST", MIB), ("snapshot-1", MAX_JSON_BYTES), ("manifest-1", MAX_UNANNOUNCED_BYTES)]
)
def test_a_file_larger_than_its_name_allows_is_not_read(place, name, limit):
    place.io.create(place.path(name), b"x" * limit)
    assert len(place.io.read(place.path(name))) == limit
    place.io.delete(place.path(name))
    place.io.create(place.path(name), b"x" * (limit + 1))
    with pytest.raises(FileTooLarge, match=place.path(name)) as caught:
        place.io.read(place.path(name))
    assert (caught.value.size, caught.value.limit) == (limit + 1, limit)
    with place.io.open_input(place.path(name)) as source:
        assert source.size() == limit + 1


def test_a_large_file_is_read_when_its_size_is_announced_and_only_then_compared(place):
    path = place.path("manifest-1")
    data = b"x" * (MAX_UNANNOUNCED_BYTES + 1)
    place.io.create(path, data)
    assert read_file(place.io, path, size=len(data)) == read_file(place.io, path) == data
    with pytest.raises(Truncated, match=f"expected 7 bytes, found {len(data)}"):
        read_file(place.io, path, size=7)


def test_all_files_below_a_directory_are_listed_with_their_sizes_and_times(place):
    for name, data in (("a.png", b"1"), ("sub/b c%.png", b"22"), ("sub/.deep/_c", b"333"), (".hidden", b"")):
        place.io.create(place.path(f"d/{name}"), data)
    place.io.make_directory(place.path("d/empty"))
    place.io.create(place.path("dd"), b"another")
    location = Location(place.io, place.path("d"))
    found = {row["path"].removeprefix(f"{location.uri}/"): row for row in listed(location).to_pylist()}
    assert {name: row["length"] for name, row in found.items()} == {
        "a.png": 1,
        "sub/b c%.png": 2,
        "sub/.deep/_c": 3,
        ".hidden": 0,
    }
    assert {row["mtime"].year >= 2026 for row in found.values()} == {True}
    assert found["sub/.deep/_c"]["parent_path"] == f"{location.uri}/sub/.deep"
    assert listed(Location(place.io, place.path("none"))).num_rows == 0

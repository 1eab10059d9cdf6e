"""What a network and a store do to requests: lost answers, refusals, ignored conditions; and how files are sent."""

from __future__ import annotations

import errno
import gc
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import count

import pyarrow as pa
import pytest

from table_format.io.file_io import FileTooLarge
from table_format.io.object_store import UPLOAD_BYTES, ObjectStoreFileIO
from table_format.io.remote_file import TAIL_BYTES
from tests.support.s3_server import KEY, Fault, Request


def requests_of(method: str, fault: Fault):
    """The fault for the first request with this method."""
    left = [fault]

    def choose(request: Request):
        return left.pop() if request.method == method and left else None

    return choose


@pytest.fixture(params=["s3", "gcs", "oss", pytest.param("fake_gcs", marks=pytest.mark.oracle)])
def store(request):
    """The name of a store whose requests can be made to fail."""
    return request.param


@pytest.fixture
def server(request, store):
    return request.getfixturevalue(f"{store}_server")


@pytest.fixture
def place(request, store):
    return request.getfixturevalue(f"{store}_place")


@pytest.fixture
def own(server, place):
    """A client of its own, which has not yet tried the conditions of the store."""
    clients = place.io.clients
    endpoint = f"{server.endpoint}{'/' * next(NUMBERS)}"
    return ObjectStoreFileIO(replace(clients, options=replace(clients.options, endpoint=endpoint)))


NUMBERS = count(1)


def test_a_file_whose_creation_got_no_answer_is_ours(server, place):
    path = place.path("snapshot-1")
    with server.failing(requests_of("PUT", Fault.LOST_ANSWER)):
        place.io.create(path, b"ours")
    assert place.io.read(path) == b"ours"
    with pytest.raises(FileExistsError):
        place.io.create(path, b"ours")


def test_a_file_that_another_created_while_we_got_no_answer_is_not_ours(server, place):
    path = place.path("snapshot-1")

    def other_is_faster(request: Request):
        if request.method != "PUT" or server.fault is None:
            return None
        server.fault = lambda _: None
        place.io.create(path, b"same")
        return Fault.REFUSED

    with server.failing(other_is_faster), pytest.raises(FileExistsError):
        place.io.create(path, b"same")


def test_a_move_is_refused_if_another_completes_one_to_the_same_name_first(server, place):
    for name in ("theirs", "ours"):
        place.io.create(place.path(f"{name}/f"), name.encode())

    def other_is_faster(request: Request):
        if request.method != "PUT" or not request.path.endswith(".moving"):
            return
        server.fault = lambda _: None
        place.io.rename_directory(place.path("theirs"), place.path("x"))

    with server.failing(other_is_faster), pytest.raises(FileExistsError):
        place.io.rename_directory(place.path("ours"), place.path("x"))
    assert (place.io.read(place.path("x/f")), place.names("x")) == (b"theirs", ["f"])
    assert place.io.read(place.path("ours/f")) == b"ours"


@pytest.mark.parametrize("fault", [Fault.REFUSED, Fault.LOST_ANSWER])
@pytest.mark.parametrize(
    ("method", "act"),
    [
        ("GET", lambda place: place.io.read(place.path("f"))),
        ("GET", lambda place: place.io.open_input(place.path("f")).read()),
        ("GET", lambda place: place.names()),
        ("HEAD", lambda place: place.io.has_file(place.path("f"))),
        ("PUT", lambda place: place.io.overwrite(place.path("f"), b"x")),
        ("deletion", lambda place: place.io.delete(place.path("f"))),
    ],
)
def test_a_request_without_an_answer_is_repeated(server, place, method, act, fault):
    place.io.create(place.path("f"), b"x")
    method = server.deletion if method == "deletion" else method
    with server.counted() as seen, server.failing(requests_of(method, fault)):
        act(place)
    assert [request.method for request in seen].count(method) >= 2


@pytest.mark.parametrize("store", ["s3", "oss"])
def test_keys_of_the_options_are_not_mixed_with_those_of_the_environment(server, place, own, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "of-environment")
    server.keys.clear()
    own.create(place.path("d/f"), b"x")
    own.delete_tree(place.path("d"))
    assert (server.keys, server.session_tokens) == ({KEY}, set())


@pytest.mark.parametrize("store", ["s3", "oss"])
def test_a_write_is_conditional_whatever_the_environment_says(place, own, monkeypatch):
    monkeypatch.setenv("AWS_CONDITIONAL_PUT", "disabled")
    own.create(place.path("f"), b"x")
    with pytest.raises(FileExistsError):
        own.create(place.path("f"), b"y")


@pytest.mark.parametrize("store", ["s3", "oss"])
@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"])
def test_files_go_to_the_store_of_the_options_whatever_the_environment_says(place, own, monkeypatch, name):
    monkeypatch.setenv(name, "http://127.0.0.1:1")
    own.create(place.path("f"), b"x")
    assert place.io.read(place.path("f")) == b"x"


@pytest.mark.parametrize("store", ["s3", "oss"])
def test_every_request_is_signed_whatever_the_environment_says(server, place, own, monkeypatch):
    for name in ("AWS_SKIP_SIGNATURE", "AWS_S3_EXPRESS"):
        monkeypatch.setenv(name, "true")
    server.keys.clear()
    with server.counted() as seen:
        own.overwrite(place.path("f"), b"x")
    assert (len(seen), server.keys) == (1, {KEY})


def test_a_store_that_ignores_conditions_is_refused_before_anything_is_written(server, place, own):
    path = place.path("snapshot-1")
    with server.failing(lambda _: Fault.UNCONDITIONAL):
        with pytest.raises(OSError, match=r"ignores the condition of a write \(the name must be free\)") as caught:
            own.create(path, b"x")
        assert caught.value.errno == errno.EOPNOTSUPP
    assert place.names() == []
    assert place.io.list_hidden(place.root) == []


def test_the_conditions_of_a_store_are_tried_once(server, place, own):
    with server.counted() as first:
        own.create(place.path("a"), b"x")
    with server.counted() as second:
        own.create(place.path("b"), b"x")
    assert len(first) > 1
    assert [request.method for request in second] == ["PUT"]


def test_an_error_names_the_path_and_hides_the_answer_and_the_keys(server, place):
    path = place.path("f")
    with server.failing(lambda _: Fault.REFUSED), pytest.raises(OSError, match="503") as caught:
        place.io.read(path)
    assert caught.value.filename == place.io.uri(path)
    assert caught.value.errno == errno.EIO
    assert server.secret not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("verb", ["create", "overwrite", "make_directory"])
def test_a_missing_bucket_is_named(place, verb):
    arguments = () if verb == "make_directory" else (b"x",)
    with pytest.raises(FileNotFoundError, match="the bucket 'nowhere' does not exist"):
        getattr(place.io, verb)("/nowhere/w/f", *arguments)


def test_a_small_file_is_written_and_read_by_one_request_each(server, place):
    path = place.path("data")
    place.io.create(place.path("first"), b"")
    with server.counted() as writing, place.io.open_output(path) as sink:
        sink.write(b"x" * 1000)
    assert [request.method for request in writing] == ["PUT"]
    with server.counted() as reading, place.io.open_input(path) as source:
        assert source.read() == b"x" * 1000
    assert [request.method for request in reading] == ["GET"]


def test_a_large_file_is_sent_in_parts_and_read_in_ranges(server, place):
    path, data = place.path("data"), bytes(range(256)) * (UPLOAD_BYTES // 100)
    with place.io.open_output(path) as sink:
        for start in range(0, len(data), 1_000_000):
            sink.write(data[start : start + 1_000_000])
        assert place.io.status(path) is None
    with place.io.open_input(path) as source, server.counted() as requests:
        assert source.size() == len(data)
        source.prefetch([(100, 200), (5_000_000, 6_000_000)])
        assert source.read_at(100, 100) == data[100:200]
        assert source.read_at(1000, 5_000_500) == data[5_000_500:5_001_500]
        assert source.read_at(TAIL_BYTES, len(data) - TAIL_BYTES) == data[-TAIL_BYTES:]
    assert len(requests) == 2


def test_many_files_are_deleted_by_few_requests(s3_server, s3_place):
    names = [f"f{number}" for number in range(1200)]
    for name in names[:3]:
        s3_place.io.create(s3_place.path(name), b"x")
    with s3_server.counted() as requests:
        s3_place.io.delete_files([s3_place.path(name) for name in names])
    assert [request.method for request in requests] == ["POST", "POST"]
    assert s3_place.names() == []


def test_files_that_another_deletes_at_the_same_moment_are_deleted(s3_server, s3_place):
    paths = [s3_place.path(name) for name in ("f", "g")]
    for path in paths:
        s3_place.io.create(path, b"x")
    with s3_server.failing(lambda _: Fault.GONE):
        s3_place.io.delete(paths[0])
        s3_place.io.delete_files(paths)
    # These files still exist. After such an answer, each file has a request of its own.
    with s3_server.failing(requests_of("POST", Fault.GONE)):
        s3_place.io.delete_files(paths)
    assert s3_place.names() == []


def test_a_large_output_refuses_a_name_that_exists(place):
    path = place.path("data")
    place.io.create(path, b"first")
    with pytest.raises(FileExistsError), place.io.open_output(path) as sink:
        sink.write(b"x" * (UPLOAD_BYTES + 1))
    assert place.io.read(path) == b"first"


@pytest.mark.parametrize("size", [10, UPLOAD_BYTES + 1])
def test_an_output_that_is_given_up_never_becomes_a_file(place, size):
    sink = place.io.open_output(place.path("f"))
    sink.write(b"x" * size)
    del sink
    gc.collect()
    assert place.names() == []


def test_a_file_beyond_the_limit_is_not_read(place):
    place.io.create(place.path("LATEST"), b"1" * (1 << 20 | 1))
    with pytest.raises(FileTooLarge):
        place.io.read(place.path("LATEST"))


def test_a_database_that_another_engine_marked_is_a_directory_and_can_be_deleted(place):
    place.io.clients.file_system().create_dir(place.path("shop.db")[1:])
    assert place.names() == ["shop.db"]
    assert place.io.status(place.path("shop.db")).is_directory
    place.io.delete_tree(place.path("shop.db"))
    assert place.names() == []


def test_an_empty_directory_is_not_deleted_because_others_may_write_into_it(place):
    place.io.make_directory(place.path("d"))
    assert place.io.delete_empty_directory(place.path("d")) is False
    assert place.io.status(place.path("d")).is_directory


def test_a_tree_is_deleted_although_the_store_fails_while_it_shrinks(server, place):
    for number in range(4):
        place.io.create(place.path(f"t/{number}"), b"x")
    failures = [Fault.LOST_ANSWER] * 12

    def each_deletion(request: Request):
        return failures.pop() if request.method == server.deletion and failures else None

    with server.failing(each_deletion):
        place.io.delete_tree(place.path("t"))
    assert place.names() == []


def test_a_tree_that_does_not_shrink_is_an_error(server, place):
    place.io.create(place.path("t/f"), b"x")
    refused = server.failing(lambda request: Fault.REFUSED if request.method == server.deletion else None)
    with refused, pytest.raises(OSError, match="503"):
        place.io.delete_tree(place.path("t"))
    assert place.names("t") == ["f"]


def test_a_name_that_the_store_calls_taken_without_a_file_is_tried_again(server, place):
    path = place.path("f")
    place.io.create(place.path("other"), b"x")
    taken = [Fault.TAKEN]

    def once(request: Request):
        return taken.pop() if request.method == "PUT" and taken else None

    with server.failing(once):
        place.io.create(path, b"ours")
    assert place.io.read(path) == b"ours"


def test_the_store_is_sent_to_another_process_with_its_keys_and_shows_none(server, place):
    place.io.create(place.path("f"), b"x")
    sent = pickle.loads(pickle.dumps(place.io))  # noqa: S301 - our own bytes
    assert sent.clients == place.io.clients
    assert sent.read(place.path("f")) == b"x"
    assert server.secret not in repr(sent)


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_new_process_opens_its_own_connections(s3_place, method):
    s3_place.io.create(s3_place.path("f"), b"x")
    assert seen_elsewhere(method, s3_place) == (b"x", ["f"])


def test_a_fork_of_a_process_with_open_connections_raises_and_does_not_wait(s3_place):
    s3_place.io.create(s3_place.path("f"), b"x")
    with pytest.raises(OSError, match="start processes by 'spawn' or 'forkserver'"):
        seen_elsewhere("fork", s3_place)


def seen_elsewhere(method: str, place) -> tuple[bytes, list[str]]:
    with ProcessPoolExecutor(1, multiprocessing.get_context(method)) as pool:
        return pool.submit(seen, place.io, place.root).result(timeout=60)


def seen(store: ObjectStoreFileIO, root: str) -> tuple[bytes, list[str]]:
    return store.read(f"{root}/f"), [child.name for child in store.list(root)]


def test_arrow_writes_and_reads_parquet(server, place):
    import pyarrow.parquet as pq

    rows = pa.table({"id": range(1000)})
    with place.io.open_output(place.path("t.parquet")) as sink:
        pq.write_table(rows, sink)
    with place.io.open_input(place.path("t.parquet")) as source:
        assert pq.read_table(source).equals(rows)

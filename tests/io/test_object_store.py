"""What a network and a store do to requests: lost answers, refusals, ignored conditions; and how files are sent."""

from __future__ import annotations

import errno
import gc
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import pyarrow as pa
import pytest

from table_format.io.file_io import FileTooLarge
from table_format.io.object_store import UPLOAD_BYTES, ObjectStoreFileIO
from table_format.io.remote_file import TAIL_BYTES
from table_format.io.s3 import open_s3
from table_format.options.declare import parse_group
from table_format.options.s3 import S3Options
from tests.support.s3_server import SECRET, Fault, Request


def requests_of(method: str, fault: Fault):
    """The fault for the first request with this method."""
    left = [fault]

    def choose(request: Request):
        return left.pop() if request.method == method and left else None

    return choose


@pytest.fixture
def own(s3_server):
    """A client of its own, which has not yet tried the conditions of the store."""
    options = parse_group(S3Options, s3_server.options | {"s3.access-key": f"key-{next(NUMBERS)}"})
    return open_s3(options)


NUMBERS = iter(range(1_000_000))


def test_a_file_whose_creation_got_no_answer_is_ours(s3_server, s3_place):
    path = s3_place.path("snapshot-1")
    with s3_server.failing(requests_of("PUT", Fault.LOST_ANSWER)):
        s3_place.io.create(path, b"ours")
    assert s3_place.io.read(path) == b"ours"
    with pytest.raises(FileExistsError):
        s3_place.io.create(path, b"ours")


def test_a_file_that_another_created_while_we_got_no_answer_is_not_ours(s3_server, s3_place):
    path = s3_place.path("snapshot-1")

    def other_is_faster(request: Request):
        if request.method != "PUT" or s3_server.fault is None:
            return None
        s3_server.fault = lambda _: None
        s3_place.io.create(path, b"same")
        return Fault.REFUSED

    with s3_server.failing(other_is_faster), pytest.raises(FileExistsError):
        s3_place.io.create(path, b"same")


@pytest.mark.parametrize("fault", [Fault.REFUSED, Fault.LOST_ANSWER])
@pytest.mark.parametrize(
    ("method", "act"),
    [
        ("GET", lambda place: place.io.read(place.path("f"))),
        ("GET", lambda place: place.io.open_input(place.path("f")).read()),
        ("GET", lambda place: place.names()),
        ("HEAD", lambda place: place.io.has_file(place.path("f"))),
        ("PUT", lambda place: place.io.overwrite(place.path("f"), b"x")),
        ("POST", lambda place: place.io.delete(place.path("f"))),
    ],
)
def test_a_request_without_an_answer_is_repeated(s3_server, s3_place, method, act, fault):
    s3_place.io.create(s3_place.path("f"), b"x")
    with s3_server.counted() as seen, s3_server.failing(requests_of(method, fault)):
        act(s3_place)
    assert [request.method for request in seen].count(method) >= 2


def test_a_store_that_ignores_conditions_is_refused_before_anything_is_written(s3_server, s3_place, own):
    path = s3_place.path("snapshot-1")
    with s3_server.failing(lambda _: Fault.UNCONDITIONAL):
        with pytest.raises(OSError, match=r"ignores the condition of a write \(the name must be free\)") as caught:
            own.create(path, b"x")
        assert caught.value.errno == errno.EOPNOTSUPP
    assert s3_place.names() == []
    assert s3_place.io.list_hidden(s3_place.root) == []


def test_the_conditions_of_a_store_are_tried_once(s3_server, s3_place, own):
    with s3_server.counted() as first:
        own.create(s3_place.path("a"), b"x")
    with s3_server.counted() as second:
        own.create(s3_place.path("b"), b"x")
    assert len(first) > 1
    assert [request.method for request in second] == ["PUT"]


def test_an_error_names_the_path_and_hides_the_answer_and_the_keys(s3_server, s3_place):
    path = s3_place.path("f")
    with s3_server.failing(lambda _: Fault.REFUSED), pytest.raises(OSError, match="503") as caught:
        s3_place.io.read(path)
    assert caught.value.filename == path
    assert caught.value.errno == errno.EIO
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("verb", ["create", "overwrite", "make_directory"])
def test_a_missing_bucket_is_named(s3_place, verb):
    arguments = () if verb == "make_directory" else (b"x",)
    with pytest.raises(FileNotFoundError, match="the bucket 'nowhere' does not exist"):
        getattr(s3_place.io, verb)("/nowhere/w/f", *arguments)


def test_a_small_file_is_written_and_read_by_one_request_each(s3_server, s3_place):
    path = s3_place.path("data")
    s3_place.io.create(s3_place.path("first"), b"")
    with s3_server.counted() as writing, s3_place.io.open_output(path) as sink:
        sink.write(b"x" * 1000)
    assert [request.method for request in writing] == ["PUT"]
    with s3_server.counted() as reading, s3_place.io.open_input(path) as source:
        assert source.read() == b"x" * 1000
    assert [request.method for request in reading] == ["GET"]


def test_a_large_file_is_sent_in_parts_and_read_in_ranges(s3_server, s3_place):
    path, data = s3_place.path("data"), bytes(range(256)) * (UPLOAD_BYTES // 100)
    with s3_place.io.open_output(path) as sink:
        for start in range(0, len(data), 1_000_000):
            sink.write(data[start : start + 1_000_000])
        assert s3_place.io.status(path) is None
    with s3_place.io.open_input(path) as source, s3_server.counted() as requests:
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


def test_a_large_output_refuses_a_name_that_exists(s3_place):
    path = s3_place.path("data")
    s3_place.io.create(path, b"first")
    with pytest.raises(FileExistsError), s3_place.io.open_output(path) as sink:
        sink.write(b"x" * (UPLOAD_BYTES + 1))
    assert s3_place.io.read(path) == b"first"


@pytest.mark.parametrize("size", [10, UPLOAD_BYTES + 1])
def test_an_output_that_is_given_up_never_becomes_a_file(s3_place, size):
    sink = s3_place.io.open_output(s3_place.path("f"))
    sink.write(b"x" * size)
    del sink
    gc.collect()
    assert s3_place.names() == []


def test_a_file_beyond_the_limit_is_not_read(s3_place):
    s3_place.io.create(s3_place.path("LATEST"), b"1" * (1 << 20 | 1))
    with pytest.raises(FileTooLarge):
        s3_place.io.read(s3_place.path("LATEST"))


def test_a_database_that_another_engine_marked_is_a_directory_and_can_be_deleted(s3_place):
    s3_place.io.clients.file_system().create_dir(s3_place.path("shop.db")[1:])
    assert s3_place.names() == ["shop.db"]
    assert s3_place.io.status(s3_place.path("shop.db")).is_directory
    s3_place.io.delete_tree(s3_place.path("shop.db"))
    assert s3_place.names() == []


def test_an_empty_directory_is_not_deleted_because_others_may_write_into_it(s3_place):
    s3_place.io.make_directory(s3_place.path("d"))
    assert s3_place.io.delete_empty_directory(s3_place.path("d")) is False
    assert s3_place.io.status(s3_place.path("d")).is_directory


def test_a_tree_is_deleted_although_the_store_fails_while_it_shrinks(s3_server, s3_place):
    for number in range(4):
        s3_place.io.create(s3_place.path(f"t/{number}"), b"x")
    failures = [Fault.LOST_ANSWER] * 12

    def each_deletion(request: Request):
        return failures.pop() if request.method == "POST" and failures else None

    with s3_server.failing(each_deletion):
        s3_place.io.delete_tree(s3_place.path("t"))
    assert s3_place.names() == []


def test_a_tree_that_does_not_shrink_is_an_error(s3_server, s3_place):
    s3_place.io.create(s3_place.path("t/f"), b"x")
    refused = s3_server.failing(lambda request: Fault.REFUSED if request.method == "POST" else None)
    with refused, pytest.raises(OSError, match="503"):
        s3_place.io.delete_tree(s3_place.path("t"))
    assert s3_place.names("t") == ["f"]


def test_a_name_that_the_store_calls_taken_without_a_file_is_tried_again(s3_server, s3_place):
    path = s3_place.path("f")
    s3_place.io.create(s3_place.path("other"), b"x")
    taken = [Fault.TAKEN]

    def once(request: Request):
        return taken.pop() if request.method == "PUT" and taken else None

    with s3_server.failing(once):
        s3_place.io.create(path, b"ours")
    assert s3_place.io.read(path) == b"ours"


def test_the_store_is_sent_to_another_process_with_its_keys_and_shows_none(s3_place):
    s3_place.io.create(s3_place.path("f"), b"x")
    sent = pickle.loads(pickle.dumps(s3_place.io))  # noqa: S301 - our own bytes
    assert sent.clients == s3_place.io.clients
    assert sent.read(s3_place.path("f")) == b"x"
    assert SECRET not in repr(sent)


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


def test_arrow_writes_and_reads_parquet(s3_server, s3_place):
    import pyarrow.parquet as pq

    rows = pa.table({"id": range(1000)})
    with s3_place.io.open_output(s3_place.path("t.parquet")) as sink:
        pq.write_table(rows, sink)
    with s3_place.io.open_input(s3_place.path("t.parquet")) as source:
        assert pq.read_table(source).equals(rows)

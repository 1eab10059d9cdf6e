"""Reading by ranges returns the bytes of the file, with few requests."""

from __future__ import annotations

import io

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from table_format.io.file_io import Prefetching
from table_format.io.remote_file import RemoteFile, RemoteInput


class Requests:
    """The bytes of an object, and the requests for parts of it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.made: list[list[tuple[int, int]]] = []

    def fetch(self, ranges):
        self.made.append(list(ranges))
        return [self.data[start:end] for start, end in ranges]

    def open(self, tail: int = 0) -> RemoteFile:
        return RemoteFile(self.fetch, len(self.data), self.data[len(self.data) - tail :])


def sample(size: int) -> bytes:
    return bytes(number * 7 % 251 for number in range(size))


SIZES = st.integers(0, 4000)


@given(SIZES, SIZES, st.lists(st.one_of(st.tuples(SIZES, SIZES), st.lists(st.tuples(SIZES, SIZES), max_size=4))))
def test_any_sequence_of_reads_and_prefetches_returns_the_bytes_of_the_file(size, tail, steps):
    data = sample(size)
    file, memory = Requests(data).open(min(tail, size)), io.BytesIO(data)
    for step in steps:
        if isinstance(step, list):
            file.prefetch(step)
            continue
        position, count = step
        assert file.seek(position) == memory.seek(position)
        assert file.read(count) == memory.read(count)
        assert file.tell() == memory.tell()


def test_what_was_prefetched_is_read_without_a_request():
    requests = Requests(sample(1000))
    file = requests.open()
    file.prefetch([(10, 20), (500, 600)])
    file.seek(550)
    assert file.read(10) == requests.data[550:560]
    file.seek(10)
    assert file.read(10) == requests.data[10:20]
    assert requests.made == [[(10, 20), (500, 600)]]


def test_the_tail_is_known_and_never_requested():
    requests = Requests(sample(1000))
    file = requests.open(tail=100)
    file.prefetch([(900, 950), (990, 1000)])
    file.seek(-8, io.SEEK_END)
    assert file.read() == requests.data[-8:]
    assert requests.made == []


def test_reads_that_follow_each_other_read_ever_further_ahead():
    requests = Requests(bytes(10_000_000))
    file = requests.open()
    while file.read(4096):
        pass
    lengths = [end - start for [(start, end)] in requests.made]
    assert lengths[:3] == [256 * 1024, 512 * 1024, 1024 * 1024]
    assert len(lengths) == 6


def test_arrow_reads_such_a_file_and_its_reader_can_prefetch():
    requests = Requests(sample(1000))
    source = RemoteInput(requests.open(), "r")
    assert isinstance(source, Prefetching)
    assert not isinstance(pa.BufferReader(b""), Prefetching)
    source.prefetch([(0, 100)])
    assert source.size() == 1000
    assert source.read_at(50, 25) == requests.data[25:75]
    assert requests.made == [[(0, 100)]]

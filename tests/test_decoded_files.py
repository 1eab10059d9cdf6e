from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

from table_format.decoded_files import DecodedFiles


def never() -> str:
    raise AssertionError


def test_a_file_is_decoded_once_and_a_file_of_another_size_is_another():
    files = DecodedFiles(100)
    assert files.get(("a", 1), lambda: "one", size_of=len) == "one"
    assert files.get(("a", 1), never, size_of=len) == "one"
    assert files.get(("a", 2), lambda: "two", size_of=len) == "two"
    assert files.held_bytes == 6


def test_what_was_used_longest_ago_is_dropped_first():
    files = DecodedFiles(10)
    for name in "abc":
        files.put((name, 1), name * 4, 4)
        files.get(("a", 1), lambda: "aaaa", size_of=len)
    assert files.held_bytes == 8
    assert files.get(("a", 1), never, size_of=len) == "aaaa"
    assert files.get(("b", 1), lambda: "again", size_of=len) == "again"


def test_what_is_larger_than_all_memory_is_not_kept():
    files = DecodedFiles(10)
    files.put(("a", 1), "small", 5)
    files.put(("b", 1), "x" * 11, 11)
    assert files.get(("a", 1), never, size_of=len) == "small"
    files.put(("a", 1), "y" * 11, 11)
    assert files.held_bytes == 0


def test_without_memory_nothing_is_kept():
    files = DecodedFiles(0)
    assert files.get(("a", 1), lambda: "first", size_of=len) == "first"
    assert files.get(("a", 1), lambda: "second", size_of=len) == "second"


def test_another_process_begins_with_nothing():
    files = DecodedFiles(10)
    files.put(("a", 1), "small", 5)
    copied = pickle.loads(pickle.dumps(files))  # noqa: S301
    assert (copied.capacity, copied.held_bytes) == (10, 0)


def test_threads_share_what_is_kept_within_the_bound():
    files = DecodedFiles(50)

    def use(number: int) -> bool:
        key = (str(number % 9), number % 9)
        return files.get(key, lambda: number % 9, size_of=lambda _: 10) == number % 9

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(use, range(2000)))
    assert files.held_bytes <= 50

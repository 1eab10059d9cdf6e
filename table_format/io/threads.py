"""Parallel work on many files, if the options of a table request it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")
R = TypeVar("R")
MOST_THREADS: Final = 64
"""The maximum number of threads: more do not make a store faster."""


def side_by_side(work: Callable[[T], R], items: Sequence[T], threads: int | None) -> list[R]:
    """Return the results of work on each item, in order; sequentially unless more than one thread is requested.

    >>> side_by_side(len, ["a", "bcd"], 2), side_by_side(len, [""], None)
    ([1, 3], [0])

    Raises:
        Exception: the error of the first failed item, after all started work has ended.
    """
    width = min(threads or 1, len(items), MOST_THREADS)
    if width <= 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(width, "files") as pool:
        return list(pool.map(work, items))

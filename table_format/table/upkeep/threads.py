"""Runs pieces of maintenance work on threads of this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from itertools import count
from threading import Lock
from typing import Final, TypeAlias, TypeVar

from table_format.io.threads import EndingThreads, results_of

T = TypeVar("T")
R = TypeVar("R")

MAX_THREADS: Final = 4
"""Pieces of work at the same time at most. Each needs bounded memory."""

Progress: TypeAlias = Callable[[int, int], None]
"""A callback with the numbers of finished and of all pieces. It is called by worker threads, one call at a time."""


def in_threads(
    pieces: Sequence[T], perform: Callable[[T], Iterable[R]], progress: Progress | None = None
) -> Iterator[R]:
    """Do pieces of work on threads; yield the successful results before raising the first failure or interrupt.

    ``progress`` is called first with 0, then after each piece. An error that it raises is raised after all results.

    >>> list(in_threads([1, 2], lambda piece: [piece, -piece]))
    [1, -1, 2, -2]
    """
    if progress is None:
        yield from _in_threads(pieces, perform)
        return
    lock, done, failures = Lock(), count(1), list[BaseException]()
    progress(0, len(pieces))

    def reported(piece: T) -> Iterable[R]:
        outcome = perform(piece)
        with lock:
            try:
                if not failures:
                    progress(next(done), len(pieces))
            except BaseException as error:  # noqa: BLE001 - raised below, when all files that were made are known
                failures.append(error)
        return outcome

    yield from _in_threads(pieces, reported)
    for failure in failures:
        raise failure


def _in_threads(pieces: Sequence[T], perform: Callable[[T], Iterable[R]]) -> Iterator[R]:
    threads = min(len(pieces), MAX_THREADS, os.cpu_count() or 1)
    if threads <= 1:
        for piece in pieces:
            yield from perform(piece)
        return
    running: list[Future[Iterable[R]]] = []
    interrupt: BaseException | None = None
    try:
        # Wait for all, so that successful results are known and deleted after a failure or an interrupt.
        with EndingThreads(threads, "maintenance") as pool:
            running.extend(pool.submit(perform, piece) for piece in pieces)
    except BaseException as error:  # noqa: BLE001 - raised below, when all files that were made are known
        interrupt = error
    for results in results_of(running):
        yield from results
    if interrupt is not None:
        raise interrupt
    for future in running:
        future.result()

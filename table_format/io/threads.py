"""Parallel work on many files, if the options of a table request it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import Any, Final, TypeVar

T = TypeVar("T")
R = TypeVar("R")
MOST_THREADS: Final = 64
"""The maximum number of threads: more do not make a store faster."""


class EndingThreads(ThreadPoolExecutor):
    """A pool for threads that create files. When its block is left, they have ended, also after an interrupt.

    Otherwise they would create files after the caller has deleted those of the interrupted work. An interrupt cancels
    work that waits for a thread. A second one ends the wait.
    """

    def __init__(self, width: int, name: str = "") -> None:
        super().__init__(width, name)
        self._given: list[Future[Any]] = []

    def submit(self, work: Callable[..., R], /, *arguments: Any, **named: Any) -> Future[R]:  # noqa: ANN401
        """Give work to a thread."""
        given = super().submit(work, *arguments, **named)
        self._given.append(given)
        return given

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Wait for the threads."""
        try:
            if error is not None:
                self.shutdown(wait=False, cancel_futures=True)
            self._wait()
        except BaseException:
            self.shutdown(wait=False, cancel_futures=True)
            self._wait()
            raise
        self.shutdown(wait=True)

    def _wait(self) -> None:
        """Wait for the work, and not for the threads: Python forgets a thread if an interrupt stops the wait for it."""
        wait([given for given in self._given if not given.cancelled()])


def failure_of(done: Future[R]) -> BaseException | None:
    """Return the error of work that has ended, which is ``CancelledError`` if it never began."""
    return CancelledError() if done.cancelled() else done.exception()


def results_of(running: Iterable[Future[R]]) -> Iterator[R]:
    """Yield the results of the work that has succeeded, in order. Work that has not ended is passed over."""
    for given in running:
        if given.done() and failure_of(given) is None:
            yield given.result()


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
    with EndingThreads(width, "files") as pool:
        return list(pool.map(work, items))

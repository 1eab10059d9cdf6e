"""Progress output: one short line every few seconds, in the log of the run and on the terminal.

Short work prints nothing. Output is lines, not a moving bar, because the log of a run is read line by line.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Log: TypeAlias = Callable[[str], object]
EVERY_SECONDS: Final = 3.0
STILL_SECONDS: Final = 15.0
"""How long to print nothing while nothing advances."""
_BAR: Final = 20


def progress_line(done: int, total: int, what: str, seconds: float) -> str:
    """Return one line of progress, with an estimate of the remaining time.

    >>> progress_line(5, 10, "days", 4.0)
    '[##########----------] 5/10 days, 4 s, about 4 s left'
    >>> progress_line(10, 10, "days", 8.0)
    '[####################] 10/10 days, 8 s'
    """
    filled = _BAR * done // total if total else _BAR
    line = f"[{'#' * filled}{'-' * (_BAR - filled)}] {done}/{total} {what}, {seconds:.0f} s"
    return line if done >= total or not done else f"{line}, about {seconds / done * (total - done):.0f} s left"


@dataclass
class Progress:
    """Counts the steps of work with a known total. Logs a line if enough time has passed since the last one."""

    log: Log
    total: int
    what: str
    every_seconds: float = EVERY_SECONDS
    clock: Callable[[], float] = time.monotonic
    done: int = 0
    _started: float = field(init=False)
    _last_line: float = field(init=False)

    def __post_init__(self) -> None:
        self._started = self._last_line = self.clock()

    def advance(self, steps: int = 1) -> None:
        """Count completed steps."""
        self.done += steps
        now = self.clock()
        if now - self._last_line >= self.every_seconds:
            self._last_line = now
            self.log(progress_line(self.done, self.total, self.what, now - self._started))


class Pace:
    """Logs how many tasks of the running stages are done: after progress, and occasionally without progress."""

    def __init__(self, log: Log, what: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._what = what
        self._clock = clock
        self._started = self._last_line_at = clock()
        self._last_state: tuple[int, int] | None = None

    def report(self, tasks: Sequence[tuple[int, int]]) -> None:
        """Log the completed and total tasks of each running stage, if a line is due."""
        if not tasks:
            return
        now = self._clock()
        state = (sum(done for done, _ in tasks), sum(total for _, total in tasks))
        silence = now - self._last_line_at
        if silence >= (EVERY_SECONDS if state != self._last_state else STILL_SECONDS):
            self._last_state, self._last_line_at = state, now
            self._log(f"{self._what}: {progress_line(*state, 'Spark tasks', now - self._started)}")


@contextmanager
def spark_progress(session: SparkSession, log: Log, what: str) -> Iterator[None]:
    """Log the progress of Spark tasks while the block runs."""
    if hasattr(session, "registerProgressHandler") and _is_connect(session):
        yield from _follow_connect(session, log, what)
    else:
        yield from _follow_classic(session, log, what)


def _is_connect(session: SparkSession) -> bool:
    return type(session).__module__.startswith("pyspark.sql.connect")


def _follow_classic(session: SparkSession, log: Log, what: str) -> Iterator[None]:
    tracker = session.sparkContext.statusTracker()
    finished = threading.Event()
    pace = Pace(log, what)

    def follow() -> None:
        while not finished.wait(EVERY_SECONDS):
            try:
                stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            except Exception:  # noqa: BLE001 - the JVM has died; the thread that waits for the job raises the error
                return
            pace.report([(s.numCompletedTasks, s.numTasks) for s in stages if s is not None])

    follower = threading.Thread(target=follow, name="spark-progress", daemon=True)
    follower.start()
    try:
        yield
    finally:
        finished.set()
        follower.join()


def _follow_connect(session: SparkSession, log: Log, what: str) -> Iterator[None]:
    pace = Pace(log, what)

    def follow(stages: Iterable[object] | None, inflight_tasks: int, operation_id: str | None, done: bool) -> None:  # noqa: ARG001, FBT001
        if not done:
            pace.report([(getattr(s, "num_completed_tasks", 0), getattr(s, "num_tasks", 0)) for s in stages or ()])

    handler = cast("Any", follow)  # any callable works; the stubs require a class
    session.registerProgressHandler(handler)
    try:
        yield
    finally:
        session.removeProgressHandler(handler)

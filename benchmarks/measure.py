"""Measures wall time, CPU time and peak memory of work, in this process and its descendants."""

from __future__ import annotations

import json
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import TypeVar

PAGE = os.sysconf("SC_PAGE_SIZE")
_CPU_CLOCK = 2
_SECONDS_BETWEEN_LOOKS = 0.2


@dataclass(frozen=True)
class Figure:
    """One measured workload. ``check`` is a number that must be the same for every engine, or empty."""

    workload: str
    wall_s: float
    cpu_s: float
    peak_mb: float
    check: str = ""


@dataclass(frozen=True)
class Cost:
    """The cost of one call: seconds, and the bytes that the processes read."""

    wall_s: float
    cpu_s: float
    read_bytes: float


_Result = TypeVar("_Result")


def process_tree(root: int) -> Iterator[int]:
    """Yield the process and its living descendants."""
    yield root
    try:
        threads = list(Path(f"/proc/{root}/task").iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return
    children: list[str] = []
    for thread in threads:
        try:
            children += (thread / "children").read_text().split()
        except (FileNotFoundError, ProcessLookupError):
            continue
    for child in children:
        yield from process_tree(int(child))


def cpu_seconds(root: int) -> float:
    """Return the user and system time of the process tree, including ended descendants."""
    return _clock(root).seconds()


class _TreeClock:
    """Sums the CPU time of all processes that it has seen in a process tree.

    The system forgets the time of an ended process that no process waits for, such as a worker that Spark ends after a
    minute without work. Therefore a thread looks at the processes several times a second.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._seen: dict[int, float] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._watch, daemon=True).start()

    def seconds(self) -> float:
        """Return the user and system time so far."""
        with self._lock:
            for process in process_tree(self._root):
                self._seen[process] = max(own_cpu_seconds(process), self._seen.get(process, 0.0))
            return sum(self._seen.values())

    def _watch(self) -> None:
        while True:
            self.seconds()
            time.sleep(_SECONDS_BETWEEN_LOOKS)


@cache
def _clock(root: int) -> _TreeClock:
    return _TreeClock(root)


def own_cpu_seconds(process: int) -> float:
    """Return the user and system time of one process without its children, more precisely than ``cpu_seconds``."""
    # The clock of a process is its inverted number, shifted, and the kind of clock (clock_getcpuclockid).
    try:
        return time.clock_gettime(~process << 3 | _CPU_CLOCK)
    except OSError:
        return 0.0


def read_bytes(process: int) -> int:
    """Return the bytes that one process has read so far from files and pipes, cached or not."""
    try:
        lines = Path(f"/proc/{process}/io").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(next(line for line in lines if line.startswith("rchar")).split()[1])


def timed(processes: Callable[[], Iterable[int]], work: Callable[[], _Result]) -> tuple[Cost, _Result]:
    """Return the cost of a call in some processes, and its result. Processes that end meanwhile are not counted."""
    read = {process: read_bytes(process) for process in processes()}
    cpu, began = {process: own_cpu_seconds(process) for process in read}, time.perf_counter()
    result = work()
    wall = time.perf_counter() - began
    after = list(processes())
    cpu_s = sum(own_cpu_seconds(process) - cpu.get(process, 0) for process in after)
    return Cost(wall, cpu_s, sum(read_bytes(process) - read.get(process, 0) for process in after)), result


def medians(costs: Sequence[Cost]) -> Cost:
    """Return the median of each attribute."""
    return Cost(*(statistics.median(getattr(cost, member.name) for cost in costs) for member in fields(Cost)))


def least(costs: Sequence[Cost]) -> Cost:
    """Return the minimum of each attribute."""
    return Cost(*(min(getattr(cost, member.name) for cost in costs) for member in fields(Cost)))


def resident_mb(root: int) -> float:
    """Return the current resident memory of the process tree in MB."""
    pages = 0
    for process in process_tree(root):
        try:
            pages += int(Path(f"/proc/{process}/statm").read_text().split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
    return pages * PAGE / 2**20


class Recorder:
    """Runs workloads and prints each figure as one JSON line, for the process that started this one."""

    def run(self, workload: str, work: Callable[[], object]) -> None:
        """Measure one call. Its result as text is the check."""
        peak, done = [0.0], threading.Event()
        sampler = threading.Thread(target=_sample, args=(peak, done), daemon=True)
        sampler.start()
        cpu, wall = cpu_seconds(os.getpid()), time.perf_counter()
        answer = work()
        wall_s, cpu_s = time.perf_counter() - wall, cpu_seconds(os.getpid()) - cpu
        done.set()
        sampler.join()
        figure = Figure(workload, wall_s, cpu_s, peak[0], "" if answer is None else str(answer))
        print("FIGURE " + json.dumps(asdict(figure)), flush=True)

    def best_of(self, times: int, workload: str, work: Callable[[], object]) -> None:
        """Measure the same call several times. The reader of the figures takes the median."""
        for _ in range(times):
            self.run(workload, work)


def _sample(peak: list[float], done: threading.Event) -> None:
    while True:
        peak[0] = max(peak[0], resident_mb(os.getpid()))
        if done.wait(0.05):
            return

"""Wall time, CPU time and peak memory of a piece of work, over this process and everything it started."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Figure:
    """One measured workload. ``check`` is a number that must be the same for every engine, or empty."""

    workload: str
    wall_s: float
    cpu_s: float
    peak_mb: float
    check: str = ""


def process_tree(root: int) -> Iterator[int]:
    """The process and its living descendants."""
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
    """User and system time of the tree, with that of descendants that ended."""
    total = 0
    for process in process_tree(root):
        try:
            members = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += sum(int(m) for m in members[11:15])
    return total / TICKS


def resident_mb(root: int) -> float:
    """Resident memory of the tree now."""
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
        """Measure one call; its result, as text, is the check."""
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
        """Measure the same call several times; the reader of the figures takes the median."""
        for _ in range(times):
            self.run(workload, work)


def _sample(peak: list[float], done: threading.Event) -> None:
    while True:
        peak[0] = max(peak[0], resident_mb(os.getpid()))
        if done.wait(0.05):
            return

"""Random histories of writes and commits that stay open while their table changes: ``python -m
tests.simulation.open_writes --seeds 1000``.

One process has several writes, commits, scans, plans and a stream of one table. Beside them the table is compacted,
expired, rolled back, fast-forwarded, altered, overwritten, rescaled, and cleaned of orphans. Each step takes effect or
raises a documented error and has no effect. A model says what must be in the table after it. A seed repeats a history;
``--show SEED`` prints it.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Final

from table_format.errors import CorruptionError, TableFormatError
from table_format.metastore.commit.key_places import snapshot_identity
from tests.simulation.open_history import Effect, shown
from tests.simulation.open_stream_steps import StreamSteps
from tests.simulation.open_table_steps import TableSteps
from tests.simulation.open_write_steps import WriteSteps
from tests.simulation.world import Violation
from tests.support.compaction import HOUR_MS

UNSEEN: Final = frozenset(("truncate", "overwrite", "overwrite partition", "drop partition", "expire partitions"))
"""What streams do not show: an overwrite has no changelog."""


class Run(TableSteps, WriteSteps, StreamSteps):
    """One history."""

    def step(self) -> None:
        steps = self.steps()
        [name] = self.draw.choices(list(steps), [weight for weight, _ in steps.values()])
        self.clock.ms += self.draw.choice((1, 1000, 60_000, HOUR_MS))
        try:
            text = steps[name][1]()
            self.coverage[name] += 1
        except CorruptionError as error:
            self.note(f"{name} failed")
            raise Violation(f"W1 {name} found damage: {shown(error)}") from error
        except TableFormatError as error:
            text = f"refused: {type(error).__name__}: {str(error)[:300]}"
            self.coverage[f"{name} {type(error).__name__}"] += 1
            self.look(None)
        if name in UNSEEN:
            self.streams.clear()
        latest = self.opened().facts.snapshots.latest()
        self.note(f"{name}: {text} -> {snapshot_identity(latest)[:2] if latest else 0} {len(self.log())} rows")
        self.check(full=self.draw.random() < 0.3)

    def steps(self) -> dict[str, tuple[float, Callable[[], object]]]:
        steps: dict[str, tuple[float, Callable[[], object]]] = {
            "open write": (2 if len(self.writes) < 3 else 0.2, self.open_write),
            "append": (2, lambda: self.append(None)),
            "compact": (1, lambda: self.simple(lambda t: t.compact())),
            "compact in full": (1, lambda: self.simple(lambda t: t.compact(full=True))),
            "expire": (2, self.expire),
            "roll back": (1.2, self.roll_back),
            "tag": (1, self.tag),
            "delete tag": (0.4, self.delete_tag),
            "branch": (0.5, self.branch),
            "fast-forward": (0.7, self.fast_forward),
            "alter": (1.2, self.alter),
            "truncate": (0.15, lambda: self.simple(lambda t: t.truncate(), Effect(removes=lambda _: True))),
            "overwrite": (0.4, self.overwrite),
            "remove orphans": (0.6, self.remove_orphans),
            "scan": (0.7, self.scan),
            "run compactors": (1.5, self.run_compactors),
        }
        if self.scans:
            steps["read scan"] = (1, self.read_scan)
        if not self.kind.crosses:
            steps["overwrite partition"] = (0.4, self.overwrite_partition)
            steps["expire partitions"] = (0.4, self.expire_partitions)
        steps["drop partition"] = (0.4, self.drop_partition)
        if self.kind.engine == "append" or (self.kind.takes_deletes and self.kind.shows_all):
            steps["delete"] = (0.8, self.delete)
        if self.kind.is_fixed:
            steps["rescale"] = (0.6, lambda: self.simple(lambda t: t.rescale(self.draw.randrange(1, 4))))
        if self.has_streams:
            steps["open stream"] = (1 if len(self.streams) < 3 else 0, self.open_stream)
        if self.streams:
            steps["follow stream"] = (1.5, self.follow_stream)
        if self.writes:
            steps["write"] = (6, self.write)
            steps["abort write"] = (0.2, self.abort_write)
            steps["finish"] = (0.5, self.finish)
        if any(w.waiting for w in self.writes):
            steps["commit"] = (6, self.commit)
            steps["commit out of order"] = (0.6, lambda: self.commit(in_order=False))
            steps["abort messages"] = (0.5, self.abort_messages)
        if any(p.committed for w in self.writes for p in w.prepared):
            steps["commit again"] = (0.7, self.commit_again)
            steps["abort committed"] = (0.3, self.abort_committed)
        return steps


class BrokenHistory(AssertionError):
    """A history breaks what must hold; with its steps."""

    def __init__(self, text: str, trace: list[str]) -> None:
        super().__init__(text)
        self.trace = trace


def run(seed: int, steps: int = 40) -> Run:
    """One history.

    Raises:
        BrokenHistory: something that must hold does not, or a step raised what no caller expects.
    """
    with tempfile.TemporaryDirectory() as directory:
        one = Run(seed, directory)
        try:
            for _ in range(steps):
                one.step()
            one.end_streams()
            one.end()
        except Violation as error:
            raise BrokenHistory(f"seed {seed}: {error}", one.trace) from error
        except Exception as error:
            raise BrokenHistory(f"seed {seed}: W0 {shown(error)}", one.trace) from error
    return one


def tried(seed: int, steps: int) -> tuple[str | None, Counter[str]]:
    """What a seed breaks, if anything, and its steps."""
    logging.disable(logging.WARNING)
    try:
        return None, run(seed, steps).coverage
    except BrokenHistory as error:
        return str(error), Counter()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--show", type=int)
    given = parser.parse_args(arguments)
    if given.show is not None:
        try:
            trace, text = run(given.show, given.steps).trace, "clean"
        except BrokenHistory as error:
            trace, text = error.trace, str(error)
        print(*trace, text, sep="\n")
        return int(text != "clean")
    begun, failures = time.monotonic(), 0
    coverage: Counter[str] = Counter()
    with ProcessPoolExecutor(given.processes, multiprocessing.get_context("spawn")) as pool:
        seeds = range(given.first, given.first + given.seeds)
        for failure, its in pool.map(tried, seeds, [given.steps] * given.seeds):
            coverage.update(its)
            if failure is not None:
                failures += 1
                print(failure, flush=True)
    print(f"{given.seeds} seeds, {failures} failures, {time.monotonic() - begun:.0f} s")
    for what, times in sorted(coverage.items()):
        print(f"  {what:<60}{times:>8}")
    return failures


if __name__ == "__main__":
    sys.exit(1 if main() else 0)

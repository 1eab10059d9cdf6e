"""Random searches with one table for each seed: their loop, their bounded form in a test, and their command line."""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol

from tests.support.table_history import History


class Violation(AssertionError):
    """A reader has not found what the table promises."""


class Follower(Protocol):
    """A reader that looks at a table now and then."""

    seen: Counter[str]

    def poll(self) -> None:
        """Read what is new, and compare it with the table."""


def follow_steps(history: History, followers: Sequence[Follower], steps: int) -> None:
    """Change a table step by step. After each step, some of the followers poll."""
    for _ in range(steps):
        history.step()
        for follower in followers:
            if history.draw.random() < 0.4:
                follower.poll()


def total_seen(followers: Sequence[Follower]) -> Counter[str]:
    """What all followers have met."""
    return sum((follower.seen for follower in followers), Counter())


def bounded_search(search: Callable[[int], Counter[str]], tables: int) -> tuple[int, Counter[str]]:
    """Search some tables, or as many as ``FOLLOWED_TABLES`` says. Return their number, and what was met."""
    count = int(os.environ.get("FOLLOWED_TABLES", tables))
    return count, sum((_searched(search, seed) for seed in range(1, count + 1)), Counter())


def _searched(search: Callable[[int], Counter[str]], seed: int) -> Counter[str]:
    try:
        return search(seed)
    except Violation as error:
        message = f"seed {seed}: {error}"
        raise Violation(message) from error


def run_search(search: Callable[[int], Counter[str]], prog: str, description: str | None) -> int:
    """Search, and print what was met. The result is the exit code."""
    parser = argparse.ArgumentParser(prog=f"python -m {prog}", description=description)
    parser.add_argument("--count", type=int, default=500, help="tables")
    parser.add_argument("--seed", type=int, default=1, help="the first table")
    parser.add_argument("--seconds", type=int, default=1 << 30, help="begin no other table after this time")
    parser.add_argument("--keep-going", action="store_true", help="show the first lines of each violation")
    arguments = parser.parse_args()
    seen: Counter[str] = Counter()
    began, failed, tables = time.monotonic(), 0, 0
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        if time.monotonic() - began > arguments.seconds:
            break
        tables += 1
        try:
            seen += _searched(search, seed)
        except Violation as error:
            if not arguments.keep_going:
                raise
            failed += 1
            print(*str(error).splitlines()[:2], sep="\n", flush=True)
    print(f"{tables} tables in {time.monotonic() - began:.0f} s, {failed} with violations")
    for what, number in sorted(seen.items()):
        print(f"{number:6} {what}")
    return 1 if failed else 0

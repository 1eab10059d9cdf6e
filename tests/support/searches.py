"""The command line of a random search: one table for each seed, until a violation or the end of the time."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable


class Violation(AssertionError):
    """A reader has not found what the table promises."""


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
            seen += search(seed)
        except Violation as error:
            if not arguments.keep_going:
                raise
            failed += 1
            print(*str(error).splitlines()[:2], sep="\n", flush=True)
    print(f"{tables} tables in {time.monotonic() - began:.0f} s, {failed} with violations")
    for what, number in sorted(seen.items()):
        print(f"{number:6} {what}")
    return 1 if failed else 0

"""Look for seeds that break an invariant: ``python -m tests.simulation.search --seeds 1000``.

A failing seed is printed with what it breaks; ``--show SEED`` prints its trace, ``--shrink SEED`` leaves out every
fault it does not need, ``--mutant NAME`` looks for the first seed that kills a mutant, ``--mutants`` does so for all;
``--every-fault`` tries one fault at every call of every operation.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from functools import partial

from tests.simulation.every_fault import MODES, try_every_call
from tests.simulation.mutants import MUTANTS, Mutant
from tests.simulation.operations import OPERATIONS
from tests.simulation.run import Suppressed, run
from tests.simulation.settings import Settings


def failure_of(seed: int, mutant: Mutant | None = None, suppressed: Suppressed = frozenset()) -> AssertionError | None:
    """What a seed breaks, or ``None``."""
    settings = mutant.settings(seed) if mutant else Settings.draw(seed)
    with mutant.active() if mutant else nullcontext():
        try:
            run(seed, settings, suppressed)
        except AssertionError as error:
            return error
    return None


def first_kill(mutant: Mutant, seeds: range) -> tuple[int, str] | None:
    """The first seed that notices the mutant, and what it says; ``None`` when none does."""
    for seed in seeds:
        failure = failure_of(seed, mutant)
        if failure is not None:
            return seed, str(failure)
    return None


def shrink(seed: int, mutant: Mutant | None = None) -> tuple[Suppressed, AssertionError]:
    """Leave out faults one after the other while the seed still breaks the same invariant."""
    failure = failure_of(seed, mutant)
    if failure is None:
        message = f"seed {seed} breaks nothing"
        raise SystemExit(message)
    invariant = str(failure).split()[0]
    suppressed: Suppressed = frozenset()
    for event in list(failure.trace):
        if event.fault is None:
            continue
        without = suppressed | {(event.actor, event.call)}
        smaller = failure_of(seed, mutant, without)
        if smaller is not None and str(smaller).split()[0] == invariant:
            suppressed, failure = without, smaller
    return suppressed, failure


def tried(seed: int, settings_of: Callable[[int], Settings]) -> tuple[str | None, int, Counter[str]]:
    """What a seed breaks, if anything, its calls, and its events."""
    try:
        outcome = run(seed, settings_of(seed))
    except AssertionError as error:
        return f"seed {seed}: {error}", 0, Counter()
    return None, outcome.calls, outcome.coverage


def search(first: int, count: int, settings_of: Callable[[int], Settings], processes: int) -> int:
    """Run seeds in so many processes and say what they broke; the number of failures."""
    begun, calls, failures = time.monotonic(), 0, 0
    coverage: Counter[str] = Counter()
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        results = pool.map(partial(tried, settings_of=settings_of), range(first, first + count))
        for number, (failure, its_calls, its_coverage) in enumerate(results, 1):
            if failure is not None:
                failures += 1
                print(failure)
            coverage.update(its_coverage)
            calls += its_calls
            if number % 100 == 0 or number == count:
                rate = number / (time.monotonic() - begun) * 60
                print(f"{number} seeds, {calls} calls, {failures} failures, {rate:.0f} seeds/min", flush=True)
    for what, times in sorted(coverage.items()):
        print(f"  {what:<40}{times:>10}")
    return failures


def search_mutants(mutants: tuple[Mutant, ...], first: int, count: int) -> int:
    """Look for the seed that kills each mutant; the number of survivors."""
    survivors = 0
    for mutant in mutants:
        found = first_kill(mutant, range(first, first + count))
        survivors += found is None
        text = f"survived {count} seeds" if found is None else f"{found[0]}: {found[1][:150]}"
        print(f"{mutant.name:<50} {text}", flush=True)
    return survivors


def try_every_operation() -> int:
    """Every operation with one fault at every call in every mode; the number of failures."""
    failures = 0
    for operation in OPERATIONS:
        trials = 0
        for fault in MODES:
            try:
                trials += sum(1 for _ in try_every_call(operation, fault))
            except AssertionError as error:
                failures += 1
                print(error)
        print(f"{operation.name:<50} {trials} trials", flush=True)
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--show", type=int)
    parser.add_argument("--shrink", type=int)
    parser.add_argument("--mutant")
    parser.add_argument("--mutants", action="store_true")
    parser.add_argument("--stalling", action="store_true", help="processes sleep for longer than snapshots live")
    parser.add_argument("--interrupting", action="store_true", help="calls are interrupted and processes live on")
    parser.add_argument("--altering", action="store_true", help="columns are added under stale handles")
    parser.add_argument("--every-fault", action="store_true", help="one fault at every call of every operation")
    parser.add_argument("--legacy", action="store_true", help="with a writer that has no fence")
    arguments = parser.parse_args()
    chosen = tuple(m for m in MUTANTS if arguments.mutants or m.name == arguments.mutant)
    mutant = chosen[0] if arguments.mutant else None
    seed = arguments.show if arguments.shrink is None else arguments.shrink
    if seed is not None:
        suppressed, failure = (
            (frozenset(), failure_of(seed, mutant)) if arguments.shrink is None else shrink(seed, mutant)
        )
        for event in getattr(failure, "trace", []):
            print(event)
        print(failure or "clean", *sorted(suppressed), sep="\n")
        return int(failure is not None)
    if chosen:
        return search_mutants(chosen, arguments.first, arguments.seeds)
    if arguments.every_fault:
        return try_every_operation()
    if arguments.stalling:
        return search(arguments.first, arguments.seeds, Settings.draw_stalling, arguments.processes)
    if arguments.interrupting:
        return search(arguments.first, arguments.seeds, Settings.draw_interrupted, arguments.processes)
    if arguments.altering:
        return search(arguments.first, arguments.seeds, Settings.draw_altering, arguments.processes)
    drawn = partial(Settings.draw, legacy=arguments.legacy)
    return search(arguments.first, arguments.seeds, drawn, arguments.processes)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)

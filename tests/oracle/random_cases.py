"""Runs many random cases beside the real Paimon; for the command lines of the modules that draw them."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tests.oracle.peer import PaimonPeer

Result = TypeVar("Result")


def run_cases(
    module: str, description: str | None, run: Callable[[str, PaimonPeer, Path], Result], version: str
) -> tuple[list[Result], int]:
    """Run the cases that the command line names. Return the results, and how many cases failed.

    ``run`` runs the case of a seed in a directory. Its ``AssertionError`` is a failure, which is printed.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--count", type=int, default=100)
    arguments = parser.parse_args()
    results: list[Result] = []
    failed = 0
    with PaimonPeer(version) as paimon:
        for number in range(arguments.first, arguments.first + arguments.count):
            with tempfile.TemporaryDirectory(prefix="cases-") as directory:
                try:
                    results.append(run(f"{arguments.seed}/{number}", paimon, Path(directory)))
                except AssertionError as error:
                    failed += 1
                    print(f"{error}\n", flush=True)
    return results, failed

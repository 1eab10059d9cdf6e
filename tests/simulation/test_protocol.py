"""The protocol under simulation: true code breaks nothing, every mutant of it is noticed.

More of both: ``python -m tests.simulation.search --seeds 5000`` and ``--mutants``.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.simulation.mutants import MUTANTS, Mutant
from tests.simulation.run import run
from tests.simulation.search import first_kill

CLEAN_SEEDS = range(50)
MUTANT_SEEDS = 60

COVERED = (
    "batch_rejected",
    "compacted",
    "compaction_conflict",
    "crashes",
    "error_after",
    "expired",
    "expired_while_reading",
    "outcome_unknown_at_first",
    "read_by_tag",
    "restart_filtered",
    "slow_after",
    "upgraded",
)
"""What must have happened: a search that meets no conflict and no lost answer proves nothing."""

RARE = frozenset({"tags of going snapshots"})
"""Noticed too seldom for a test: ``--mutant NAME --seeds 5000`` finds the seed."""


def test_the_code_breaks_no_invariant_and_the_search_meets_what_it_is_for() -> None:
    coverage: Counter[str] = Counter()
    for seed in CLEAN_SEEDS:
        coverage.update(run(seed).coverage)
    assert [name for name in COVERED if not coverage[name]] == []


def test_a_seed_runs_the_same_way_twice() -> None:
    first, second = run(7), run(7)
    assert first.trace == second.trace
    assert first.files == second.files


@pytest.mark.parametrize("mutant", [m for m in MUTANTS if m.name not in RARE], ids=lambda m: m.name)
def test_a_mutant_of_the_protocol_is_noticed(mutant: Mutant) -> None:
    assert first_kill(mutant, range(MUTANT_SEEDS)) is not None

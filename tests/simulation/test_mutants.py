"""The simulation notices each mutant of the protocol, within few seeds."""

from __future__ import annotations

import pytest

from tests.simulation.mutants import MUTANTS
from tests.simulation.search import first_kill

SEEDS = 60
INVARIANTS = {f"I{number}" for number in range(1, 13)}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_killed(mutant):
    found = first_kill(mutant, range(mutant.first_seed, mutant.first_seed + SEEDS))
    assert found is not None, f"none of {SEEDS} seeds notices '{mutant.name}'"
    assert found[1].split(maxsplit=1)[0] in INVARIANTS


def test_mutants_have_names_of_their_own():
    names = [mutant.name for mutant in MUTANTS]
    assert len(set(names)) == len(names)

"""Whatever a caller hands to a public call, the table stays one that everybody can read.

Either an error of the library says what is wrong and every file is as before, or the call succeeds and the table can be
opened, read, written, compacted and expired. Of the values every seventeenth is tried for each argument, and others
each for the next; ``EVERY_ARGUMENT_STEP=1`` tries all.
"""

from __future__ import annotations

import os
import random
from typing import Final

import pytest

from tests.support.matrix import tries
from tests.support.odd_arguments import CALLS, KINDS, ODD, outcome

STEP: Final = int(os.environ.get("EVERY_ARGUMENT_STEP", "17"))
KIND_NAMES: Final = tuple(KINDS)


@pytest.mark.parametrize("name", CALLS)
def test_a_call_with_one_odd_argument_is_refused_or_leaves_a_sound_table(name: str):
    for number, argument in enumerate(CALLS[name].arguments):
        offset = (number + len(name)) % STEP
        for at in range(offset, len(ODD), STEP):
            kind = KIND_NAMES[(at // STEP + number) % len(KIND_NAMES)]
            outcome(name, kind, {**CALLS[name].arguments, argument: ODD[at]})


@pytest.mark.parametrize("seed", range(tries(3, many=6)))
def test_a_call_with_several_odd_arguments_is_refused_or_leaves_a_sound_table(seed: int):
    chance = random.Random(seed)
    for name, call in CALLS.items():
        drawn = {argument: chance.choice(ODD) for argument in call.arguments if chance.random() < 0.5}
        outcome(name, chance.choice(KIND_NAMES), {**call.arguments, **drawn})


@pytest.mark.parametrize("kind", KINDS)
def test_good_arguments_are_accepted(kind: str):
    for name in ("append", "overwrite", "commit", "create_tag", "reset_consumer", "analyze", "compact", "AddColumn"):
        assert outcome(name, kind, CALLS[name].arguments) == "accepted"

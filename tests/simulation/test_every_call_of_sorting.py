"""Calls of a compaction with deletion vectors, and of a sort compaction, fail once each, in every mode.

Each mode takes every ``STEP``-th call, from another one on (with ``STEP`` = 1 it is every call, in a few minutes). No
row comes back, none is lost, and every snapshot stays readable; started again, the job does its work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from table_format import Table
from table_format.errors import TableFormatError
from tests.simulation.failing_io import Crash, Mode, OneFailure
from tests.simulation.test_every_call import (
    BEFORE,
    Operation,
    check_every_snapshot,
    copy_of,
    opened,
    rows,
    state,
    world,
)
from tests.support.dynamic_buckets import assert_sound

STEP = 15

MARKS = {"deletion-vectors.enabled": "true"}


@dataclass(frozen=True)
class Upkeep:
    """What is done to a table some rows of which were deleted; afterwards the rows are the same."""

    name: str
    run: Callable[[Table], object]
    keyed: bool = False
    options: Mapping[str, str] = field(default_factory=dict)


UPKEEP = [
    Upkeep("compaction of marked files", lambda t: t.compact(full=True), options=MARKS),
    Upkeep("sort of marked files", lambda t: t.compact(order_by=["v"]), options=MARKS),
    Upkeep(
        "sort of dynamic buckets",
        lambda t: t.compact(order_by=["v", "k"], order_strategy="zorder"),
        keyed=True,
        options={"bucket": "-1", "dynamic-bucket.target-row-num": "1"},
    ),
]


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("upkeep", UPKEEP, ids=lambda u: u.name)
def test_rows_survive_the_failure_of_any_one_call(upkeep: Upkeep, mode: Mode) -> None:
    start = world(Operation(upkeep.name, upkeep.run, BEFORE, upkeep.keyed, upkeep.options))
    opened(start).append(rows((8, "a", 80), (9, "a", 90)))
    opened(start).delete("k >= 8 AND v > 0")
    assert state(start) == sorted(BEFORE)
    number = 4 * list(Mode).index(mode) % STEP
    while True:
        memory = copy_of(start)
        store = OneFailure(memory, number, mode)
        with suppress(Crash, OSError, TableFormatError):
            upkeep.run(opened(store))
        assert state(memory) == sorted(BEFORE), f"after call {number}"
        upkeep.run(opened(memory))
        assert state(memory) == sorted(BEFORE), f"repeated after call {number}"
        check_every_snapshot(memory)
        if upkeep.keyed:
            assert_sound(opened(memory), exact=True)
        if store.calls <= number:
            break
        number += STEP
    assert number > STEP

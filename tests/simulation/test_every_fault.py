"""Every operation with one fault at many of its calls, in every way a call can fail (``search`` tries every call)."""

from __future__ import annotations

import pytest

from tests.simulation.every_fault import MODES, try_every_call
from tests.simulation.operations import OPERATIONS

STEP = 13


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_an_operation_survives_a_fault_at_any_call(operation):
    struck = 0
    for offset, fault in enumerate(MODES):
        # Each way to fail begins at another call, so that together they meet every call.
        struck += sum(1 for _ in try_every_call(operation, fault, first=offset % STEP, step=STEP))
    assert struck > 0

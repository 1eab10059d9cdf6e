"""Interrupts between any two instructions, not only at calls of the store: where a signal of the system strikes too."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from types import CodeType, FrameType
from typing import Any, Final

_RETURNS: Final = frozenset(opcode for name, opcode in dis.opmap.items() if name in ("RETURN_VALUE", "RETURN_CONST"))
_LOADS: Final = ("LOAD_FAST", "LOAD_FAST_BORROW")
"""Python checks for signals at calls and jumps, so no interrupt comes between a return and the caller."""


class Instructions:
    """Raise ``error`` before instruction number ``at`` of some modules, counted while ``run`` runs; ``None`` counts."""

    def __init__(self, modules: tuple[str, ...], at: int | None, error: type[BaseException]) -> None:
        self._modules = modules
        self._at = at
        self._error = error
        self.count = 0

    def run(self, action: Callable[[], object]) -> bool:
        """Whether the action was interrupted, or ended in an error because of it."""
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            action()
        except self._error:
            return True
        finally:
            sys.settrace(before)
        return self._at is not None and self.count > self._at

    def _called(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if not frame.f_code.co_filename.endswith(self._modules):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._traced

    def _traced(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "opcode" and frame.f_lasti not in _ends(frame.f_code):
            number, self.count = self.count, self.count + 1
            if number == self._at:
                raise self._error
        return self._traced


@cache
def _ends(code: CodeType) -> frozenset[int]:
    """The offsets of returns, and of the load of a variable that a return gives back."""
    instructions = list(dis.get_instructions(code))
    ends = {this.offset for this in instructions if this.opcode in _RETURNS}
    loads = {this.offset for this, then in pairwise(instructions) if then.offset in ends and this.opname in _LOADS}
    return frozenset(ends | loads)

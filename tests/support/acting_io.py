"""A store in which another process acts just before the n-th call of the process under test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from table_format.io.memory import MemoryFileIO
from tests.simulation.failing_io import OneFailure


class ActingIO(OneFailure):
    """FileIO over a memory store. From ``watch`` on every call is counted; before call number ``at`` somebody acts."""

    def __init__(self, inner: MemoryFileIO, at: int, act: Callable[[], object]) -> None:
        super().__init__(inner)
        self._at = at
        self._act: Callable[[], object] | None = act
        self._is_watching = False

    def watch(self) -> None:
        """Count from here on."""
        self._is_watching = True

    def _call(self, verb: str, *arguments: Any) -> Any:
        if self._is_watching and self._act is not None:
            number, self.calls = self.calls, self.calls + 1
            if number == self._at:
                act, self._act = self._act, None
                act()
        return getattr(self._inner, verb)(*arguments)

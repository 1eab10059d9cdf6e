"""A store whose calls are interrupted while the process lives on: Ctrl-C, no memory, an exit, a termination.

Unlike a crash an interrupt is an exception: it runs through every ``finally`` and ``except BaseException`` on its way,
these may use the store, and the caller that catches it continues with its objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

from table_format.io.memory import MemoryFileIO
from tests.simulation.failing_io import OneFailure


class Terminated(BaseException):
    """What an orchestrator raises in a step that it ends, as ``DagsterExecutionInterruptedError`` is."""


KINDS: Final = (KeyboardInterrupt, MemoryError, SystemExit, Terminated)


@dataclass(frozen=True)
class Strike:
    """Interrupt the call of this number, counted from the last strike on, before or after its effect."""

    call: int
    takes_effect: bool


class Interrupting(OneFailure):
    """FileIO over a memory store that interrupts some calls, one strike after the other."""

    def __init__(self, inner: MemoryFileIO) -> None:
        super().__init__(inner)
        self._strikes: list[Strike] = []
        self._kind = 0
        self._lock = Lock()
        self.struck: list[str] = []
        self.log: list[str] = []

    @contextmanager
    def interrupted(self, strikes: Sequence[Strike] = (), *, kind: int = 0) -> Iterator[None]:
        """Strike within the block, which catches what it is struck by."""
        self._strikes, self._kind = list(strikes), kind
        self.calls, self.struck, self.log = 0, [], []
        try:
            yield
        except KINDS:
            assert self.struck, "an interrupt that nobody sent"
        finally:
            self._strikes = []

    def _call(self, verb: str, *arguments: Any) -> Any:
        strike = self._next(verb, arguments[0])
        perform = getattr(self._inner, verb)
        if strike is None:
            return perform(*arguments)
        if strike.takes_effect:
            perform(*arguments)
        raise KINDS[(self._kind + len(self.struck)) % len(KINDS)]

    def _next(self, verb: str, path: str) -> Strike | None:
        with self._lock:  # several threads write files
            number, self.calls = self.calls, self.calls + 1
            self.log.append(f"{verb} {path}")
            if not self._strikes or number != self._strikes[0].call:
                return None
            self.calls = 0
            self.struck.append(f"{verb} {path}")
            return self._strikes.pop(0)

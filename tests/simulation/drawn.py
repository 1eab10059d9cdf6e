"""Ids and random numbers that a simulated process draws: the same in every run, so that equal outcomes are equal.

The processes that open a store are numbered, and what a process draws depends only on its number. A copy of a store
continues the numbers of the store, so no two processes of one history draw the same.
"""

from __future__ import annotations

import random
import uuid
from typing import Any
from weakref import WeakKeyDictionary

from table_format.io.memory import MemoryFileIO
from table_format.runtime import Clock, Runtime
from tests.simulation.remembered import LookingIO

_processes: WeakKeyDictionary[MemoryFileIO, int] = WeakKeyDictionary()


class Drawn:
    """The ids and random numbers of one process."""

    def __init__(self, process: int) -> None:
        self._source = random.Random(process)

    def random(self) -> float:
        return self._source.random()

    def uuid(self) -> str:
        return str(uuid.UUID(int=self._source.getrandbits(128), version=4))


def drawn_runtime(store: Any, clock: Clock) -> Runtime:
    """The runtime of one more process that opens a memory store, directly or through stores that wrap it.

    A check that only looks (``LookingIO``) is not counted.
    """
    number = 0
    if not isinstance(store, LookingIO):
        while not isinstance(store, MemoryFileIO):
            store = store._inner
        number = _processes[store] = _processes.get(store, 0) + 1
    drawn = Drawn(number)
    return Runtime(clock, drawn, drawn)


def copied(memory: MemoryFileIO, clock: Clock) -> MemoryFileIO:
    """A copy of a store for one trial. It shares the files: nobody changes one after it was closed."""
    copy = MemoryFileIO(clock)
    copy._files = dict(memory._files)
    copy._directories = {directory: set(names) for directory, names in memory._directories.items()}
    _processes[copy] = _processes.get(memory, 0)
    return copy

"""A process that changes the history is the only one that commits to the table meanwhile, as the documents require.

The locks are locks of files: the system frees those of a process that dies.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Gate:
    """What all processes of one table pass. One that waits to be alone lets nobody else pass before it."""

    def __init__(self, directory: str) -> None:
        self._queue = Path(directory) / "gate.queue"
        self._room = Path(directory) / "gate.room"

    @contextmanager
    def together(self) -> Iterator[None]:
        """Commit, while others do too."""
        with _held(self._queue, fcntl.LOCK_EX):
            room = _locked(self._room, fcntl.LOCK_SH)
        try:
            yield
        finally:
            os.close(room)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Change the history, while nobody commits."""
        with _held(self._queue, fcntl.LOCK_EX), _held(self._room, fcntl.LOCK_EX):
            yield


@contextmanager
def _held(path: Path, kind: int) -> Iterator[None]:
    file = _locked(path, kind)
    try:
        yield
    finally:
        os.close(file)


def _locked(path: Path, kind: int) -> int:
    file = os.open(path, os.O_CREAT | os.O_RDWR)
    fcntl.flock(file, kind)
    return file

"""Writers of one machine take turns after a conflict, so that each of them makes progress.

Rows of a cross-partition table depend on the places of all their keys. If several writers write the same keys at
once, one commits and the others retry; by chance, the same one may lose every time. So a retry runs alone on the
machine: it waits until running attempts have ended, and new ones wait for it. It uses two locks of the operating
system. All writers pass the ``gate``, where waiting retries hold up later writers. First attempts share the ``turn``
lock; a retry holds it alone.

The locks only save time: the commit itself detects conflicts. A writer that cannot take them, or waits too long,
continues without them. The operating system releases them when the process ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from table_format.options.bucket_mode import CrossPartition
from table_format.runtime import Runtime
from table_format.table.facts import TableFacts
from table_format.table.placement.key_index_directory import key_index_directory

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]  # a module elsewhere

PATIENCE_MS: Final = 10_000
"""How long a writer waits for others, such as a load of several hours, before it continues in parallel."""

_LOOK_MS: Final = 10

_held: ContextVar[frozenset[Path]] = ContextVar("held", default=frozenset())
"""WriterTurns of this thread. A write within a write, for instance by the rows being read, does not wait for itself."""


@dataclass(frozen=True, slots=True)
class WriterTurns:
    """The turns of the writers of one table. Without a directory, there are no turns."""

    runtime: Runtime
    directory: Path | None = None

    @classmethod
    def of(cls, facts: TableFacts) -> WriterTurns:
        """Return the turns of a table."""
        runtime, paths = facts.store.runtime, facts.store.paths
        if fcntl is None or not isinstance(facts.bucket_mode, CrossPartition):
            return cls(runtime)
        return cls(runtime, key_index_directory(runtime, paths.root, paths.branch))

    @contextmanager
    def taken(self, *, alone: bool) -> Iterator[None]:
        """Work in parallel with others that are not ``alone``, or alone."""
        if self.directory is None or self.directory in _held.get():
            yield
            return
        with ExitStack() as locks:
            # A lock that fails only costs time.
            with suppress(OSError):
                self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                gate = locks.enter_context((self.directory / "gate.lock").open("ab"))
                turn = locks.enter_context((self.directory / "turn.lock").open("ab"))
                self._wait_for(gate, turn, alone=alone)
            token = _held.set(_held.get() | {self.directory})
            try:
                yield
            finally:
                _held.reset(token)

    def _wait_for(self, gate: BinaryIO, turn: BinaryIO, *, alone: bool) -> None:
        give_up_ms = self.runtime.clock.monotonic_ms() + PATIENCE_MS
        self._lock(gate, fcntl.LOCK_EX, give_up_ms)
        self._lock(turn, fcntl.LOCK_EX if alone else fcntl.LOCK_SH, give_up_ms)
        if not alone:
            fcntl.flock(gate, fcntl.LOCK_UN)

    def _lock(self, file: BinaryIO, how: int, give_up_ms: int) -> None:
        clock = self.runtime.clock
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(file, how | fcntl.LOCK_NB)
                return
            if clock.monotonic_ms() >= give_up_ms:
                return
            clock.sleep_ms(1 + int(_LOOK_MS * self.runtime.random.random()))

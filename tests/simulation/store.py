"""The store under all actors and the faulty view each actor has of it.

``SharedStore`` is the truth: a ``MemoryFileIO`` that tells observers of every change when it happens. ``FaultyFileIO``
is one process' connection: every verb is a switch point, and may fail before or after the truth has changed.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import TypeVar

import pyarrow as pa

from table_format.io.file_io import FileStatus
from table_format.io.memory import MemoryFileIO
from table_format.io.paths import base_name, parent, sibling, temporary_name
from tests.simulation.faults import CRASHES, INTERRUPTS, Fault, FaultKind
from tests.simulation.interrupting_io import KINDS
from tests.simulation.sum_table import PATHS
from tests.simulation.world import Actor, Crash, World

T = TypeVar("T")


class Observer:
    """Told of every change of the truth, at the moment it happens, with the actor who made it."""

    def created(self, path: str, data: bytes, actor: Actor) -> None:
        """A file has come into being."""

    def deleting(self, path: str, data: bytes, actor: Actor) -> None:
        """A file is about to go."""


class WorldClock:
    def __init__(self, world: World) -> None:
        self._world = world

    def now_ms(self) -> int:
        return self._world.now_ms


class SharedStore:
    """The truth, and what of its past a stale answer may show."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.files = MemoryFileIO(WorldClock(world))
        self.observers: list[Observer] = []
        self.makers: dict[str, Actor] = {}
        self._previous: dict[str, bytes] = {}
        self._born: dict[str, int] = {}
        self._died: dict[str, tuple[int, FileStatus]] = {}

    def create(self, path: str, data: bytes, actor: Actor) -> None:
        self.files.create(path, data)
        self._born[path] = self.world.now_ms
        self._died.pop(path, None)
        self.makers[path] = actor
        for observer in self.observers:
            observer.created(path, data, actor)

    def overwrite(self, path: str, data: bytes, actor: Actor) -> None:
        if self.files.status(path) is not None:
            self._previous[path] = self.files.read(path)
        self.files.overwrite(path, data)
        self.makers.setdefault(path, actor)
        for observer in self.observers:
            observer.created(path, data, actor)

    def delete(self, path: str, actor: Actor) -> None:
        status = self.files.status(path)
        if status is None:
            return
        if not status.is_directory:
            for observer in self.observers:
                observer.deleting(path, self.files.read(path), actor)
            self._died[path] = (self.world.now_ms, status)
            self.makers.pop(path, None)
        self.files.delete(path)

    def damage_hint(self, directory: str, number: int) -> None:
        """Let the hint for the latest or the earliest snapshot say something else."""
        texts = (b"", b"garbage", b"9" * 19, b"0", *(str(number // 20 % 50).encode() for _ in range(4)))
        path = f"{directory}/{('LATEST', 'EARLIEST')[number % 2]}"
        if self.files.status(path) is not None:
            self.files.overwrite(path, texts[number // 2 % len(texts)])

    def stale_read(self, path: str) -> bytes:
        return self._previous[path] if path in self._previous else self.files.read(path)

    def stale_list(self, directory: str, age_ms: int) -> list[FileStatus]:
        since = self.world.now_ms - age_ms
        seen = [s for s in self.files.list(directory) if self._born.get(f"{directory}/{s.name}", 0) < since]
        gone = [s for path, (when, s) in self._died.items() if parent(path) == directory and when >= since]
        return sorted(seen + gone, key=lambda status: status.name)

    def paths(self, directory: str = "/") -> list[str]:
        """Every file, temporary ones included."""
        return sorted(path for path in self.makers if path.startswith(f"{directory.rstrip('/')}/"))


class FaultyFileIO:
    """One incarnation's connection to the store: what the dead ask for has no effect."""

    def __init__(self, shared: SharedStore, actor: Actor, *, request_ms: int | None = None) -> None:
        self._shared = shared
        self._world = shared.world
        self._actor = actor
        self._incarnation = actor.incarnation
        self._request_ms = request_ms

    # --- the verbs --------------------------------------------------------------------------------------------------

    def read(self, path: str) -> bytes:
        stale = lambda _: self._shared.stale_read(path)  # noqa: E731
        return self._call("read", path, lambda: self._shared.files.read(path), stale=stale)

    def open_input(self, path: str) -> pa.NativeFile:
        return self._call("open_input", path, lambda: self._shared.files.open_input(path))

    def create(self, path: str, data: bytes) -> None:
        def leave_part() -> None:
            hidden = sibling(path, temporary_name(base_name(path), self._actor.runtime.ids.uuid()))
            self._shared.create(hidden, data[: len(data) // 2], self._actor)

        self._call("create", path, lambda: self._shared.create(path, data, self._actor), partial=leave_part)

    def overwrite(self, path: str, data: bytes) -> None:
        self._call("overwrite", path, lambda: self._shared.overwrite(path, data, self._actor), partial=lambda: None)

    def open_output(self, path: str) -> pa.NativeFile:
        shared, actor = self._shared, self._actor

        def close(data: bytes) -> None:
            def half() -> None:
                shared.overwrite(path, data[: len(data) // 2], actor)

            self._call("close", path, lambda: shared.overwrite(path, data, actor), partial=half)

        self._call("open_output", path, lambda: shared.create(path, b"", actor), partial=lambda: None)
        return pa.PythonFile(_Output(close), mode="w")

    def status(self, path: str) -> FileStatus | None:
        return self._call("status", path, lambda: self._shared.files.status(path))

    def list(self, directory: str) -> list[FileStatus]:
        stale = lambda age_ms: self._shared.stale_list(directory, age_ms)  # noqa: E731
        return self._call("list", directory, lambda: self._shared.files.list(directory), stale=stale)

    def list_hidden(self, directory: str) -> list[FileStatus]:
        return self._call("list_hidden", directory, lambda: self._shared.files.list_hidden(directory))

    def delete(self, path: str) -> None:
        self._call("delete", path, lambda: self._shared.delete(path, self._actor))

    def delete_tree(self, directory: str) -> None:
        def effect() -> None:
            for path in self._shared.paths(directory):
                self._shared.delete(path, self._actor)
            self._shared.files.delete_tree(directory)

        self._call("delete_tree", directory, effect)

    def delete_empty_directory(self, directory: str) -> bool:
        effect = lambda: self._shared.files.delete_empty_directory(directory)  # noqa: E731
        return self._call("delete_empty_directory", directory, effect)

    def rename_directory(self, source: str, target: str) -> None:
        effect = lambda: self._shared.files.rename_directory(source, target)  # noqa: E731
        self._call("rename_directory", source, effect)

    def make_directory(self, directory: str) -> None:
        self._call("make_directory", directory, lambda: self._shared.files.make_directory(directory))

    # --- one call ---------------------------------------------------------------------------------------------------

    def _call(
        self,
        verb: str,
        path: str,
        effect: Callable[[], T],
        *,
        stale: Callable[[int], T] | None = None,
        partial: Callable[[], None] | None = None,
    ) -> T:
        self._check_alive()
        world, actor = self._world, self._actor
        world.calls += 1
        actor.calls += 1
        begun_ms = world.now_ms
        fault = None if world.calm else actor.faults.next_fault(verb, path)
        parked_ms = fault.amount if fault and fault.kind is FaultKind.SLOW_BEFORE else 0
        world.pause(actor, world.latency_ms() + parked_ms)
        self._check_alive()
        world.record(actor, verb, path, fault)
        if self._request_ms is not None and world.now_ms - begun_ms > self._request_ms:
            # The request was so long on its way that the client has given up and the store no longer takes it.
            world.note("request_given_up")
            raise _error(errno.ETIMEDOUT, "the request took too long", path)
        if fault is None:
            return effect()
        return self._faulty_call(fault, path, effect, stale, partial)

    def _faulty_call(
        self,
        fault: Fault,
        path: str,
        effect: Callable[[], T],
        stale: Callable[[int], T] | None,
        partial: Callable[[], None] | None,
    ) -> T:
        _strike_before(fault, path)
        kind = fault.kind
        if kind is FaultKind.CLOCK_JUMP:
            self._actor.skew_ms = fault.amount
        if kind is FaultKind.HINT_DAMAGED:
            self._shared.damage_hint(PATHS.snapshot_directory, fault.amount)
        if kind is FaultKind.LATE:
            self._world.later(fault.amount, f"late {path}", lambda: _quietly(effect))
            raise _error(errno.ETIMEDOUT, "no answer", path)
        if kind in INTERRUPTS:
            self._interrupt(fault, path, effect)
        if kind in CRASHES:
            self._crash(kind, effect, partial)
        if kind in (FaultKind.STALE_LIST, FaultKind.STALE_READ) and stale is not None:
            return stale(fault.amount)
        result = effect()
        if kind is FaultKind.SLOW_AFTER:
            self._world.pause(self._actor, fault.amount)
            self._check_alive()
        if kind in (FaultKind.ERROR_AFTER, FaultKind.OUTAGE):
            raise _error(errno.EIO, "the connection broke after the request", path)
        if kind is FaultKind.DUPLICATE:
            raise FileExistsError(errno.EEXIST, "the file exists", path)
        return result

    def _interrupt(self, fault: Fault, path: str, effect: Callable[[], T]) -> None:
        if fault.kind is FaultKind.INTERRUPT_AFTER:
            _quietly(effect)
        if fault.kind is FaultKind.INTERRUPT_LATE:
            self._world.later(fault.amount, f"late {path}", lambda: _quietly(effect))
        raise KINDS[self._actor.calls % len(KINDS)]

    def _crash(self, kind: FaultKind, effect: Callable[[], T], partial: Callable[[], None] | None) -> None:
        if kind is FaultKind.CRASH_AFTER:
            _quietly(effect)
        if kind is FaultKind.PARTIAL and partial is not None:
            partial()
        self._actor.alive = False
        raise Crash

    def _check_alive(self) -> None:
        if not self._actor.alive or self._incarnation != self._actor.incarnation:
            raise Crash  # what runs after a crash is unwinding that no real process would do


class _Output:
    """The sink of ``open_output``; closing it is a call like any other."""

    def __init__(self, close: Callable[[bytes], None]) -> None:
        self._close = close
        self._data = bytearray()
        self.closed = False

    def write(self, data: bytes) -> int:
        self._data += data
        return len(data)

    def tell(self) -> int:
        return len(self._data)

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._close(bytes(self._data))


def _strike_before(fault: Fault, path: str) -> None:
    match fault.kind:
        case FaultKind.ERROR_BEFORE:
            raise _error(errno.EIO, "input/output error", path)
        case FaultKind.THROTTLE:
            raise _error(errno.EBUSY, "slow down", path)
        case FaultKind.PERMISSION:
            raise _error(errno.EACCES, "permission denied", path)
        case FaultKind.DISK_FULL:
            raise _error(errno.ENOSPC, "no space left on device", path)


def _error(code: int, text: str, path: str) -> OSError:
    return OSError(code, text, path)


def _quietly(effect: Callable[[], object]) -> None:
    try:
        effect()
    except OSError:
        return

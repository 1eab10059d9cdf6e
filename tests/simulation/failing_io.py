"""A store that fails one call, in one way: what the exhaustive test puts between a table and its memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import Any

import pyarrow as pa

from table_format.io.file_io import FileStatus
from table_format.io.memory import MemoryFileIO


class Crash(BaseException):
    """The process died here: nothing that would clean up may run after it."""


class Mode(StrEnum):
    """What becomes of the call."""

    ERROR_BEFORE = "error before"
    ERROR_AFTER = "error after"
    CRASH_BEFORE = "crash before"
    CRASH_AFTER = "crash after"

    @property
    def takes_effect(self) -> bool:
        return self in (Mode.ERROR_AFTER, Mode.CRASH_AFTER)

    @property
    def is_crash(self) -> bool:
        return self in (Mode.CRASH_BEFORE, Mode.CRASH_AFTER)


_LOOKING = frozenset({"read", "open_input", "status", "list", "list_hidden"})


class OneFailure:
    """FileIO over a memory store; call number ``fail_at`` fails. After a crash every call does: the process is gone.

    With ``changes_only`` calls that only look are not counted: after one of them the store is as after the one before.
    """

    def __init__(
        self,
        inner: MemoryFileIO,
        fail_at: int | None = None,
        mode: Mode = Mode.ERROR_BEFORE,
        *,
        changes_only: bool = False,
    ) -> None:
        self._inner = inner
        self._fail_at = fail_at
        self._mode = mode
        self._changes_only = changes_only
        self._is_dead = False
        self.calls = 0

    def _call(self, verb: str, *arguments: Any) -> Any:
        if self._is_dead:
            raise Crash
        perform = getattr(self._inner, verb)
        if self._changes_only and verb in _LOOKING:
            return perform(*arguments)
        number, self.calls = self.calls, self.calls + 1
        if number != self._fail_at:
            return perform(*arguments)
        if self._mode.takes_effect:
            perform(*arguments)
        if self._mode.is_crash:
            self._is_dead = True
            raise Crash
        message = f"{verb} was made to fail"
        raise OSError(5, message, arguments[0])

    def read(self, path: str) -> bytes:
        return self._call("read", path)

    def open_input(self, path: str) -> pa.NativeFile:
        return self._call("open_input", path)

    def create(self, path: str, data: bytes) -> None:
        self._call("create", path, data)

    def overwrite(self, path: str, data: bytes) -> None:
        self._call("overwrite", path, data)

    def open_output(self, path: str) -> pa.NativeFile:
        return self._call("open_output", path)

    def status(self, path: str) -> FileStatus | None:
        return self._call("status", path)

    def list(self, directory: str) -> list[FileStatus]:
        return self._call("list", directory)

    def list_hidden(self, directory: str) -> list[FileStatus]:
        return self._call("list_hidden", directory)

    def delete(self, path: str) -> None:
        self._call("delete", path)

    def delete_tree(self, directory: str) -> None:
        self._call("delete_tree", directory)

    def delete_empty_directory(self, directory: str) -> bool:
        return self._call("delete_empty_directory", directory)

    def rename_directory(self, source: str, target: str) -> None:
        self._call("rename_directory", source, target)

    def make_directory(self, directory: str) -> None:
        self._call("make_directory", directory)


class Interrupted(OneFailure):
    """FileIO over a memory store; before the call with a number somebody else acts on the store.

    Only the opening of data and index files is counted, from ``begin`` on.
    """

    def __init__(self, inner: MemoryFileIO, at: int, act: Callable[[], object]) -> None:
        super().__init__(inner)
        self._at = at
        self._act = act
        self._has_begun = False

    def begin(self) -> None:
        """Count from here on."""
        self._has_begun = True

    def _call(self, verb: str, *arguments: Any) -> Any:
        is_counted = verb == "open_input" and ("/bucket-" in arguments[0] or "/index/" in arguments[0])
        if self._has_begun and is_counted:
            number, self.calls = self.calls, self.calls + 1
            if number == self._at:
                self._act()
        return getattr(self._inner, verb)(*arguments)


class FailingObjectStore(OneFailure):
    """``OneFailure`` over a store that moves and deletes a directory file by file, as an object store does."""

    is_object_store = True

    def uri(self, path: str) -> str:
        return f"memory:/{path}"

    def has_file(self, path: str) -> bool:
        found = self.status(path)
        return found is not None and not found.is_directory

    def delete_files(self, paths: Sequence[str]) -> None:
        for path in paths:
            self.delete(path)

    def delete_empty_directory(self, directory: str) -> bool:
        return False

    def delete_tree(self, directory: str) -> None:
        for path in sorted(_files_below(self._inner, directory)):
            self.delete(path)
        self._inner.delete_tree(directory)  # directories without files do not exist

    def rename_directory(self, source: str, target: str) -> None:
        if self.status(target) is not None:
            raise FileExistsError(17, "the target exists", target)
        self.create(f"{target}/.moving", b"")
        for path in sorted(_files_below(self._inner, source), reverse=True):
            self.create(target + path.removeprefix(source), self._inner.read(path))
        self.delete_tree(source)
        self.delete(f"{target}/.moving")


def _files_below(memory: MemoryFileIO, directory: str) -> Iterator[str]:
    for child in (*memory.list(directory), *memory.list_hidden(directory)):
        path = f"{directory}/{child.name}"
        if child.is_directory:
            yield from _files_below(memory, path)
        else:
            yield path

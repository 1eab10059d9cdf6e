"""Manages local databases, each of which one process uses exclusively.

A directory has a few files for the same purpose, the slots. Opening takes the first slot that is not in use: DuckDB
locks its file against other processes, and a list separates the threads of this process. A file that cannot be read or
has another version is deleted, because its content can always be rebuilt.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

import duckdb

MAX_SLOTS: Final = 64
_TIMES: Final = 3
"""How often the directory is created again if it disappears."""
_SUFFIX: Final = ".duckdb"
_MEMORY: Final = "512MB"
_SETTINGS: Final[dict[str, str | bool | int | float | list[str]]] = {
    "memory_limit": _MEMORY,
    "preserve_insertion_order": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_access": "false",
}

_claimed: Final[dict[str, object]] = {}
"""The slots that this process uses. One operation of the dictionary claims or releases one, without a lock: the garbage
collector closes a forgotten index in any thread at any time, so it would wait for the very thread that it runs in.
"""


class LocalStoreError(OSError):
    """A local database failed: it is full, damaged, or out of memory. Its contents can be rebuilt."""


class LocalStore:
    """An open database: a file of a directory."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, path: Path) -> None:
        self.connection = connection
        self.path = path

    def close(self) -> None:
        """Close the file. Uncommitted changes are lost."""
        try:
            self.connection.close()
        finally:
            _release(self.path)

    def discard(self) -> None:
        """Let go of the file and delete it."""
        try:
            with suppress(duckdb.Error):
                self.connection.close()
            _delete(self.path)
        finally:
            _release(self.path)


def open_local_store(directory: Path, name: str) -> LocalStore:
    """Open the first free slot of a directory. The directory is created if it is missing.

    Raises:
        LocalStoreError: the directory cannot be written, or all slots are in use.
    """
    try:
        opened = _first_free(directory, name)
    except (OSError, duckdb.Error) as error:
        message = f"{directory}: the local index cannot be opened ({error}); set another directory in 'local-cache.dir'"
        raise LocalStoreError(message) from error
    if opened is None:
        message = f"{directory}: {MAX_SLOTS} writers have local indexes open; set another 'local-cache.dir'"
        raise LocalStoreError(message)
    return opened


def _first_free(directory: Path, name: str, times: int = _TIMES) -> LocalStore | None:
    """Open the first free slot; ``None`` if all are in use."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        slots = (_open_slot(directory / f"{name}-{slot}{_SUFFIX}") for slot in range(MAX_SLOTS))
        return next((store for store in slots if store is not None), None)
    except (OSError, duckdb.Error):
        # A process that drops a table of that path deletes the directory as well.
        if times == 1 or directory.is_dir():
            raise
    return _first_free(directory, name, times - 1)


def kept_names(directory: Path) -> list[str]:
    """Return the names of the databases in a directory, the most recently written first."""
    newest: dict[str, float] = {}
    for path in directory.glob(f"*{_SUFFIX}"):
        with suppress(OSError):  # deleted in the meantime
            name = path.name.removesuffix(_SUFFIX).rpartition("-")[0]
            newest[name] = max(newest.get(name, 0.0), path.stat().st_mtime)
    return sorted(newest, key=lambda name: -newest[name])


def discard_closed(directory: Path, name: str) -> None:
    """Delete the databases with this name that are not in use. Files that cannot be deleted stay."""
    with suppress(OSError, duckdb.Error):
        for path in directory.glob(f"{name}-*{_SUFFIX}"):
            store = _open_slot(path)
            if store is not None:
                store.discard()


def _open_slot(path: Path) -> LocalStore | None:
    """Open a slot; ``None`` if it is in use."""
    if not _claim(path):
        return None
    try:
        connection = _connect(path)
    except BaseException:
        _release(path)
        raise
    if connection is None:
        _release(path)
        return None
    return LocalStore(connection, path)


def _connect(path: Path) -> duckdb.DuckDBPyConnection | None:
    try:
        return _connection(path)
    except duckdb.IOException as error:
        if "Could not set lock" in str(error):
            return None
        _delete(path)
    except duckdb.Error:
        _delete(path)
    return _connection(path)


def _connection(path: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(str(path), config=_SETTINGS)
    # DuckDB takes spawned processes for interactive. Their output is often a log.
    connection.execute("SET enable_progress_bar = false")
    return connection


def _delete(path: Path) -> None:
    for file in (path, path.with_name(f"{path.name}.wal")):
        file.unlink(missing_ok=True)


def _claim(path: Path) -> bool:
    """Take a slot for this process, and return whether it was free."""
    claim = object()
    return _claimed.setdefault(str(path), claim) is claim


def _release(path: Path) -> None:
    _claimed.pop(str(path), None)

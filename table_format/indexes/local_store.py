"""Local databases, which a process uses exclusively.

A directory holds a few files of the same purpose, the slots. Who opens one takes the first that nobody has open: DuckDB
locks its file against other processes, and a list keeps the threads of this process apart. A file that cannot be read,
or is of another version, is thrown away; what lies here can always be made again.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Final

import duckdb

MAX_SLOTS: Final = 64
_TIMES: Final = 3
"""How often the directory is made when it disappears."""
_SUFFIX: Final = ".duckdb"
_MEMORY: Final = "512MB"
_SETTINGS: Final[dict[str, str | bool | int | float | list[str]]] = {
    "memory_limit": _MEMORY,
    "preserve_insertion_order": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_access": "false",
}

_claimed: set[Path] = set()
_claims: Final = Lock()


class LocalStoreError(OSError):
    """A local database failed: it is full, damaged, or out of memory. Its contents can be rebuilt."""


class LocalStore:
    """An open database: a file of a directory."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, path: Path) -> None:
        self.connection = connection
        self.path = path

    def close(self) -> None:
        """Let go of the file; the last changes that were not committed are gone."""
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
    """Open the first free slot of a directory, which is made if need be.

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
    """``None`` when others have all slots open."""
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
    """The names databases of a directory are kept by, the one that was last written first."""
    newest: dict[str, float] = {}
    for path in directory.glob(f"*{_SUFFIX}"):
        with suppress(OSError):  # deleted in the meantime
            name = path.name.removesuffix(_SUFFIX).rpartition("-")[0]
            newest[name] = max(newest.get(name, 0.0), path.stat().st_mtime)
    return sorted(newest, key=lambda name: -newest[name])


def discard_closed(directory: Path, name: str) -> None:
    """Delete the databases of a name that nobody has open, as far as that goes."""
    with suppress(OSError, duckdb.Error):
        for path in directory.glob(f"{name}-*{_SUFFIX}"):
            store = _open_slot(path)
            if store is not None:
                store.discard()


def _open_slot(path: Path) -> LocalStore | None:
    """``None`` when others have it open."""
    with _claims:
        if path in _claimed:
            return None
        _claimed.add(path)
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
        return duckdb.connect(str(path), config=_SETTINGS)
    except duckdb.IOException as error:
        if "Could not set lock" in str(error):
            return None
        _delete(path)
    except duckdb.Error:
        _delete(path)
    return duckdb.connect(str(path), config=_SETTINGS)


def _delete(path: Path) -> None:
    for file in (path, path.with_name(f"{path.name}.wal")):
        file.unlink(missing_ok=True)


def _release(path: Path) -> None:
    with _claims:
        _claimed.discard(path)

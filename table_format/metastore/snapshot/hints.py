"""Hints: two files with the id at which to start the search for the latest and the earliest numbered file.

A hint may be missing, too low, too high or damaged. Nothing is deleted, refused or hidden because of a hint. Every
method that writes raises ``OSError`` if the store fails.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from table_format.codecs.hint_text import decode_hint
from table_format.codecs.publishable import hint_bytes
from table_format.errors import CorruptionError
from table_format.io.regular_files import read_file
from table_format.io.table_store import TableStore

_UNKNOWN: Final = b"-1"


@dataclass(frozen=True, slots=True)
class Hints:
    """The hints of one directory."""

    store: TableStore
    latest_path: str
    earliest_path: str

    def latest(self) -> int | None:
        """Return the latest id according to the hint; ``None`` if the hint cannot be read."""
        return self._read(self.latest_path)

    def earliest(self) -> int | None:
        """Return the earliest id according to the hint; ``None`` if the hint cannot be read."""
        return self._read(self.earliest_path)

    def write_latest(self, number: int) -> None:
        """Write the latest id to the hint."""
        self.store.io.overwrite(self.latest_path, hint_bytes(number, path=self.latest_path))

    def write_earliest(self, number: int) -> None:
        """Write the earliest id to the hint."""
        self.store.io.overwrite(self.earliest_path, hint_bytes(number, path=self.earliest_path))

    def create_earliest(self, number: int) -> None:
        """Write the earliest id to the hint, unless the hint exists.

        It is not overwritten, because a delayed request would undo what an expiry has written in the meantime.
        """
        with suppress(FileExistsError):
            self.store.io.create(self.earliest_path, hint_bytes(number, path=self.earliest_path))

    def write_latest_unknown(self) -> None:
        """Write to the hint that the latest id is unknown, as the reference does."""
        self.store.io.overwrite(self.latest_path, _UNKNOWN)

    def delete_latest(self) -> None:
        """Delete the hint of the latest id, so that every reader lists."""
        self.store.io.delete(self.latest_path)

    def delete(self) -> None:
        """Delete both hints."""
        self.store.io.delete(self.earliest_path)
        self.store.io.delete(self.latest_path)

    def _read(self, path: str) -> int | None:
        try:
            return decode_hint(read_file(self.store.io, path))
        except (OSError, CorruptionError):
            return None  # an unreadable hint counts as missing

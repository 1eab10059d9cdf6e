"""Hints: two files that say where to start the search for the latest and the earliest numbered file.

A hint may be stale, missing, ahead or garbage. Nothing is deleted, refused or hidden because of one. Every method that
writes raises ``OSError`` when the store fails.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from table_format.codecs.hint_text import decode_hint
from table_format.codecs.publishable import hint_bytes
from table_format.errors import CorruptionError
from table_format.io.sound_files import read_file
from table_format.io.table_store import TableStore

_UNKNOWN: Final = b"-1"


@dataclass(frozen=True, slots=True)
class Hints:
    """The hints of one directory."""

    store: TableStore
    latest_path: str
    earliest_path: str

    def latest(self) -> int | None:
        """The id that the hint gives as the latest; ``None`` when it cannot be read."""
        return self._read(self.latest_path)

    def earliest(self) -> int | None:
        """The id that the hint gives as the earliest; ``None`` when it cannot be read."""
        return self._read(self.earliest_path)

    def write_latest(self, number: int) -> None:
        """Name the latest id."""
        self.store.io.overwrite(self.latest_path, hint_bytes(number, path=self.latest_path))

    def write_earliest(self, number: int) -> None:
        """Name the earliest id."""
        self.store.io.overwrite(self.earliest_path, hint_bytes(number, path=self.earliest_path))

    def create_earliest(self, number: int) -> None:
        """Name the earliest id, unless the hint exists.

        It is not overwritten: a request that took its time would undo what an expiry has written since.
        """
        with suppress(FileExistsError):
            self.store.io.create(self.earliest_path, hint_bytes(number, path=self.earliest_path))

    def write_latest_unknown(self) -> None:
        """Say that the latest id is not known, as the reference does."""
        self.store.io.overwrite(self.latest_path, _UNKNOWN)

    def delete_latest(self) -> None:
        """Remove the hint of the latest id, so that every reader lists."""
        self.store.io.delete(self.latest_path)

    def delete(self) -> None:
        """Remove both hints."""
        self.store.io.delete(self.earliest_path)
        self.store.io.delete(self.latest_path)

    def _read(self, path: str) -> int | None:
        try:
            return decode_hint(read_file(self.store.io, path))
        except (OSError, CorruptionError):
            return None  # a hint that cannot be read is no hint

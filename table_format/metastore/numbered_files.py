"""The files of a directory whose names end in a number: snapshots, long-lived changelogs, schemas.

A numbered file is created once and never changes. Its store determines their number and which numbers may be missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from table_format.errors import BadEncoding
from table_format.io.regular_files import file_exists, read_file
from table_format.io.table_store import TableStore
from table_format.metastore.publish import create_new


class Numbered(Protocol):
    """The content of a numbered file, which includes its own number."""

    @property
    def id(self) -> int:
        """The number of the file."""
        ...


N = TypeVar("N", bound=Numbered)


@dataclass(frozen=True, slots=True)
class NumberedFiles(Generic[N]):
    """Finds, creates and deletes the files of one kind, which errors call ``kind``."""

    store: TableStore
    kind: str
    directory: str
    path: Callable[[int], str]
    """Returns the path of the file with a number."""
    id_of: Callable[[str], int | None]
    """Returns the number in a file name; ``None`` for the name of another file."""
    decode: Callable[[bytes, str], N]
    """Decodes the content of a file; the path is for errors."""

    def ids(self) -> list[int]:
        """Return the numbers of all files, ascending, from one listing."""
        ids = (self.id_of(child.name) for child in self.store.io.list(self.directory))
        return sorted(i for i in ids if i is not None)

    def exists(self, number: int) -> bool:
        """Return whether the file exists. Raises ``BadEncoding`` if its name is that of an object other than a file."""
        return file_exists(self.store.io, self.path(number))

    def find(self, number: int) -> N | None:
        """Return the content of the file with a number; ``None`` if it does not exist.

        Raises:
            CorruptionError: the content of the file does not match its name.
        """
        data = self.data(number)
        return None if data is None else self.decoded(number, data)

    def data(self, number: int) -> bytes | None:
        """Return the bytes of the file with a number; ``None`` if it does not exist."""
        try:
            return read_file(self.store.io, self.path(number))
        except FileNotFoundError:
            return None

    def decoded(self, number: int, data: bytes) -> N:
        """Return what the bytes of the file with a number mean.

        Raises:
            CorruptionError: the content of the file does not match its name.
        """
        path = self.path(number)
        found = self.decode(data, path)
        if found.id != number:
            raise BadEncoding(path, f"expected {self.kind} {number}, found {self.kind} {found.id}")
        return found

    def create(self, number: int, data: bytes, *, give_up_after_ms: int) -> None:
        """Create the file with the number, which must not exist.

        Raises:
            AlreadyExistsError: the number is taken.
            OutcomeUnknownError: the store did not answer.
        """
        create_new(self.store, self.path(number), data, what=f"{self.kind} {number}", give_up_after_ms=give_up_after_ms)

    def delete(self, number: int) -> None:
        """Delete the file with the number; do nothing if it does not exist."""
        self.store.io.delete(self.path(number))

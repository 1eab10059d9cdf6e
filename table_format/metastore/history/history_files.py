"""What a change of history writes below its table: if the table is dropped meanwhile, nothing of it may stay.

A snapshot or schema that stays would bring the table back without its files, or damage the table that has the name by
then. No store replaces a file only if its table is still the same one, so the table is compared before each effect, and
what was written before a drop is removed. Only a drop and a new table within the same call of the store go unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from table_format.errors import TableNotFound, TableReplaced
from table_format.io.regular_files import read_file
from table_format.io.table_store import TableStore
from table_format.metastore.schema.table_identity import require_same_table


@dataclass(frozen=True, slots=True)
class HistoryFiles:
    """The files that one change of history has written, by path."""

    store: TableStore
    _written: dict[str, bytes] = field(default_factory=dict)

    def note(self, path: str, data: bytes) -> None:
        """Note a file that is about to be written."""
        self._written[path] = data

    def write(self, path: str, data: bytes, *, is_new: bool) -> None:
        """Write a file. One that is new replaces only a file of this table.

        Raises:
            TableNotFound, TableReplaced: the table is no longer the loaded one.
            OSError: the store failed.
        """
        self.note(path, data)
        if is_new:
            with suppress(FileExistsError):
                self.store.io.create(path, data)
                return
        self.require_same_table()
        self.store.io.overwrite(path, data)

    def require_same_table(self) -> None:
        """Refuse to continue if the table is no longer the loaded one, and remove what was written.

        Raises:
            TableNotFound, TableReplaced: the table was dropped, renamed or created again.
            OSError: the store failed.
        """
        try:
            require_same_table(self.store)
        except (TableNotFound, TableReplaced):
            for path, data in self._written.items():
                with suppress(FileNotFoundError):
                    if read_file(self.store.io, path) == data:
                        self.store.io.delete(path)
            raise

    @contextmanager
    def explaining_drop(self) -> Iterator[None]:
        """Guard a change of history: if a file is missing because the table was dropped, say so."""
        try:
            yield
        except FileNotFoundError:
            self.require_same_table()
            raise

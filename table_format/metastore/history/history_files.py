"""The files that a change of history writes below its table. If the table is dropped meanwhile, none of them may stay.

A snapshot or schema that stays would bring the table back without its files, or damage a new table with the same name.
No store can make an effect depend on the table being the same. The table is therefore compared before each step, and
again at the end. If it is another one, the files written so far are removed. A drop and a new table between a
comparison and the effects that follow it go unnoticed.
"""

from __future__ import annotations

from contextlib import suppress
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

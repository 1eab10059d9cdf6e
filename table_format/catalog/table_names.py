"""Where a catalog keeps the names of its databases and tables: all in which catalogs differ.

``NamedCatalog`` does the rest. A new catalog implements ``TableNames`` and is listed in ``registry``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class TableName:
    """A legal name of a table; ``root_of`` leads to its directory."""

    database: str
    table: str

    def __str__(self) -> str:
        return f"{self.database}.{self.table}"


class TableNames(Protocol):
    """The list of a catalog. Names are legal when they come in here; the database ``sys`` never does."""

    def databases(self) -> Iterable[str]:
        """The names of all databases."""
        ...

    def has_database(self, database: str) -> bool:
        """Whether there is a database of that name."""
        ...

    def add_database(self, database: str) -> None:
        """Make an empty database; nothing happens when there is one."""
        ...

    def drop_database(self, database: str, *, cascade: bool) -> bool:
        """Remove a database, with ``cascade`` with all tables and files in it; ``False`` when there was none.

        First its name disappears in one step, then its files.

        Raises:
            InvalidInputError: it is not empty, and ``cascade`` is not given.
            OSError: the store failed; the message says when the name is gone and only files are left.
        """
        ...

    def tables(self, database: str) -> Iterable[str]:
        """The names of the tables of a database that exists."""
        ...

    def root_of(self, name: TableName) -> str | None:
        """The directory a name leads to, whether there is a table in it or not; ``None`` for an unknown name."""
        ...

    def add_table(self, name: TableName, write_first_schema: Callable[[str], None]) -> None:
        """Make a table: choose its directory, have the first schema written there, and let the name lead to it.

        Of all callers of all processes exactly one wins. ``write_first_schema`` takes the directory and does its work
        in one atomic step; it raises ``AlreadyExistsError`` where another has done it.

        Raises:
            AlreadyExistsError: another has made a table of that name; nothing of this one is left.
        """
        ...

    def rename_table(self, source: TableName, target: TableName) -> None:
        """Let ``target`` lead to the table, and ``source`` no longer, in one step.

        Raises:
            FileExistsError: there is a table ``target``.
            FileNotFoundError: there is no table ``source`` any more.
        """
        ...

    def drop_table(self, name: TableName) -> bool:
        """Remove a table: first the name in one step, then the files. ``False`` when there was nothing to remove.

        Raises:
            OSError: the store failed; the message says when the name is gone and only files are left.
        """
        ...

    def locked(self, name: TableName) -> AbstractContextManager[None]:
        """Keeps others from altering, renaming or dropping the table meanwhile, where the list has locks."""
        ...

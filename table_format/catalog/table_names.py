"""How a catalog stores the names of its databases and tables: the only part in which catalogs differ.

``NamedCatalog`` does the rest. A new catalog implements ``TableNames`` and is listed in ``registry``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Protocol

from table_format.model.schema import TableSchema


@dataclass(frozen=True, slots=True)
class TableName:
    """A legal table name; ``root_of`` returns its directory."""

    database: str
    table: str

    def __str__(self) -> str:
        return f"{self.database}.{self.table}"


@dataclass(frozen=True, slots=True)
class FirstSchema:
    """The first schema of a new table. Called with a directory, it writes the schema there, which creates the table.

    A catalog whose server writes schemas sends ``schema`` instead.
    """

    schema: TableSchema
    write: Callable[[str], None]

    def __call__(self, root: str) -> None:
        """Write the schema to a directory."""
        self.write(root)


class TableNames(Protocol):
    """The databases and tables of a catalog. The caller has checked that names are legal and not in ``sys``."""

    def databases(self) -> Iterable[str]:
        """Return the names of all databases."""
        ...

    def has_database(self, database: str) -> bool:
        """Return whether a database exists."""
        ...

    def add_database(self, database: str) -> None:
        """Create an empty database; do nothing if it exists."""
        ...

    def drop_database(self, database: str, *, cascade: bool) -> bool:
        """Drop a database, with ``cascade`` including its tables and files. Return ``False`` if it does not exist.

        The name disappears first, in one step, then the files.

        Raises:
            InvalidInputError: the database is not empty and ``cascade`` is false.
            OSError: the store failed; the message says when the name is gone and only files are left.
        """
        ...

    def tables(self, database: str) -> Iterable[str]:
        """Return the names of the tables of an existing database."""
        ...

    def root_of(self, name: TableName) -> str | None:
        """Return the directory of a name, even if it holds no table; ``None`` for an unknown name."""
        ...

    def add_table(self, name: TableName, write_first_schema: FirstSchema) -> None:
        """Create a table: choose its directory, write the first schema there, and register the name.

        Exactly one caller of all processes wins. ``write_first_schema`` takes the directory and writes in one atomic
        step; it raises ``AlreadyExistsError`` if another caller was first.

        Raises:
            AlreadyExistsError: another caller has created the table; nothing of this one is left.
        """
        ...

    def rename_table(self, source: TableName, target: TableName) -> None:
        """Rename a table in one step.

        Raises:
            FileExistsError: ``target`` exists.
            FileNotFoundError: ``source`` no longer exists.
        """
        ...

    def drop_table(self, name: TableName) -> bool:
        """Drop a table: first the name, in one step, then the files. Return ``False`` if there was nothing to drop.

        Raises:
            OSError: the store failed; the message says when the name is gone and only files are left.
        """
        ...

    def locked(self, name: TableName) -> AbstractContextManager[None]:
        """Lock the table against changes, renames and drops by others, if the catalog has locks."""
        ...


@contextmanager
def locked_in_order(names: TableNames, *taken: TableName) -> Iterator[None]:
    """Hold the locks of some names. All processes take them in the same order, which prevents deadlocks."""
    with ExitStack() as held:
        for name in sorted(set(taken), key=str):
            held.enter_context(names.locked(name))
        yield

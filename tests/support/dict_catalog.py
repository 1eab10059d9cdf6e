"""A catalog whose names are kept in a dictionary, and whose tables are in directories without names.

It shares with the filesystem catalog what all catalogs share, and nothing of how names are kept: what a table of a
metastore does to the library is seen here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from table_format.catalog.dropping import drop_directory
from table_format.catalog.named_catalog import NamedCatalog
from table_format.catalog.registry import CatalogArguments, CatalogKind
from table_format.catalog.table_names import TableName
from table_format.errors import AlreadyExistsError, InvalidInputError
from table_format.io.file_io import FileIO
from table_format.io.locations import Locations
from table_format.io.memory import MemoryFileIO
from table_format.runtime import Ids, SystemIds
from table_format.secrets import Secret
from tests.support.tables import DATABASE, Warehouse


@dataclass
class Metastore:
    """What a database server would hold: for each database the directories of its tables by name."""

    databases: dict[str, dict[str, str]] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)
    locked: list[str] = field(default_factory=list)
    """The tables that were locked, in order."""


@dataclass(frozen=True)
class DictNames:
    """``TableNames`` in a dictionary."""

    metastore: Metastore
    warehouse: str
    io: FileIO
    ids: Ids = field(default_factory=SystemIds)

    def databases(self) -> Iterable[str]:
        return list(self.metastore.databases)

    def has_database(self, database: str) -> bool:
        return database in self.metastore.databases

    def add_database(self, database: str) -> None:
        self.metastore.databases.setdefault(database, {})

    def drop_database(self, database: str, *, cascade: bool) -> bool:
        with self.metastore.lock:
            if database not in self.metastore.databases:
                return False
            if self.metastore.databases[database] and not cascade:
                message = f"database '{database}' is not empty"
                raise InvalidInputError(message)
            gone = self.metastore.databases.pop(database)
        for root in gone.values():
            drop_directory(self.io, root, self.ids)
        return True

    def tables(self, database: str) -> Iterable[str]:
        return list(self.metastore.databases[database])

    def root_of(self, name: TableName) -> str | None:
        return self.metastore.databases.get(name.database, {}).get(name.table)

    def add_table(self, name: TableName, write_first_schema: Callable[[str], None]) -> None:
        root = f"{self.warehouse}/{self.ids.uuid()}"
        write_first_schema(root)
        with self.metastore.lock:
            won = self.metastore.databases[name.database].setdefault(name.table, root) == root
        if not won:
            drop_directory(self.io, root, self.ids)
            message = f"table '{name}' already exists"
            raise AlreadyExistsError(message)

    def rename_table(self, source: TableName, target: TableName) -> None:
        with self.metastore.lock:
            if self.root_of(target) is not None:
                raise FileExistsError(str(target))
            if self.root_of(source) is None:
                raise FileNotFoundError(str(source))
            root = self.metastore.databases[source.database].pop(source.table)
            self.metastore.databases[target.database][target.table] = root

    def drop_table(self, name: TableName) -> bool:
        root = self.metastore.databases.get(name.database, {}).pop(name.table, None)
        if root is None:
            return False
        drop_directory(self.io, root, self.ids)
        return True

    @contextmanager
    def locked(self, name: TableName) -> Iterator[None]:
        with self.metastore.lock:
            self.metastore.locked.append(str(name))
            yield


@dataclass(frozen=True, repr=False)
class DictCatalog(NamedCatalog):
    """A catalog of a ``Metastore``."""

    metastore: Metastore = field(default_factory=Metastore)
    password: Secret | None = None

    @property
    def names(self) -> DictNames:
        return DictNames(self.metastore, self.warehouse, self.io, self.runtime.ids)


def dict_warehouse() -> Warehouse:
    """A warehouse in memory with one database."""
    io = MemoryFileIO()
    catalog = DictCatalog("/warehouse", io, locations=Locations(local=io))
    catalog.create_database(DATABASE)
    return Warehouse(catalog, catalog.io)


def dict_catalog_kind(name: str, metastore: Metastore, options: type[object] | None = None) -> CatalogKind:
    """What ``metastore=<name>`` is to open a catalog of this metastore."""

    def open_catalog(arguments: CatalogArguments) -> DictCatalog:
        password = getattr(arguments.own_options, "password", None)
        return DictCatalog(*arguments.common, metastore=metastore, password=password)

    return CatalogKind(name, open_catalog, options)

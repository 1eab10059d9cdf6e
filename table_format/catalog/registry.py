"""The kinds of catalogs, by the value of ``metastore``.

To add one here, write a module and add it to ``CATALOGS``. Programs call ``register_catalog``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from table_format.catalog.arguments import CatalogArguments
from table_format.catalog.filesystem import FileSystemCatalog
from table_format.catalog.hive.catalog import open_hive, warehouse_of
from table_format.catalog.jdbc.catalog import open_jdbc
from table_format.catalog.protocol import Catalog
from table_format.catalog.rest.catalog import open_rest
from table_format.options.hive import HiveOptions
from table_format.options.jdbc import JdbcOptions
from table_format.options.rest import RestOptions
from table_format.registry import Registry

__all__ = ["CATALOGS", "CatalogArguments", "CatalogKind", "register_catalog", "warehouse_is_directory"]


@dataclass(frozen=True, slots=True)
class CatalogKind:
    """One value of ``metastore`` and how to open such a catalog.

    ``options`` is a frozen dataclass whose members are options (``Option.field``) that only this kind takes, such as
    the address of a metastore. Options with the parser ``secret`` arrive as ``Secret`` and are never shown.
    ``warehouse`` receives an instance of it and returns the warehouse of a catalog whose options have none.
    ``in_directories`` is true if the tables are in directories of the warehouse. Otherwise the option ``warehouse`` is
    a name, which only the catalog understands, and each table says in which store it is.
    """

    name: str
    open: Callable[[CatalogArguments], Catalog]
    options: type[object] | None = None
    warehouse: Callable[[Any], str] | None = None
    in_directories: bool = True


CATALOGS: Final = Registry(
    "catalog",
    (
        CatalogKind("filesystem", lambda arguments: FileSystemCatalog(*arguments.common)),
        CatalogKind("jdbc", open_jdbc, JdbcOptions),
        CatalogKind("hive", open_hive, HiveOptions, warehouse_of),
        CatalogKind("rest", open_rest, RestOptions, in_directories=False),
    ),
    name_of=lambda kind: kind.name,
)


def warehouse_is_directory(metastore: str) -> bool:
    """Return whether the warehouse of such a catalog is a directory, and not a name that only its server knows.

    >>> warehouse_is_directory("hive"), warehouse_is_directory("rest")
    (True, False)
    """
    kind = CATALOGS.get(metastore.lower())
    return kind is None or kind.in_directories


def register_catalog(kind: CatalogKind) -> None:
    """Register a kind of catalog for ``metastore=<name>`` in this process.

    Raises:
        AlreadyExistsError: the name is taken.
    """
    CATALOGS.register(kind)

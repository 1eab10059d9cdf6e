"""The kinds of catalogs, by the value of ``metastore``.

To add one here, write a module and add it to ``CATALOGS``. Programs call ``register_catalog``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from table_format.catalog.filesystem import FileSystemCatalog
from table_format.catalog.protocol import Catalog
from table_format.io.file_io import FileIO
from table_format.registry import Registry
from table_format.runtime import Runtime
from table_format.secrets import Secret


@dataclass(frozen=True, slots=True, repr=False)
class CatalogArguments:
    """The arguments of a new catalog: the fields of ``NamedCatalog`` and the options of its kind.

    ``own_options`` holds the parsed options of the class ``CatalogKind.options``; ``None`` if there is none.
    """

    warehouse: str
    io: FileIO
    runtime: Runtime
    table_defaults: Mapping[str, str]
    options: Mapping[str, str | Secret]
    shows_options: bool
    own_options: Any = None

    @property
    def common(self) -> tuple[str, FileIO, Runtime, Mapping[str, str], Mapping[str, str | Secret], bool]:
        """The arguments of ``NamedCatalog``, in order."""
        return (self.warehouse, self.io, self.runtime, self.table_defaults, self.options, self.shows_options)


@dataclass(frozen=True, slots=True)
class CatalogKind:
    """One value of ``metastore`` and how to open such a catalog.

    ``options`` is a frozen dataclass whose members are options (``Option.field``) that only this kind takes, such as
    the address of a metastore. Options with the parser ``secret`` arrive as ``Secret`` and are never shown.
    """

    name: str
    open: Callable[[CatalogArguments], Catalog]
    options: type[object] | None = None


CATALOGS: Final = Registry(
    "catalog",
    (CatalogKind("filesystem", lambda arguments: FileSystemCatalog(*arguments.common)),),
    name_of=lambda kind: kind.name,
)


def register_catalog(kind: CatalogKind) -> None:
    """Register a kind of catalog for ``metastore=<name>`` in this process.

    Raises:
        AlreadyExistsError: the name is taken.
    """
    CATALOGS.register(kind)

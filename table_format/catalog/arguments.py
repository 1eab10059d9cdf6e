"""The arguments with which a catalog is opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from table_format.io.file_io import FileIO, ObjectStore
from table_format.io.locations import Locations
from table_format.runtime import Runtime
from table_format.secrets import Secret


@dataclass(frozen=True, slots=True, repr=False)
class CatalogArguments:
    """The arguments of a new catalog: the fields of ``NamedCatalog`` and the options of its kind.

    ``own_options`` holds the parsed options of the class ``CatalogKind.options``; ``None`` if there is none.
    ``locations`` opens the locations of object tables.
    """

    warehouse: str
    io: FileIO
    runtime: Runtime
    table_defaults: Mapping[str, str]
    options: Mapping[str, str | Secret]
    shows_options: bool
    own_options: Any = None
    locations: Locations = field(default_factory=Locations)

    @property
    def common(
        self,
    ) -> tuple[str, FileIO, Runtime, Mapping[str, str], Mapping[str, str | Secret], bool, Locations]:
        """The arguments of ``NamedCatalog``, in order."""
        shown = (self.options, self.shows_options)
        return (self.warehouse, self.io, self.runtime, self.table_defaults, *shown, self.locations)

    def is_locked(self, *, given: bool | None) -> bool:
        """Return the option ``lock.enabled``; by default, a catalog has locks if its tables are in an object store."""
        return isinstance(self.io, ObjectStore) if given is None else given

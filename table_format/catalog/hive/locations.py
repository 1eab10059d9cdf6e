"""Where databases and tables are: their locations in the metastore, and the paths of those in the store."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from table_format.errors import UnsupportedFeature
from table_format.io.file_io import FileIO, RemoteStore
from table_format.io.stores import LOCAL_SCHEME, STORES, scheme_of, uri_in_store

IN_PROPERTIES: Final = "paimon_location"
"""The property that holds a location of which the metastore knows nothing."""
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?=:/)")


@dataclass(frozen=True, slots=True)
class Locations:
    """How locations are kept: as such, or ``in_properties``."""

    io: FileIO
    in_properties: bool

    def of_database(self, database: Any) -> str | None:  # noqa: ANN401 - a structure of Thrift
        """Return the path of a database of the metastore; ``None`` if it has no location."""
        uri = self._in_properties(database) or database.locationUri
        return self.path_of(uri) if uri else None

    def of_table(self, table: Any) -> str | None:  # noqa: ANN401 - a structure of Thrift
        """Return the path of a table of the metastore; ``None`` if it has no location.

        Raises:
            UnsupportedFeature: it is in another store than the warehouse.
        """
        uri = self.uri_of(table)
        return self.path_of(uri) if uri else None

    def uri_of(self, table: Any) -> str | None:  # noqa: ANN401 - a structure of Thrift
        """Return the location of a table or a partition as the metastore writes it; ``None`` if it has none."""
        uri: str | None = self._in_properties(table) or table.sd.location
        return uri

    def set_database(self, database: Any, path: str) -> None:  # noqa: ANN401 - a structure of Thrift
        """Set the path of a database."""
        uri = uri_in_store(self.io, path)
        if self.in_properties:
            database.parameters[IN_PROPERTIES] = uri
        else:
            database.locationUri = uri

    def set_table(self, table: Any, path: str) -> None:  # noqa: ANN401 - a structure of Thrift
        """Set the path of a table."""
        self.set_uri(table, uri_in_store(self.io, path))

    def set_uri(self, table: Any, uri: str) -> None:  # noqa: ANN401 - a structure of Thrift
        """Set the location of a table or a partition."""
        if self.in_properties:
            table.parameters[IN_PROPERTIES] = uri
        else:
            table.sd.location = uri

    def path_of(self, uri: str) -> str:
        """Return the path of a location.

        Raises:
            UnsupportedFeature: it is in another store than the warehouse.
        """
        found = _SCHEME.match(uri)
        scheme = found[0].lower() if found else LOCAL_SCHEME
        own = scheme_of(self.io.uri("/b/p")) if isinstance(self.io, RemoteStore) else LOCAL_SCHEME
        store, of_warehouse = STORES.get(scheme), STORES.get(own)
        if store is None or of_warehouse is None or store.open is not of_warehouse.open:
            feature = f"location '{uri}'"
            message = (
                f"the location '{uri}' is in another store than the warehouse ('{own}'), which this version does not "
                "support; open a catalog whose warehouse is in that store"
            )
            raise UnsupportedFeature(feature, message)
        return store.place_of(uri)

    def _in_properties(self, entry: Any) -> str | None:  # noqa: ANN401 - a structure of Thrift
        return (entry.parameters or {}).get(IN_PROPERTIES) if self.in_properties else None

"""Directories outside of the warehouse, in any store, with the options of the catalog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from table_format.errors import InvalidOption, UnsupportedFeature
from table_format.io.file_io import FileIO
from table_format.io.stores import LOCAL_SCHEME, STORES, scheme_of, uri_in_store
from table_format.options.catalog import WAREHOUSE
from table_format.options.declare import parse_group
from table_format.options.kind import OBJECT_LOCATION
from table_format.secrets import Secret, redact


@dataclass(frozen=True, slots=True)
class Location:
    """A directory in a store; ``path`` is its path there. Can be pickled, with the keys of the store."""

    io: FileIO
    path: str

    @property
    def uri(self) -> str:
        """The name of the directory outside of its store; see ``uri_of``."""
        return uri_in_store(self.io, self.path)

    def uri_of(self, path: str) -> str:
        """Return the name of a path of the store: a URI in a remote store, the path itself on this machine."""
        return uri_in_store(self.io, path)


@dataclass(frozen=True, slots=True, repr=False)
class Locations:
    """Opens the stores of URIs. ``options`` are those of a catalog; they may hold secrets, which are never shown.

    ``local`` takes the place of the files of this machine.
    """

    options: Mapping[str, str | Secret] = field(default_factory=dict)
    local: FileIO | None = None

    def find(self, uri: str, key: str = OBJECT_LOCATION.key) -> Location:
        """Open the store of a URI or of a path of this machine; no request is made. ``key`` is the option in errors.

        >>> Locations().find("file:/data/images/").path
        '/data/images'

        Raises:
            InvalidOption: the location is relative, or an option of the store is malformed or missing.
            UnsupportedFeature: there is no such store. PackageMissing: a package of the store is not installed.
        """
        scheme = scheme_of(uri)
        store = STORES.get(scheme)
        if store is None:
            feature = f"files in '{scheme}://'"
            message = (
                f"'{redact(uri)}': the store '{scheme}' is not supported by this version; it has {', '.join(STORES)}"
            )
            raise UnsupportedFeature(feature, message)
        if scheme == LOCAL_SCHEME and self.local is not None:
            return Location(self.local, store.place_of(uri))
        given = None if store.options is None else parse_group(store.options, self.options)
        try:
            return Location(store.open(store.completed(given, uri)), store.place_of(uri))
        except InvalidOption as error:
            if error.key != WAREHOUSE.key:
                raise
            # The stores check the warehouse of a catalog; here, another URI is wrong.
            message = f"'{redact(uri)}' {str(error).partition(': ')[2] or error}"
            raise InvalidOption(key, message) from error

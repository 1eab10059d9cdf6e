"""The class ``ObjectTable``: rows that are the files below a location (Java ``ObjectTable`` of release 1.0)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from table_format.errors import InvalidInputError, InvalidOption
from table_format.io.locations import Location, Locations
from table_format.io.paths import is_plain_path
from table_format.object_table.refresh import ObjectRefresh, refresh
from table_format.options.kind import OBJECT_LOCATION, object_location
from table_format.options.scan import STATE_KEYS
from table_format.options.table_options import TableOptions
from table_format.table.table import Table


@dataclass(frozen=True, repr=False)
class ObjectTable(Table):
    """A loaded object table; can be pickled. It reads like every table; only ``refresh`` changes its rows.

    >>> from table_format import Schema, load_catalog
    >>> from table_format.io.memory import MemoryFileIO
    >>> files = MemoryFileIO()
    >>> files.create("/data/images/a.png", b"png")
    >>> catalog = load_catalog({"warehouse": "/warehouse"}, file_io=files)
    >>> catalog.create_database("shop")
    >>> images = catalog.create_table("shop.images", Schema((), options={"object-location": "/data/images"}))
    >>> images.refresh().file_count
    1
    >>> [(row["name"], row["length"]) for row in images.scan().to_arrow().to_pylist()]
    [('a.png', 3)]
    """

    _locations: Locations | Location = field(default_factory=Locations)

    def __reduce__(self) -> tuple[object, ...]:
        # Another process gets the opened store, because the options of a catalog may hold secrets.
        members = (self.identifier, self.store, self.schema, dict(self.dynamic_options))
        return (ObjectTable, (*members, self._location))

    @property
    def object_location(self) -> str:
        """The directory whose files are the rows, as it was given: an absolute path, or a URI."""
        return object_location(self.schema.options)

    def refresh(self, *, properties: Mapping[str, str] | None = None) -> ObjectRefresh:
        """List the location and make the rows those of the files that are there, in one commit.

        If nothing has changed since the last refresh, there is no new snapshot. The time of the last access does not
        count as a change. A table of an earlier snapshot (``copy``) is refreshed like the latest. The snapshot gets
        the ``properties``.

        >>> table.refresh()  # doctest: +SKIP
        ObjectRefresh(file_count=4, snapshot=Snapshot(2, ...))

        Raises:
            OSError: the location cannot be listed, or the store of the table failed; nothing was committed.
            InvalidData: the name of a file is not text in UTF-8.
            ConflictError: other commits were faster, several times; nothing was committed.
            CommitOutcomeUnknown: it may have been committed; refresh again.
        """
        facts = self.current_facts.as_refresh
        location = self._location
        check_apart(location.uri, self.location)
        kept = {key: value for key, value in facts.options.raw.items() if key not in STATE_KEYS}
        return refresh(replace(facts, options=TableOptions.parse(kept)), location, properties)

    def open(self, path: str) -> pa.NativeFile:
        """Open a file by the ``path`` of its row, for reading. The caller closes it, or uses ``with``.

        It reads the file of now, whichever snapshot the row is from. Several processes can open files at the same
        time: send them the table.

        >>> with table.open("s3://shop/images/a.png") as file:  # doctest: +SKIP
        ...     data = file.read()

        Raises:
            FileNotFoundError: the file does not exist any more. OSError: the store failed.
            InvalidInputError: the path is not one of the table.
        """
        location = self._location
        inside = path.removeprefix(f"{location.uri.rstrip('/')}/")
        found = f"{location.path.rstrip('/')}/{inside}"
        if inside == path or not is_plain_path(found):
            message = f"'{path}' is not the path of a row of '{self.identifier}', whose files are in '{location.uri}'"
            raise InvalidInputError(message)
        return location.io.open_input(found)

    @property
    def _location(self) -> Location:
        return self._locations if isinstance(self._locations, Location) else self._locations.find(self.object_location)


def check_apart(location: str, table: str) -> None:
    """Refuse a location that holds the table or is in it: each refresh would find new files of the table.

    Raises:
        InvalidOption: names the location.
    """
    one, other = f"{location.rstrip('/')}/", f"{table.rstrip('/')}/"
    if one.startswith(other) or other.startswith(one):
        message = f"'{location}' and the directory of the table, '{table}', contain each other; choose another location"
        raise InvalidOption(OBJECT_LOCATION.key, message)

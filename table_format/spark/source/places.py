"""Finds the table that the options of a read or write name. Spark passes option keys in lower case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from table_format.catalog.load import load_catalog
from table_format.catalog.protocol import Catalog
from table_format.errors import InvalidInputError
from table_format.io.paths import database_name_of
from table_format.io.stores import path_in_store
from table_format.options.registry import BY_KEY
from table_format.spark.source.known_stores import Stores, bucket_of
from table_format.spark.source.time_travel import with_time_travel
from table_format.spark.stream.commit_users import CHECKPOINT
from table_format.spark.stream.marked_streams import IS_STREAM
from table_format.spark.stream.targets import TARGET

_OWN: Final = frozenset({"path", "table", "warehouse", "branch", CHECKPOINT.lower(), IS_STREAM, TARGET, "queryname"})
"""Keys that are not options of the table."""

_PROVIDER: Final = "provider"
_OF_ENTRIES: Final = frozenset({_PROVIDER, "owner", "location", "is_managed_location", "transient_lastddltime"})
"""Keys that Spark adds to the options when it reads an entry of its catalog. Every entry has a provider."""

_DECLARED: Final = {key.lower(): key for key in BY_KEY}


@dataclass(frozen=True)
class Place:
    """A warehouse and the name of a table in it. ``dynamic`` holds the other options."""

    warehouse: str
    name: str
    dynamic: Mapping[str, str]
    stores: Stores = field(default_factory=dict)

    @classmethod
    def of(cls, options: Mapping[str, str], stores: Stores) -> Place:
        """Return the place that the options name; ``stores`` are those that need keys.

        Raises:
            InvalidInputError: the options do not name a table.
            InvalidOption: an option of time travel is malformed.
        """
        added = _OWN | _OF_ENTRIES if _PROVIDER in options else _OWN
        own = with_time_travel({key: value for key, value in options.items() if key not in added})
        dynamic = {_DECLARED.get(key, key): value for key, value in own.items()}
        branch = f"$branch_{options['branch']}" if "branch" in options else ""
        if "path" in options:
            warehouse, name = _place(options["path"])
            return cls(warehouse, name + branch, dynamic, stores)
        if "table" in options and "warehouse" in options:
            return cls(options["warehouse"], options["table"] + branch, dynamic, stores)
        message = "name the table: load(path) with its directory, or the options 'warehouse' and 'table'"
        raise InvalidInputError(message)

    def drop(self) -> None:
        """Drop the table that a failed write has created."""
        self.catalog.drop_table(self.name, ignore_if_not_exists=True)

    @property
    def catalog(self) -> Catalog:
        """The catalog of the warehouse."""
        store = self.stores.get(bucket_of(self.warehouse))
        if store is None:
            return load_catalog({"warehouse": self.warehouse})
        return load_catalog({"warehouse": path_in_store(self.warehouse)}, file_io=store)


def _place(path: str) -> tuple[str, str]:
    """Return the warehouse and the name of the table at a path."""
    directory, _, table = path.rstrip("/").rpartition("/")
    warehouse, _, database = directory.rpartition("/")
    name = database_name_of(database)
    if not warehouse or name is None:
        message = f"'{path}' is not the directory of a table, <warehouse>/<database>.db/<table>"
        raise InvalidInputError(message)
    return warehouse, f"{name}.{table}"

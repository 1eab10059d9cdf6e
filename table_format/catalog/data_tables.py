"""The tables of a catalog that have snapshots: all but its format tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from table_format.catalog.protocol import Catalog


@runtime_checkable
class WithFormatTables(Protocol):
    """A catalog that may have format tables, which ``list_tables`` returns too."""

    def list_data_tables(self, database: str) -> tuple[str, ...]:
        """Return the names of the tables of a database without its format tables, sorted.

        >>> catalog.list_data_tables("shop")  # doctest: +SKIP
        ('orders',)

        Raises:
            DatabaseNotFound: there is no such database.
        """
        ...


def data_tables(catalog: Catalog, database: str | None = None) -> Iterator[str]:
    """Yield ``database.table`` for the tables of a database, or of all databases, without format tables.

    What does the same for all tables, such as a compaction, uses this: format tables have no snapshots.

    >>> [(name, catalog.load_table(name).latest_snapshot().id) for name in data_tables(catalog)]
    [('shop.orders', 2)]

    Raises:
        DatabaseNotFound: there is no such database.
    """
    listed = catalog.list_data_tables if isinstance(catalog, WithFormatTables) else catalog.list_tables
    for found in catalog.list_databases() if database is None else (database,):
        yield from (f"{found}.{table}" for table in listed(found))

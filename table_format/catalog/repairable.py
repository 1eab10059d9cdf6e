"""Catalogs that list tables apart from their files, and can list what is only in the files."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from table_format.table.table import Table


@runtime_checkable
class Repairable(Protocol):
    """A catalog whose list can lack a table that has a directory.

    An interrupted creation, rename or drop can leave such a directory, and so do tables of a file-system catalog.
    """

    def repair_table(self, name: str) -> Table:
        """List a table and its database, if they are not listed; load it.

        >>> catalog.repair_table("shop.orders")  # doctest: +SKIP

        Raises:
            TableNotFound: the directory of the table has no schema.
        """
        ...

    def repair_database(self, name: str) -> tuple[str, ...]:
        """List all tables of a database whose directories exist. Return the names of those that were not listed.

        >>> catalog.repair_database("shop")  # doctest: +SKIP
        ('shop.orders',)

        Raises:
            DatabaseNotFound: the database is not listed, and it has no directory.
        """
        ...

    def repair_catalog(self) -> tuple[str, ...]:
        """List all databases and tables whose directories exist. Return the names of the tables that were not listed.

        >>> catalog.repair_catalog()  # doctest: +SKIP
        ('shop.orders',)
        """
        ...

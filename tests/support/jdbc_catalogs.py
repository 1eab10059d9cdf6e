"""Catalogs in a relational database: in a file of SQLite, or on a server."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from table_format import load_catalog
from table_format.catalog.jdbc.catalog import JdbcCatalog
from table_format.io.file_io import FileIO
from table_format.io.memory import MemoryFileIO
from table_format.runtime import Clock, Runtime
from tests.support.tables import DATABASE, Warehouse


def sqlite_options(directory: Path, **more: str) -> dict[str, str]:
    """The options of a catalog whose database and warehouse are in a directory; ``_`` stands for ``-``."""
    base = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{directory}/names.db", "warehouse": f"{directory}/warehouse"}
    names = {"lock_enabled": "lock.enabled"}
    return base | {names.get(key, key.replace("_", "-")): value for key, value in more.items()}


def jdbc_catalog(directory: Path, io: FileIO | None = None, clock: Clock | None = None, **more: str) -> JdbcCatalog:
    """A catalog whose names are in a directory, and its files in ``io`` or in the same directory."""
    runtime = Runtime() if clock is None else Runtime(clock=clock)
    catalog = load_catalog(sqlite_options(directory, **more), file_io=io, runtime=runtime)
    assert isinstance(catalog, JdbcCatalog)
    return catalog


def jdbc_warehouse(directory: Path, clock: Clock | None = None, **more: str) -> Warehouse:
    """A catalog with one database, whose files are in memory."""
    catalog = jdbc_catalog(directory, MemoryFileIO(), clock, **more)
    catalog.create_database(DATABASE)
    return Warehouse(catalog, catalog.io)


def sql(directory: Path, statement: str, *values: object) -> list[tuple[Any, ...]]:
    """What a statement of another program on the database returns."""
    connection = sqlite3.connect(directory / "names.db", timeout=30)
    try:
        with connection:
            return connection.execute(statement, values).fetchall()
    finally:
        connection.close()


def locks(directory: Path) -> Sequence[str]:
    """The ids of the locks that are held."""
    return [lock_id for (lock_id,) in sql(directory, "SELECT lock_id FROM paimon_distributed_locks")]


def same_names(warehouse: Warehouse) -> JdbcCatalog:
    """A catalog with the same names, whose files are others."""
    catalog = warehouse.catalog
    assert isinstance(catalog, JdbcCatalog)
    return JdbcCatalog("/warehouse", MemoryFileIO(), database=catalog.database, settings=catalog.settings)


def run_sql(warehouse: Warehouse, statement: str) -> object:
    """The first value that a statement on the database of the catalog returns."""
    from sqlalchemy import text

    assert isinstance(warehouse.catalog, JdbcCatalog)
    with warehouse.catalog.database.transaction() as connection:
        found = connection.execute(text(statement))
        return found.scalar() if found.returns_rows else None

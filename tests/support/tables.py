"""Warehouses and tables for tests, on disk or in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from table_format import Schema, Table, load_catalog
from table_format.catalog.filesystem import FileSystemCatalog
from table_format.catalog.named_catalog import NamedCatalog
from table_format.io.file_io import FileIO
from table_format.io.memory import MemoryFileIO
from table_format.runtime import Clock, Runtime

DATABASE = "db"
KEYED = pa.schema([pa.field("id", pa.int64(), nullable=False), ("dt", pa.string()), ("v", pa.int32())])


@dataclass(frozen=True)
class Warehouse:
    """A catalog with one database."""

    catalog: NamedCatalog
    io: FileIO

    def table(
        self,
        name: str = "t",
        schema: pa.Schema = KEYED,
        *,
        primary_keys: Sequence[str] = (),
        partition_keys: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
    ) -> Table:
        """A new table; a primary key table has two buckets unless the options say otherwise."""
        given = {"bucket": "2", **(options or {})} if primary_keys else dict(options or {})
        wanted = Schema.from_arrow(schema, primary_keys, partition_keys, given)
        return self.catalog.create_table(f"{DATABASE}.{name}", wanted)

    def reopened(self, table: Table) -> Table:
        """The table as another process would open it."""
        opened = self.catalog.load_table(str(table.identifier))
        assert isinstance(opened, Table)
        return opened

    def files(self, table: Table) -> list[str]:
        """Every file below the table, as paths relative to it."""
        return sorted(_walk(self.io, table.store.paths.root))


def memory_warehouse(clock: Clock | None = None) -> Warehouse:
    """A warehouse in memory; with a clock, whose time is all that passes."""
    if clock is None:
        return _warehouse("/warehouse", MemoryFileIO())
    return _warehouse("/warehouse", MemoryFileIO(clock), Runtime(clock=clock))


def warehouse_on(io: FileIO) -> Warehouse:
    """A warehouse in a store of files that a test has made."""
    return _warehouse("/warehouse", io)


def disk_warehouse(directory: Path) -> Warehouse:
    """A warehouse in a directory."""
    catalog = load_catalog({"warehouse": str(directory)})
    assert isinstance(catalog, FileSystemCatalog)
    catalog.create_database(DATABASE)
    return Warehouse(catalog, catalog.io)


def _warehouse(path: str, io: FileIO, runtime: Runtime | None = None) -> Warehouse:
    catalog = load_catalog({"warehouse": path}, file_io=io, runtime=runtime)
    assert isinstance(catalog, FileSystemCatalog)
    catalog.create_database(DATABASE)
    return Warehouse(catalog, io)


def _walk(io: FileIO, directory: str, prefix: str = "") -> list[str]:
    found = []
    for child in io.list(directory):
        if child.is_directory:
            found += _walk(io, f"{directory}/{child.name}", f"{prefix}{child.name}/")
        else:
            found.append(prefix + child.name)
    return found


def keyed(rows: Sequence[tuple[int, str, int | None]], **columns: Any) -> pa.Table:
    """Rows of ``KEYED``; further columns by name."""
    ids, dates, values = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "dt": pa.array(dates, pa.string()),
            "v": pa.array(values, pa.int32()),
            **columns,
        }
    )


def rows_of(table: Table, **arguments: Any) -> list[tuple[Any, ...]]:
    """All rows of a scan as sorted tuples."""
    found = table.scan(**arguments).to_arrow()
    columns = [column.to_pylist() for column in found.columns]
    return sorted(zip(*columns, strict=True), key=repr)

"""The system tables by name (format chapter 14; Java ``SystemTableLoader``).

To add one, write a module next to this one and a line in ``SYSTEM_TABLES``; a program calls
``register_system_table``. Tables of the database ``sys`` are in ``catalog/global_tables``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Final

from table_format.errors import UnsupportedFeature
from table_format.model.types import DataField
from table_format.registry import Registry
from table_format.table.system import (
    aggregation,
    files,
    manifests,
    partitions,
    references,
    schemas,
    snapshots,
    statistics,
)
from table_format.table.system.audit_log import AuditLogTable
from table_format.table.system.binlog import BinlogTable
from table_format.table.system.metadata import OF_A_STATE, MetadataTable, Rows
from table_format.table.system.read_optimized import ReadOptimizedTable
from table_format.table.system.row_tracking import RowTrackingTable
from table_format.table.system.table import SystemTable
from table_format.table.table import Table


@dataclass(frozen=True, slots=True)
class SystemTableKind:
    """One name after ``$``, and the function that opens this system table of a table."""

    name: str
    open: Callable[[Table], SystemTable]


def metadata_table(
    name: str, columns: tuple[DataField, ...], rows: Rows, *, reads: Collection[str] = OF_A_STATE
) -> SystemTableKind:
    """A system table whose rows are metadata. ``rows`` builds all rows with every column.

    ``reads`` are the keys of the options that change what it shows; a scan with other options is refused.
    """
    return SystemTableKind(name, partial(MetadataTable, name, columns, rows, frozenset(reads)))


SYSTEM_TABLES: Final = Registry(
    "system table",
    (
        metadata_table("snapshots", snapshots.COLUMNS, snapshots.rows, reads=()),
        metadata_table("schemas", schemas.COLUMNS, schemas.rows, reads=()),
        metadata_table("options", schemas.OPTION_COLUMNS, schemas.option_rows, reads=()),
        metadata_table("files", files.COLUMNS, files.rows),
        metadata_table("file_key_ranges", files.KEY_RANGE_COLUMNS, files.key_range_rows),
        metadata_table("file_indexes", files.INDEX_COLUMNS, files.index_rows),
        metadata_table("tags", references.TAG_COLUMNS, references.tag_rows, reads=()),
        metadata_table("branches", references.BRANCH_COLUMNS, references.branch_rows, reads=()),
        metadata_table("consumers", references.CONSUMER_COLUMNS, references.consumer_rows, reads=()),
        metadata_table("manifests", manifests.COLUMNS, manifests.rows),
        metadata_table("aggregation_fields", aggregation.COLUMNS, aggregation.rows, reads=()),
        metadata_table("partitions", partitions.COLUMNS, partitions.rows),
        metadata_table("buckets", partitions.BUCKET_COLUMNS, partitions.bucket_rows),
        metadata_table("statistics", statistics.COLUMNS, statistics.rows),
        SystemTableKind("ro", ReadOptimizedTable),
        SystemTableKind("audit_log", AuditLogTable),
        SystemTableKind("binlog", BinlogTable),
        SystemTableKind("row_tracking", RowTrackingTable.opened),
        metadata_table("table_indexes", manifests.INDEX_COLUMNS, manifests.index_rows),
    ),
    name_of=lambda kind: kind.name,
)


def register_system_table(kind: SystemTableKind) -> None:
    """Register the system table ``$<name>`` for all tables, in this process.

    Raises:
        AlreadyExistsError: the name is already registered.
    """
    SYSTEM_TABLES.register(kind)


def open_system_table(table: Table, name: str) -> SystemTable:
    """Return the system table with this name, ignoring case.

    Raises:
        UnsupportedFeature: this version has no system table with this name.
        InvalidOption: the table cannot have it.
    """
    kind = SYSTEM_TABLES.get(name.lower())
    if kind is None:
        feature = f"system table '{table.identifier}${name}'"
        message = (
            f"{feature} is not supported by this version; it has {', '.join(f'${known}' for known in SYSTEM_TABLES)}"
        )
        raise UnsupportedFeature(feature, message)
    return kind.open(table)

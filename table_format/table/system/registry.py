"""The system tables by name (format chapter 14; Java ``SystemTableLoader``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from table_format.errors import UnsupportedFeature
from table_format.model.types import DataField
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
from table_format.table.system.metadata import MetadataTable, Rows
from table_format.table.system.read_optimized import ReadOptimizedTable
from table_format.table.system.table import SystemTable
from table_format.table.table import Table

Opener = Callable[[Table], SystemTable]


def _metadata(title: str, columns: tuple[DataField, ...], rows: Rows) -> Opener:
    return partial(MetadataTable, title, columns, rows)


OPENERS: Final[Mapping[str, Opener]] = {
    "snapshots": _metadata("snapshots", snapshots.COLUMNS, snapshots.rows),
    "schemas": _metadata("schemas", schemas.COLUMNS, schemas.rows),
    "options": _metadata("options", schemas.OPTION_COLUMNS, schemas.option_rows),
    "files": _metadata("files", files.COLUMNS, files.rows),
    "tags": _metadata("tags", references.TAG_COLUMNS, references.tag_rows),
    "branches": _metadata("branches", references.BRANCH_COLUMNS, references.branch_rows),
    "consumers": _metadata("consumers", references.CONSUMER_COLUMNS, references.consumer_rows),
    "manifests": _metadata("manifests", manifests.COLUMNS, manifests.rows),
    "aggregation_fields": _metadata("aggregation_fields", aggregation.COLUMNS, aggregation.rows),
    "partitions": _metadata("partitions", partitions.COLUMNS, partitions.rows),
    "buckets": _metadata("buckets", partitions.BUCKET_COLUMNS, partitions.bucket_rows),
    "statistics": _metadata("statistics", statistics.COLUMNS, statistics.rows),
    "ro": ReadOptimizedTable,
    "audit_log": AuditLogTable,
    "binlog": BinlogTable,
    "table_indexes": _metadata("table_indexes", manifests.INDEX_COLUMNS, manifests.index_rows),
}
"""Each opens one system table of a table."""


def open_system_table(table: Table, name: str) -> SystemTable:
    """The system table of that name; upper and lower case are the same.

    Raises:
        UnsupportedFeature: this version has none of that name.
    """
    opener = OPENERS.get(name.lower())
    if opener is None:
        feature = f"system table '{table.identifier}${name}'"
        message = f"{feature} is not supported by this version; it has {', '.join(f'${known}' for known in OPENERS)}"
        raise UnsupportedFeature(feature, message)
    return opener(table)

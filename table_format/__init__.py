"""The Apache Paimon table format: catalogs, tables, scans and commits, without a JVM.

>>> from table_format import Schema, col, load_catalog

Every type in the public signatures is here or in one of the other public modules:
``table_format.errors``, ``table_format.types`` (types of columns), ``table_format.filters`` (filters as objects),
``table_format.engine`` (two-phase writes and splits, for engines), ``table_format.spark``,
``table_format.duckdb_sql``, ``table_format.runtime`` and ``table_format.secrets``. Names in other modules may move with
any release, except those that docs/extending.md shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_format import errors
from table_format.catalog.load import load_catalog
from table_format.catalog.protocol import Catalog
from table_format.errors import TableFormatError
from table_format.metastore.expiry.expire_changelogs import ChangelogExpiryReport
from table_format.metastore.expiry.expire_snapshots import ExpiryReport
from table_format.metastore.expiry.orphans import OrphanFile, OrphanReport
from table_format.metastore.history.branches import Branch
from table_format.metastore.history.fast_forward import FastForwardReport
from table_format.metastore.history.rollback import RollbackReport
from table_format.metastore.history.rollback_plan import CommitMatch, RollbackPlan
from table_format.model.condition import Column, Condition, Filter, col
from table_format.model.identifier import Identifier
from table_format.model.predicate import Predicate
from table_format.model.schema import Schema, TableSchema
from table_format.model.schema_change import (
    AddColumn,
    AlterColumnType,
    DropColumn,
    MoveColumn,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetColumnComment,
    SetColumnDefault,
    SetComment,
    SetNullability,
    SetOption,
)
from table_format.model.snapshot import CommitKind, Snapshot
from table_format.model.split import DataSplit
from table_format.model.split import DataSplit as Split
from table_format.model.tag import Tag
from table_format.secrets import Secret
from table_format.table.changes.merge_into import Delete, Insert, Update
from table_format.table.changes.row_changes import RowChanges
from table_format.table.read.aggregates import Aggregates
from table_format.table.read.plan import Plan
from table_format.table.read.scan import Scan
from table_format.table.read.stream import StreamScan
from table_format.table.rows.input import Rows
from table_format.table.system.table import Reading, SystemTable
from table_format.table.table import Table
from table_format.table.upkeep.compaction_report import CompactedBucket, CompactionReport, DroppedBucket
from table_format.table.upkeep.due import DueWork, Upkeep
from table_format.table.upkeep.index_rewrite import IndexRewriteReport
from table_format.table.upkeep.partition_expiry import ExpiredPartition, PartitionExpiryReport
from table_format.table.verify.report import Depth, Finding, Severity, VerifyReport

if TYPE_CHECKING:
    from table_format.table.read.scan_dataset import ScanDataset

__all__ = [
    "AddColumn",
    "Aggregates",
    "AlterColumnType",
    "Branch",
    "Catalog",
    "ChangelogExpiryReport",
    "Column",
    "CommitKind",
    "CommitMatch",
    "CompactedBucket",
    "CompactionReport",
    "Condition",
    "DataSplit",
    "Delete",
    "Depth",
    "DropColumn",
    "DroppedBucket",
    "DueWork",
    "ExpiredPartition",
    "ExpiryReport",
    "FastForwardReport",
    "Filter",
    "Finding",
    "Identifier",
    "IndexRewriteReport",
    "Insert",
    "MoveColumn",
    "OrphanFile",
    "OrphanReport",
    "PartitionExpiryReport",
    "Plan",
    "Predicate",
    "Reading",
    "RemoveOption",
    "RenameColumn",
    "RollbackPlan",
    "RollbackReport",
    "RowChanges",
    "Rows",
    "Scan",
    "ScanDataset",
    "Schema",
    "SchemaChange",
    "Secret",
    "SetColumnComment",
    "SetColumnDefault",
    "SetComment",
    "SetNullability",
    "SetOption",
    "Severity",
    "Snapshot",
    "Split",
    "StreamScan",
    "SystemTable",
    "Table",
    "TableFormatError",
    "TableSchema",
    "Tag",
    "Update",
    "Upkeep",
    "VerifyReport",
    "col",
    "errors",
    "load_catalog",
]


def __getattr__(name: str) -> object:
    if name == "ScanDataset":
        # pyarrow.dataset takes longer to import than the rest of pyarrow, and few programs use it.
        from table_format.table.read.scan_dataset import ScanDataset

        return ScanDataset
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)

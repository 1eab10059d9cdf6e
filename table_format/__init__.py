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

from table_format.late_names import late_names

__version__ = "0.1.0"

if TYPE_CHECKING:
    from table_format import errors
    from table_format.catalog.data_tables import WithFormatTables, data_tables
    from table_format.catalog.load import load_catalog
    from table_format.catalog.protocol import Catalog
    from table_format.catalog.repairable import Repairable
    from table_format.catalog.views import ViewCatalog
    from table_format.errors import TableFormatError
    from table_format.format_table.scan import FormatScan
    from table_format.format_table.table import FormatTable
    from table_format.materialized.refreshes import Refresh
    from table_format.materialized.report import RefreshReport
    from table_format.materialized.table import MaterializedTable, materialized_table, materialized_tables
    from table_format.metastore.expiry.expire_changelogs import ChangelogExpiryReport
    from table_format.metastore.expiry.expire_snapshots import ExpiryReport
    from table_format.metastore.expiry.orphans import OrphanFile, OrphanReport, YoungFiles
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
    from table_format.model.view import (
        AddDialect,
        DropDialect,
        RemoveViewOption,
        SetViewComment,
        SetViewOption,
        UpdateDialect,
        View,
        ViewChange,
    )
    from table_format.object_table.refresh import ObjectRefresh
    from table_format.object_table.table import ObjectTable
    from table_format.secrets import Secret
    from table_format.table.changes.merge_into import Delete, Insert, Update
    from table_format.table.changes.row_changes import RowChanges
    from table_format.table.read.aggregates import Aggregates
    from table_format.table.read.plan import Plan
    from table_format.table.read.scan import Scan
    from table_format.table.read.scan_dataset import ScanDataset
    from table_format.table.read.stream import StreamScan
    from table_format.table.rows.input import Rows
    from table_format.table.system.table import Reading, SystemTable
    from table_format.table.table import Table
    from table_format.table.upkeep.compaction_report import CompactedBucket, CompactionReport, DroppedBucket
    from table_format.table.upkeep.due import DueWork, Upkeep
    from table_format.table.upkeep.index_rewrite import IndexRewriteReport
    from table_format.table.upkeep.partition_expiry import ExpiredPartition, PartitionExpiryReport
    from table_format.table.verify.report import Depth, Finding, Severity, VerifyReport
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "AddColumn": "table_format.model.schema_change:AddColumn",
            "Aggregates": "table_format.table.read.aggregates:Aggregates",
            "AlterColumnType": "table_format.model.schema_change:AlterColumnType",
            "Branch": "table_format.metastore.history.branches:Branch",
            "Catalog": "table_format.catalog.protocol:Catalog",
            "Repairable": "table_format.catalog.repairable:Repairable",
            "ChangelogExpiryReport": "table_format.metastore.expiry.expire_changelogs:ChangelogExpiryReport",
            "Column": "table_format.model.condition:Column",
            "CommitKind": "table_format.model.snapshot:CommitKind",
            "CommitMatch": "table_format.metastore.history.rollback_plan:CommitMatch",
            "CompactedBucket": "table_format.table.upkeep.compaction_report:CompactedBucket",
            "CompactionReport": "table_format.table.upkeep.compaction_report:CompactionReport",
            "Condition": "table_format.model.condition:Condition",
            "DataSplit": "table_format.model.split:DataSplit",
            "Delete": "table_format.table.changes.merge_into:Delete",
            "Depth": "table_format.table.verify.report:Depth",
            "DropColumn": "table_format.model.schema_change:DropColumn",
            "DroppedBucket": "table_format.table.upkeep.compaction_report:DroppedBucket",
            "DueWork": "table_format.table.upkeep.due:DueWork",
            "ExpiredPartition": "table_format.table.upkeep.partition_expiry:ExpiredPartition",
            "ExpiryReport": "table_format.metastore.expiry.expire_snapshots:ExpiryReport",
            "FastForwardReport": "table_format.metastore.history.fast_forward:FastForwardReport",
            "Filter": "table_format.model.condition:Filter",
            "Finding": "table_format.table.verify.report:Finding",
            "FormatScan": "table_format.format_table.scan:FormatScan",
            "FormatTable": "table_format.format_table.table:FormatTable",
            "Identifier": "table_format.model.identifier:Identifier",
            "IndexRewriteReport": "table_format.table.upkeep.index_rewrite:IndexRewriteReport",
            "Insert": "table_format.table.changes.merge_into:Insert",
            "MaterializedTable": "table_format.materialized.table:MaterializedTable",
            "MoveColumn": "table_format.model.schema_change:MoveColumn",
            "ObjectRefresh": "table_format.object_table.refresh:ObjectRefresh",
            "ObjectTable": "table_format.object_table.table:ObjectTable",
            "OrphanFile": "table_format.metastore.expiry.orphans:OrphanFile",
            "OrphanReport": "table_format.metastore.expiry.orphans:OrphanReport",
            "YoungFiles": "table_format.metastore.expiry.orphans:YoungFiles",
            "PartitionExpiryReport": "table_format.table.upkeep.partition_expiry:PartitionExpiryReport",
            "Plan": "table_format.table.read.plan:Plan",
            "Predicate": "table_format.model.predicate:Predicate",
            "Reading": "table_format.table.system.table:Reading",
            "Refresh": "table_format.materialized.refreshes:Refresh",
            "RefreshReport": "table_format.materialized.report:RefreshReport",
            "RemoveOption": "table_format.model.schema_change:RemoveOption",
            "RenameColumn": "table_format.model.schema_change:RenameColumn",
            "RollbackPlan": "table_format.metastore.history.rollback_plan:RollbackPlan",
            "RollbackReport": "table_format.metastore.history.rollback:RollbackReport",
            "RowChanges": "table_format.table.changes.row_changes:RowChanges",
            "Rows": "table_format.table.rows.input:Rows",
            "Scan": "table_format.table.read.scan:Scan",
            "ScanDataset": "table_format.table.read.scan_dataset:ScanDataset",
            "Schema": "table_format.model.schema:Schema",
            "SchemaChange": "table_format.model.schema_change:SchemaChange",
            "Secret": "table_format.secrets:Secret",
            "SetColumnComment": "table_format.model.schema_change:SetColumnComment",
            "SetColumnDefault": "table_format.model.schema_change:SetColumnDefault",
            "SetComment": "table_format.model.schema_change:SetComment",
            "SetNullability": "table_format.model.schema_change:SetNullability",
            "SetOption": "table_format.model.schema_change:SetOption",
            "Severity": "table_format.table.verify.report:Severity",
            "Snapshot": "table_format.model.snapshot:Snapshot",
            "Split": "table_format.model.split:DataSplit",
            "StreamScan": "table_format.table.read.stream:StreamScan",
            "SystemTable": "table_format.table.system.table:SystemTable",
            "Table": "table_format.table.table:Table",
            "TableFormatError": "table_format.errors:TableFormatError",
            "TableSchema": "table_format.model.schema:TableSchema",
            "Tag": "table_format.model.tag:Tag",
            "Update": "table_format.table.changes.merge_into:Update",
            "Upkeep": "table_format.table.upkeep.due:Upkeep",
            "VerifyReport": "table_format.table.verify.report:VerifyReport",
            "AddDialect": "table_format.model.view:AddDialect",
            "DropDialect": "table_format.model.view:DropDialect",
            "RemoveViewOption": "table_format.model.view:RemoveViewOption",
            "SetViewComment": "table_format.model.view:SetViewComment",
            "SetViewOption": "table_format.model.view:SetViewOption",
            "UpdateDialect": "table_format.model.view:UpdateDialect",
            "View": "table_format.model.view:View",
            "ViewChange": "table_format.model.view:ViewChange",
            "ViewCatalog": "table_format.catalog.views:ViewCatalog",
            "WithFormatTables": "table_format.catalog.data_tables:WithFormatTables",
            "col": "table_format.model.condition:col",
            "data_tables": "table_format.catalog.data_tables:data_tables",
            "errors": "table_format.errors",
            "load_catalog": "table_format.catalog.load:load_catalog",
            "materialized_table": "table_format.materialized.table:materialized_table",
            "materialized_tables": "table_format.materialized.table:materialized_tables",
        },
    )

__all__ = [
    "AddColumn",
    "AddDialect",
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
    "DropDialect",
    "DroppedBucket",
    "DueWork",
    "ExpiredPartition",
    "ExpiryReport",
    "FastForwardReport",
    "Filter",
    "Finding",
    "FormatScan",
    "FormatTable",
    "Identifier",
    "IndexRewriteReport",
    "Insert",
    "MaterializedTable",
    "MoveColumn",
    "ObjectRefresh",
    "ObjectTable",
    "OrphanFile",
    "OrphanReport",
    "PartitionExpiryReport",
    "Plan",
    "Predicate",
    "Reading",
    "Refresh",
    "RefreshReport",
    "RemoveOption",
    "RemoveViewOption",
    "RenameColumn",
    "Repairable",
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
    "SetViewComment",
    "SetViewOption",
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
    "UpdateDialect",
    "Upkeep",
    "VerifyReport",
    "View",
    "ViewCatalog",
    "ViewChange",
    "WithFormatTables",
    "YoungFiles",
    "col",
    "data_tables",
    "errors",
    "load_catalog",
    "materialized_table",
    "materialized_tables",
]

"""The Apache Paimon table format: catalogs, tables, scans and commits, without a JVM.

>>> from table_format import Schema, load_catalog
"""

from __future__ import annotations

from table_format import errors
from table_format.catalog.load import load_catalog
from table_format.catalog.protocol import Catalog
from table_format.errors import TableFormatError
from table_format.model.schema import Schema, TableSchema
from table_format.table.changes.merge_into import Delete, Insert, Update
from table_format.table.changes.row_changes import RowChanges
from table_format.table.read.plan import Plan
from table_format.table.read.scan import Scan
from table_format.table.table import Table

__all__ = [
    "Catalog",
    "Delete",
    "Insert",
    "Plan",
    "RowChanges",
    "Scan",
    "Schema",
    "Table",
    "TableFormatError",
    "TableSchema",
    "Update",
    "errors",
    "load_catalog",
]

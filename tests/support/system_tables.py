"""Which system tables a test can open of any table."""

from __future__ import annotations

from table_format.table.system.registry import SYSTEM_TABLES

OF_SOME_TABLES = frozenset({"row_tracking"})
"""System tables that a table has only with an option; ``tests/table/system/test_row_tracking.py`` has this one."""

OF_EVERY_TABLE = tuple(sorted(set(SYSTEM_TABLES) - OF_SOME_TABLES))
"""The names of the others."""

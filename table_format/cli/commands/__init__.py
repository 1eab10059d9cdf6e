"""The commands of ``lakehouse``, by group, in the order of the help. A module is imported when its command is used.

The help of ``lakehouse`` shows these lines without importing a command, and so it is there at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class CommandPlace:
    """A command, the line that the help shows, and its module."""

    name: str
    help: str
    module: str

    @property
    def attribute(self) -> str:
        """The name of the command in its module."""
        return self.name.replace("-", "_")


COMMANDS: Final[Mapping[str, Sequence[CommandPlace]]] = {
    "Databases and tables": (
        CommandPlace("init", "Create the warehouse and databases.", "catalog"),
        CommandPlace("databases", "List the databases.", "catalog"),
        CommandPlace("tables", "List the tables.", "catalog"),
        CommandPlace("create", "Create an empty table.", "create"),
        CommandPlace("describe", "Show columns, keys, options and the latest snapshot.", "describe"),
        CommandPlace("alter", "Change the columns, options or comment of a table.", "alter"),
        CommandPlace("rename", "Rename a table, or move it to another database.", "tables"),
        CommandPlace("drop", "Drop a table and delete its files.", "tables"),
        CommandPlace("drop-database", "Drop a database.", "tables"),
    ),
    "Rows": (
        CommandPlace("scan", "Show rows, or write them to a file.", "scan"),
        CommandPlace("count", "Count rows.", "count"),
        CommandPlace("plan", "Explain what a scan would read and skip.", "scan"),
        CommandPlace("load", "Load files in one commit.", "load"),
        CommandPlace("refresh", "List the files of an object table again.", "refresh"),
        CommandPlace("delete", "Delete rows that match a condition.", "delete"),
        CommandPlace("sql", "Run SQL on Spark or DuckDB.", "sql"),
    ),
    "History": (
        CommandPlace("snapshots", "List the retained snapshots.", "metadata"),
        CommandPlace("files", "List the data files of a snapshot.", "metadata"),
        CommandPlace("changes", "Show the changes between snapshots.", "changes"),
        CommandPlace("tags", "List, create and delete tags.", "tags"),
        CommandPlace("branches", "List, create, delete and fast-forward branches.", "branches"),
        CommandPlace("rollback", "Go back to an earlier snapshot.", "rollback"),
    ),
    "Maintenance": (
        CommandPlace("compact", "Merge small files.", "compact"),
        CommandPlace("expire", "Delete old snapshots and their files.", "cleaning"),
        CommandPlace("orphans", "Delete files that nothing references.", "cleaning"),
        CommandPlace("analyze", "Compute and show statistics.", "doctor"),
        CommandPlace("doctor", "Check files, metadata and rows.", "doctor"),
    ),
}

"""One table as the layers above see the world: its files, their names, and the time and chance of this process."""

from __future__ import annotations

from dataclasses import dataclass, field

from table_format.io.file_io import FileIO
from table_format.io.paths import TablePaths
from table_format.runtime import Runtime


@dataclass(frozen=True, slots=True)
class TableStore:
    """Everything an operation on a table needs beside the table's own facts; travels between processes.

    ``identity`` tells the table that was opened from another made at the same path later (``metastore.identity``);
    without it nobody checks.
    """

    io: FileIO
    paths: TablePaths
    runtime: Runtime = field(default_factory=Runtime)
    identity: str | None = None

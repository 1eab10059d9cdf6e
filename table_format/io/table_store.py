"""The surroundings of one table: its files, their names, and the clock and random numbers of this process."""

from __future__ import annotations

from dataclasses import dataclass, field

from table_format.io.file_io import FileIO
from table_format.io.partition_list import PartitionList
from table_format.io.paths import TablePaths
from table_format.io.table_lock import TableLock
from table_format.io.table_server import TableServer
from table_format.runtime import Runtime


@dataclass(frozen=True, slots=True)
class TableStore:
    """Everything that an operation needs besides the facts of the table. Can be sent to other processes.

    ``identity`` distinguishes the opened table from one created later at the same path (``metastore.identity``);
    without it, this is not checked. Snapshots are published under ``lock``, if the catalog has locks. ``partitions`` is
    the catalog's list of the partitions, if it keeps one. ``server`` publishes the snapshots, if the catalog has one.
    """

    io: FileIO
    paths: TablePaths
    runtime: Runtime = field(default_factory=Runtime)
    identity: str | None = None
    lock: TableLock | None = None
    partitions: PartitionList | None = None
    server: TableServer | None = None

"""Partition directories keep their names, because the files of a table are found by them."""

from __future__ import annotations

from table_format.errors import InvalidOption
from table_format.io.table_store import TableStore
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.schema import TableSchema
from table_format.options.files import PARTITION_NAME_OPTIONS


def check_partition_names(store: TableStore, old: TableSchema, new: TableSchema) -> None:
    """Refuse to change how partition directories are named once the table has snapshots.

    Raises:
        InvalidOption: names the option.
    """
    if not new.partition_keys:
        return
    for option in PARTITION_NAME_OPTIONS:
        before, after = option.read(old.options), option.read(new.options)
        if before != after and SnapshotStore(store).latest() is not None:
            message = (
                f"may not change from {option.parser.show(before)!r} to {option.parser.show(after)!r}: the table has "
                "snapshots, and their files are in directories with the old names; create a new table and copy "
                "the rows"
            )
            raise InvalidOption(option.key, message)

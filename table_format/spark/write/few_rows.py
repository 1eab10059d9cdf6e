"""Writes few rows in the driver, which takes less time than a Spark job.

A statement knows how many rows it changes, and how wide they are, before it writes them. If they are few, the driver
collects and writes them as a single process does. Two more conditions keep the driver free of the work of a cluster: a
write may compact or look up in its buckets, so the table must be small or leave that to other jobs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_format.model.commit import CommitMessage
from table_format.model.snapshot import Snapshot
from table_format.options.bucket_mode import CrossPartition, Postponed, Unaware
from table_format.spark.tasks.table_work import write_rows
from table_format.spark.write.frames import check_frame, write_frame
from table_format.spark.write.named_rows import NamedRows
from table_format.spark.write.other_buckets import with_other_buckets
from table_format.table.changes.row_actions import latest_state
from table_format.table.facts import TableFacts
from table_format.table.read.state_plan import state_plan
from table_format.table.read.time_travel import Starting
from table_format.table.write.table_write import TableWrite

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FEW_ROWS: Final = 100_000
"""The maximum number of rows that the driver writes."""

FEW_BYTES: Final = 16 << 20
"""The maximum size of these rows, and of the files that the driver rewrites to change them."""

_LIGHT_ROWS: Final = 1_000_000
"""The maximum number of stored rows of a table whose buckets the driver may compact."""

_LIGHT_BYTES: Final = 64 << 20
"""The maximum size of the files of such a table."""


def are_few(rows: int, bytes_: int | None) -> bool:
    """Return whether the driver may collect rows of a total size; ``None`` is an unknown size.

    >>> are_few(3, 120), are_few(3, None), are_few(3, 1 << 30)
    (True, False, False)
    """
    return rows <= FEW_ROWS and bytes_ is not None and bytes_ <= FEW_BYTES


def is_light(facts: TableFacts, base: Snapshot | None) -> bool:
    """Return whether a write of few rows to the table is little work, with all that it compacts and looks up."""
    mode = facts.bucket_mode
    leaves_files = facts.options.compaction.write_only or isinstance(mode, Unaware | Postponed)
    if base is None or (leaves_files and not isinstance(mode, CrossPartition)):
        return True
    if base.total_record_count is None or base.total_record_count > _LIGHT_ROWS:
        return False
    plan = state_plan(latest_state(facts), Starting(base, facts.schema), None, None, min_level=0)
    return plan.byte_count <= _LIGHT_BYTES


def write_changed_rows(
    rows: DataFrame, facts: TableFacts, *, are_few: bool, base: Snapshot | None, commit_user: str
) -> tuple[CommitMessage, ...]:
    """Write the rows that a statement on the snapshot ``base`` changed: in the driver if that is little work, or by
    tasks.

    Raises:
        InvalidData: columns, types or values do not fit the table. No files are left.
        UnsupportedFeature: this version does not support writing the table.
    """
    write = write_few if are_few and is_light(facts, base) else write_frame
    return write(rows, facts, commit_user=commit_user)


def write_few(frame: DataFrame, facts: TableFacts, *, commit_user: str) -> tuple[CommitMessage, ...]:
    """Collect the rows of a DataFrame, write them in this process, and return the commit messages.

    Raises:
        InvalidData: columns, types or values do not fit the table. No files are left.
        UnsupportedFeature: this version does not support writing the table.
    """
    check_frame(frame.schema, facts)
    given = NamedRows.of(frame)
    batches = (batch.rename_columns(list(given.names)) for batch in given.frame.toArrow().to_batches())
    messages = write_rows(TableWrite(facts, commit_user=commit_user), batches)
    return with_other_buckets(frame.sparkSession, facts, messages)

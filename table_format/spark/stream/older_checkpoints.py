"""Notices a query that was started with an older copy of its checkpoint.

Spark repeats only the last micro-batch that it has planned. If the table has a later one of the same query, the
checkpoint is older than the table: Spark plans other rows under numbers that are committed, and they would be lost.
"""

from __future__ import annotations

from table_format.errors import InvalidInputError
from table_format.table.write.batch_commit import BatchCommit


def refuse_older_checkpoint(commit: BatchCommit, number: int, table: str) -> None:
    """Refuse a committed micro-batch if a later one of its query is committed too.

    Raises:
        InvalidInputError: names the table, the query and the number. The rows of the micro-batch are not written.
    """
    if commit.is_committed(number + 1):
        message = (
            f"{table}: micro-batch {number} of the query with the commit user '{commit.commit_user}' and a later one "
            "are already committed. The checkpoint is an older copy, and its next rows would be taken for committed "
            "ones. Restore the latest checkpoint, or start with a new one from the rows that the table lacks"
        )
        raise InvalidInputError(message)

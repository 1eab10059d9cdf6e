"""Writes and commits in one operation: cleans up after failures, and repairs some conflicts by writing again.

Rows of a table with dynamic buckets depend on the hash index that assigned their buckets. Rows of a cross-partition
table depend on the snapshot with the places of their keys. DELETE, UPDATE and MERGE depend on the files or keys that
they found. If another writer has changed these, the work is repeated, up to a limit.

All callers use this one function: ``Table``, ``Lake``, statements, the Spark data source and the Dagster IO manager.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Final, TypeAlias

import pyarrow as pa

from table_format.counted import counted
from table_format.errors import (
    ConflictError,
    HashIndexChanged,
    KeyPlacesChanged,
    RowsChanged,
    SnapshotExpired,
)
from table_format.io.table_store import TableStore
from table_format.metastore.schema.table_identity import explaining_drop, require_same_table
from table_format.model.commit import CommitMessage
from table_format.model.snapshot import Snapshot
from table_format.table.rows.input import Rows
from table_format.table.write.batch_commit import BatchCommit, aborting_on_failure
from table_format.table.write.turns import WriterTurns

MAX_ATTEMPTS: Final = 30
"""Attempts while other writers are faster."""

REPAIRED: Final = (HashIndexChanged, KeyPlacesChanged, RowsChanged, SnapshotExpired)
"""Errors after which the rows can be written again on the latest snapshot and committed."""

_FIRST_WAIT_MS: Final = 10
_LONGEST_WAIT_MS: Final = 300

Messages: TypeAlias = tuple[CommitMessage, ...]


def write_and_commit(
    store: TableStore,
    commit: BatchCommit,
    *,
    write: Callable[[], Messages],
    publish: Callable[[Messages], tuple[Snapshot, ...]],
    is_repeatable: bool,
    repaired: tuple[type[ConflictError | SnapshotExpired], ...] = REPAIRED,
    max_attempts: int = MAX_ATTEMPTS,
    turns: WriterTurns | None = None,
) -> tuple[Snapshot, ...]:
    """Write rows and publish them. Return the new snapshots.

    ``write`` creates files and their messages, ``publish`` commits them through ``commit``. After an error in
    ``repaired``, both are called again if the input ``is_repeatable``, at most ``max_attempts`` times, taking
    ``turns`` with other writers of this machine. A failed or interrupted attempt deletes its files unless they may be
    committed. A commit with an unknown outcome is never repeated here: the caller first checks
    ``commit.is_committed``.

    Raises:
        ConflictError: another commit made this one impossible; nothing is visible.
        CommitOutcomeUnknown: it may have been committed; its files are left.
    """
    attempt = 1
    while True:
        messages: list[CommitMessage] = []
        turn = turns.taken(alone=attempt > 1) if turns else nullcontext()
        try:
            with explaining_drop(partial(require_same_table, store)), aborting_on_failure(commit, messages), turn:
                messages.extend(write())
                return publish(tuple(messages))
        except repaired as error:
            if not is_repeatable:
                raise
            if attempt == max_attempts:
                message = f"gave up after {counted(attempt, 'attempt')}, each in conflict with another commit: {error}"
                raise type(error)(message) from error
        wait_ms = min(_FIRST_WAIT_MS << min(attempt, 10), _LONGEST_WAIT_MS)
        store.runtime.clock.sleep_ms(int(wait_ms * store.runtime.random.random()))
        attempt += 1


def is_repeatable(data: Rows) -> bool:
    """Return whether the rows can be read a second time; other streams cannot."""
    return isinstance(data, pa.Table | pa.RecordBatch) or type(data).__module__.partition(".")[0] in (
        "pandas",
        "polars",
    )

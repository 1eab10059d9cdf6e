"""Writing and committing as one: what is left of a failure, and when the work is done again.

Rows of a table with dynamic buckets rest on the hash index they were given their buckets by, where keys may change
their partition on the snapshot that told where they lie, and changes of rows on the files or the keys that were found.
When another writer has changed these meanwhile, the work is done again, a bounded number of times.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Final, TypeAlias

import pyarrow as pa

from table_format.errors import (
    ConflictError,
    HashIndexChanged,
    KeyPlacesChanged,
    OutcomeUnknownError,
    RowsChanged,
    SnapshotExpired,
)
from table_format.io.table_store import TableStore
from table_format.model.commit import CommitMessage
from table_format.model.snapshot import Snapshot
from table_format.table.rows.input import Rows
from table_format.table.write.batch_commit import BatchCommit
from table_format.table.write.turns import WriterTurns

MAX_ATTEMPTS: Final = 30
"""Times that work is done; each time another writer was faster."""

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
    repaired: tuple[type[ConflictError | SnapshotExpired], ...] = (
        HashIndexChanged,
        KeyPlacesChanged,
        RowsChanged,
        SnapshotExpired,
    ),
    max_attempts: int = MAX_ATTEMPTS,
    turns: WriterTurns | None = None,
) -> tuple[Snapshot, ...]:
    """Write rows and publish them; the files of an attempt that surely failed are deleted.

    So are those of an attempt that was interrupted, as far as the store says that it was not published. Conflicts of
    the kinds ``repaired`` are answered by writing again, in ``turns`` with other writers of this machine; so is a base
    that was expired while it was read.

    Raises:
        ConflictError: another commit made this one impossible; nothing is visible.
        CommitOutcomeUnknown: it may have landed; its files are left.
    """
    attempt = 1
    while True:
        messages: Messages = ()
        try:
            with turns.taken(alone=attempt > 1) if turns else nullcontext():
                messages = write()
                return publish(messages)
        except OutcomeUnknownError:
            raise
        except repaired as error:
            commit.abandon(messages)
            if not is_repeatable:
                raise
            if attempt == max_attempts:
                message = f"given up after {attempt} attempts, each of which met another commit: {error}"
                raise type(error)(message) from error
        except BaseException:  # an interrupt leaves files as an error does; what was published stays
            commit.abandon(messages)
            raise
        wait_ms = min(_FIRST_WAIT_MS << min(attempt, 10), _LONGEST_WAIT_MS)
        store.runtime.clock.sleep_ms(int(wait_ms * store.runtime.random.random()))
        attempt += 1


def is_repeatable(data: Rows) -> bool:
    """Whether the rows can be read a second time; a stream of unknown make cannot."""
    return isinstance(data, pa.Table | pa.RecordBatch) or type(data).__module__.partition(".")[0] in (
        "pandas",
        "polars",
    )

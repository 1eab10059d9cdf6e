"""Refreshes an object table: one commit after which its rows are the files that are there.

Two refreshes at the same time never leave a file twice. Each replaces the rows that it has compared with its listing;
if they have changed in the meantime, it lists again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from table_format.errors import ConflictError, FileConflict, SnapshotExpired
from table_format.io.locations import Location
from table_format.model.commit import CommitMessage
from table_format.model.data_file import EMPTY_ROW
from table_format.model.snapshot import BATCH_COMMIT_IDENTIFIER, Snapshot
from table_format.object_table.columns import PATH
from table_format.object_table.listing import listed
from table_format.options.scan import SNAPSHOT_ID
from table_format.table.facts import TableFacts
from table_format.table.read.scan import Scan
from table_format.table.write.batch_commit import (
    CommitArguments,
    aborting_on_failure,
    expire_after_commit,
    fresh_user,
    tag_after_batch,
)
from table_format.table.write.table_write import TableWrite

_ATTEMPTS: Final = 10
"""Attempts while other commits are faster. A refresh that lost usually finds nothing left to change."""

_UNPARTITIONED: Final = frozenset({EMPTY_ROW})
_NOT_COMPARED: Final = ("atime",)
"""Reading a file changes it, which would make each refresh a new snapshot."""


@dataclass(frozen=True, slots=True)
class ObjectRefresh:
    """What a refresh found: the number of files, and its snapshot; ``None`` if the rows were up to date."""

    file_count: int
    snapshot: Snapshot | None


def refresh(facts: TableFacts, location: Location, properties: Mapping[str, str] | None = None) -> ObjectRefresh:
    """Make the rows of a table those of a listing. ``facts`` allow the table to be written. The snapshot gets the
    properties.

    Raises:
        OSError: a store failed; nothing was committed.
        ConflictError: other commits were faster each time; nothing was committed.
        CommitOutcomeUnknown: it may have been committed; refresh again.
    """
    given = CommitArguments.of(None, properties=properties)
    attempt = 1
    while True:
        try:
            return _refresh_once(facts, location, given)
        except (FileConflict, SnapshotExpired) as error:
            if attempt == _ATTEMPTS:
                message = (
                    f"{facts.name} was not refreshed: other commits were faster {_ATTEMPTS} times; the last: {error}"
                )
                raise ConflictError(message) from error
        attempt += 1


def _refresh_once(facts: TableFacts, location: Location, given: CommitArguments) -> ObjectRefresh:
    # Before the listing: a later commit may have listed more.
    base = facts.snapshots.latest()
    rows = listed(location)
    if _are_same(rows, _rows_of(facts, base)):
        return ObjectRefresh(rows.num_rows, None)
    user = fresh_user(facts)
    committer = facts.committer(user)
    messages: list[CommitMessage] = []
    with aborting_on_failure(committer, messages):
        messages.extend(TableWrite(facts, replacing=True, commit_user=user).write(rows))
        committable = given.committable(BATCH_COMMIT_IDENTIFIER, messages)
        if base is None:
            (snapshot,) = committer.overwrite(committable)
        else:
            snapshot = committer.rewrite(committable, base, _UNPARTITIONED)
    expire_after_commit(facts)
    tag_after_batch(facts)
    return ObjectRefresh(rows.num_rows, snapshot)


def _rows_of(facts: TableFacts, base: Snapshot | None) -> pa.Table | None:
    if base is None:
        return None
    at_base = facts.options.with_options({SNAPSHOT_ID.key: str(base.id)})
    return Scan(replace(facts, options=at_base), None, None).to_arrow()


def _are_same(new: pa.Table, old: pa.Table | None) -> bool:
    if old is None:
        return new.num_rows == 0
    if new.num_rows != old.num_rows:
        return False
    compared = [name for name in new.schema.names if name not in _NOT_COMPARED]
    ordered = old.sort_by(PATH).select(compared)
    return bool(ordered.cast(new.select(compared).schema).equals(new.select(compared)))

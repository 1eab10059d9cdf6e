"""Rebases finished work to the latest snapshot if other commits wrote other keys.

The commit compares key ranges of files (``metastore/commit/key_changes.py``) and stops if they overlap. This module
compares the keys themselves: those of files that others have added, and those of files to commit. If no key is
shared, these keys have not changed, and the commit continues. Each attempt reads only files added since the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

import pyarrow as pa

from table_format.errors import CorruptionError, KeyPlacesChanged, RowsChanged
from table_format.formats.data_file_reader import DataFileReader
from table_format.kernels.equal_numbers import with_equal_bits
from table_format.kernels.stored_keys import stored_key
from table_format.metastore.commit.key_changes import KeySpans, Meeting, find_lacking_message, meetings
from table_format.metastore.commit.key_places import snapshot_identity
from table_format.metastore.manifest.manifest_changes import FileChanges, append_changes
from table_format.model.commit import CommitMessage
from table_format.model.manifest import FileKind, ManifestEntry
from table_format.model.snapshot import Snapshot
from table_format.options.bucket_mode import CrossPartition
from table_format.table.facts import TableFacts

Outdated: TypeAlias = KeyPlacesChanged | RowsChanged

OUTDATED: Final = (KeyPlacesChanged, RowsChanged)

MAX_KEYS: Final = 4_000_000
"""Keys of others that are held in memory for comparison. With more keys, the work is repeated instead."""


def rebased(facts: TableFacts, messages: Sequence[CommitMessage], conflict: Outdated) -> tuple[CommitMessage, ...]:
    """Return the messages, based on the latest snapshot.

    Raises:
        KeyPlacesChanged, RowsChanged: ``conflict``, because others wrote one of the keys, or this is unknown.
        ConflictError: the rows were placed by earlier rows of their write that are not committed.
    """
    changes = append_changes(messages)
    latest = facts.snapshots.latest()
    lacking = find_lacking_message(changes, latest, facts.snapshots, facts.manifests)
    if lacking is not None:  # rolled back since the commit was refused
        raise lacking
    overlaps = _overlapping_entries(facts, changes, latest)
    if overlaps is None or not all(meeting.is_readable for meeting in overlaps):
        raise conflict
    other_entries = [meeting.entry for meeting in overlaps]
    new_entries = _possible_overlaps(facts, changes.entries, other_entries)
    if _rows(other_entries) > MAX_KEYS:
        raise conflict
    try:
        is_shared = _share_a_key(facts, new_entries, other_entries)
    except CorruptionError:
        # Compacted and expired in the meantime, or damaged: repeating the work shows which.
        raise conflict from None
    if is_shared:
        raise conflict
    identity = snapshot_identity(latest)
    return tuple(_based_on(message, identity) for message in messages)


def committed_on_latest(
    facts: TableFacts,
    messages: Sequence[CommitMessage],
    commit: Callable[[Sequence[CommitMessage]], tuple[Snapshot, ...]],
) -> tuple[Snapshot, ...]:
    """Commit, and retry on later snapshots as long as the commits in between wrote other keys.

    Raises:
        KeyPlacesChanged, RowsChanged: others wrote one of the keys; nothing is visible.
    """
    while True:
        try:
            return commit(messages)
        except OUTDATED as conflict:
            # Another commit succeeded each time, so the table makes progress even if this commit does not.
            messages = rebased(facts, messages, conflict)


def _overlapping_entries(facts: TableFacts, changes: FileChanges, latest: Snapshot | None) -> list[Meeting] | None:
    spans = KeySpans(facts.schema, changes.entries)
    found: dict[str, Meeting] = {}
    for base in sorted(changes.bases.key_places | changes.bases.rows):
        overlaps = meetings(spans, base, latest, facts.snapshots, facts.manifests)
        if overlaps is None:
            return None
        found.update((meeting.entry.file.file_name, meeting) for meeting in overlaps)
    for base in sorted(changes.bases.sequence_numbers):
        overlaps = meetings(spans, base, latest, facts.snapshots, facts.manifests, of_statements=True) or []
        found.update((meeting.entry.file.file_name, meeting) for meeting in overlaps)
    return list(found.values())


def _possible_overlaps(
    facts: TableFacts, entries: Iterable[ManifestEntry], other_entries: Sequence[ManifestEntry]
) -> list[ManifestEntry]:
    """Return the new files that may share keys with others."""
    spans = KeySpans(facts.schema, other_entries)
    return [entry for entry in entries if entry.kind is FileKind.ADD and spans.may_hold(entry)]


def _rows(entries: Iterable[ManifestEntry]) -> int:
    return sum(entry.file.row_count for entry in entries)


def _share_a_key(
    facts: TableFacts, new_entries: Sequence[ManifestEntry], other_entries: Sequence[ManifestEntry]
) -> bool:
    if not (new_entries and other_entries):
        return False
    known = pa.concat_tables(_keys(facts, other_entries))
    known = known.group_by(known.column_names).aggregate([])
    return any(
        part.join(known, known.column_names, join_type="left semi").num_rows for part in _keys(facts, new_entries)
    )


def _keys(facts: TableFacts, entries: Iterable[ManifestEntry]) -> Iterator[pa.Table]:
    """Return the keys of some files, within their partition or, if keys may change it, in the whole table."""
    fields = facts.schema.select(facts.schema.trimmed_primary_keys)
    names = [*(f"k{number}" for number in range(len(fields))), "partition"]
    reader = DataFileReader(facts.store, facts.schemas, facts.schema, facts.options)
    for entry in entries:
        for batch in reader.read(entry.partition, entry.bucket, entry.file, fields):
            columns = [_comparable(batch.column(field.name)) for field in fields]
            if not isinstance(facts.bucket_mode, CrossPartition):
                columns.append(pa.repeat(pa.scalar(entry.partition, pa.binary()), batch.num_rows))
            yield pa.table(columns, names=names[: len(columns)])


def _comparable(column: pa.Array) -> pa.Array:
    """Make keys equal that a merge treats as equal: both zeros, and all NaN values."""
    if pa.types.is_floating(column.type):
        column = with_equal_bits(column)
    return stored_key(column)


def _based_on(message: CommitMessage, identity: str) -> CommitMessage:
    return replace(
        message,
        key_places_base=None if message.key_places_base is None else identity,
        key_places_after=(),  # they are committed, and the new base follows them
        rows_base=None if message.rows_base is None else identity,
        numbers_base=None if message.numbers_base is None else identity,
    )

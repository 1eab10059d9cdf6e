"""Finds changes by others to the keys of a commit since its base snapshot.

Two kinds of work depend on a snapshot key by key: placed rows of a cross-partition table, and rows that a DELETE,
UPDATE or MERGE has found and changed. Both are outdated once another commit has written one of their keys. Upserts also
depend on a snapshot, from which their sequence numbers continue: a statement that has changed one of their keys since
then used the same numbers, and could win although it was committed first.

This module compares files by their first and last key, which only reads the manifests of the commits in between.
``table/write/rebase.py`` reads the rows to determine whether a file really contains one of the keys.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate
from typing import Final, TypeAlias

from table_format.errors import ConflictError, CorruptionError, RowsChanged
from table_format.io.paths import POSTPONE_BUCKET
from table_format.lsm.keys import Key, KeyRangeOf, key_ranges
from table_format.metastore.commit.key_places import MOVES_NO_KEY, key_places_changed, snapshots_since
from table_format.metastore.manifest.manifest_changes import FileChanges
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.bucket_id import BucketId
from table_format.model.manifest import FileKind, ManifestEntry
from table_format.model.schema import TableSchema
from table_format.model.snapshot import CommitKind, Snapshot

STATEMENTS: Final = frozenset(("DELETE", "UPDATE", "MERGE"))
"""Operations whose new rows depend on earlier rows."""

_Place: TypeAlias = BucketId | bytes | None
"""The part of a table in which files can share keys: a bucket, a partition, or the whole table."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """A file that a snapshot added or removed, and that may contain keys of the commit.

    ``is_readable`` is true if its rows contain the keys that the snapshot wrote, which is not so for files that an
    overwrite removed.
    """

    snapshot: Snapshot
    entry: ManifestEntry
    is_readable: bool


@dataclass(frozen=True, slots=True)
class _Spans:
    """Key ranges ordered by first key, each with the largest last key of all ranges up to it."""

    firsts: tuple[Key, ...]
    largest: tuple[Key, ...]

    @classmethod
    def of(cls, spans: Iterable[tuple[Key, Key]]) -> _Spans:
        ordered = sorted(spans)
        return cls(tuple(first for first, _ in ordered), tuple(accumulate((last for _, last in ordered), max)))

    def meets(self, first: Key, last: Key) -> bool:
        """Return whether a range overlaps the keys from ``first`` to ``last``.

        >>> spans = _Spans.of([(((1, 1),), ((1, 3),)), (((1, 8),), ((1, 9),))])
        >>> [spans.meets(((1, k),), ((1, k),)) for k in (0, 2, 5, 9)]
        [False, True, False, True]
        """
        position = bisect_right(self.firsts, last)
        return position > 0 and self.largest[position - 1] >= first


@dataclass(frozen=True, slots=True)
class _Places:
    """The places of files, the places with postponed rows, and the key ranges in all other places."""

    places: frozenset[_Place]
    postponed: frozenset[_Place]
    spans: Mapping[_Place, _Spans]


class KeySpans:
    """The key ranges of new files, to find other files that may contain the same keys.

    If keys may change their partition, keys of the whole table are compared, otherwise those of one partition. Within a
    partition, a key keeps its bucket until an overwrite. The keys of files with postponed rows are unknown.
    """

    def __init__(self, schema: TableSchema, entries: Iterable[ManifestEntry]) -> None:
        self._range_of: KeyRangeOf = key_ranges(schema)
        self._crosses = schema.is_cross_partition
        self._entries = entries

    def may_hold(self, entry: ManifestEntry, *, in_any_bucket: bool = False) -> bool:
        """Return whether a file may contain one of the keys; ``in_any_bucket`` if rows were moved to other buckets."""
        known = self._known
        in_partition = in_any_bucket or entry.bucket == POSTPONE_BUCKET
        place = None if self._crosses else entry.partition if in_partition else entry.bucket_id
        if entry.bucket == POSTPONE_BUCKET:
            return place in known.places
        if place in known.postponed or (not self._crosses and entry.partition in known.postponed):
            return True
        spans = known.spans.get(place)
        return spans is not None and spans.meets(*self._range_of(entry.file))

    @cached_property
    def _known(self) -> _Places:
        # Computed on demand, because most commits have many files and compare none.
        places: set[_Place] = set()
        postponed: set[_Place] = set()
        found: dict[_Place, list[tuple[Key, Key]]] = {}
        for entry in self._entries:
            if entry.kind is not FileKind.ADD:
                continue
            places.update(self._places(entry))
            if entry.bucket == POSTPONE_BUCKET:
                postponed.update(self._places(entry))
                continue
            for place in self._places(entry):
                found.setdefault(place, []).append(self._range_of(entry.file))
        spans = {place: _Spans.of(ranges) for place, ranges in found.items()}
        return _Places(frozenset(places), frozenset(postponed), spans)

    def _places(self, entry: ManifestEntry) -> tuple[_Place, ...]:
        return (None,) if self._crosses else (entry.partition, entry.bucket_id)


def meetings(
    spans: KeySpans,
    base: str,
    latest: Snapshot | None,
    snapshots: SnapshotStore,
    manifests: ManifestStore,
    *,
    of_statements: bool = False,
) -> list[Meeting] | None:
    """Return the files with which commits after ``base`` may have written the keys; ``None`` if this is not known.

    ``of_statements`` limits the result to the files of DELETE, UPDATE and MERGE.
    """
    steps = snapshots_since(base, latest, snapshots)
    if steps is None:
        return None
    found: list[Meeting] = []
    for step in steps:
        if step.commit_kind in MOVES_NO_KEY or (of_statements and step.operation not in STATEMENTS):
            continue
        replaces = step.commit_kind is CommitKind.OVERWRITE
        try:
            entries = manifests.delta_entries(step)
        except CorruptionError:
            return None  # expired in the meantime; later reads detect damage
        found.extend(
            Meeting(step, entry, is_readable=not replaces and entry.kind is FileKind.ADD)
            for entry in entries
            if spans.may_hold(entry, in_any_bucket=replaces)
        )
    return found


def find_key_change(
    changes: FileChanges,
    schema: TableSchema,
    latest: Snapshot | None,
    snapshots: SnapshotStore,
    manifests: ManifestStore,
) -> ConflictError | None:
    """Return the conflict if other commits may have written keys after the snapshot on which the changes are based."""
    if not changes.bases.are_keys:
        return None
    lacking = find_lacking_message(changes, latest, snapshots, manifests)
    if lacking is not None:
        return lacking
    spans = KeySpans(schema, changes.entries)
    kinds: tuple[tuple[Iterable[str], Callable[[str, Snapshot | None], ConflictError]], ...] = (
        (changes.bases.key_places, partial(key_places_changed, written="Rows with the same keys")),
        (changes.bases.rows, rows_changed),
    )
    for bases, error in kinds:
        for base in sorted(bases):
            if meetings(spans, base, latest, snapshots, manifests) != []:
                return error(base, latest)
    for base in sorted(changes.bases.sequence_numbers):
        # Do not refuse an upsert if the history is not known any more.
        if meetings(spans, base, latest, snapshots, manifests, of_statements=True):
            return numbers_used(base, latest)
    return None


def find_lacking_message(
    changes: FileChanges, latest: Snapshot | None, snapshots: SnapshotStore, manifests: ManifestStore
) -> ConflictError | None:
    """Return the conflict if rows were placed by earlier rows of their write, and these are not committed.

    Such rows delete their keys where the earlier rows would have put them, and not where the table has them. ``None``
    if the history since the rows were placed is not known: then their places are outdated anyway.
    """
    lacking = set(changes.bases.earlier_files)
    for base in sorted(changes.bases.key_places) if lacking else ():
        steps = snapshots_since(base, latest, snapshots)
        if steps is None:
            return None
        for step in steps:
            try:
                lacking.difference_update(entry.file.file_name for entry in manifests.delta_entries(step))
            except CorruptionError:
                return None  # expired in the meantime; later reads detect damage
    return _lacks_message(min(lacking)) if lacking else None


def _lacks_message(file_name: str) -> ConflictError:
    return ConflictError(
        f"these rows got their partitions after rows of the same write in file '{file_name}', which the table does not "
        "have: their message was not committed, or its commit was rolled back. A key could end up in two partitions. "
        "Nothing was committed; commit the messages of a write together or in their order, or write the rows again "
        "with a new write"
    )


def rows_changed(base: str, latest: Snapshot | None) -> RowsChanged:
    """Return the conflict of a statement whose rows have been changed since its snapshot."""
    return RowsChanged(
        f"Rows with the same keys were committed after snapshot {_id(base)}, in which the statement found its "
        f"rows; the latest is {0 if latest is None else latest.id}. Nothing was committed; run the statement again"
    )


def numbers_used(base: str, latest: Snapshot | None) -> RowsChanged:
    """Return the conflict of upserts whose sequence numbers a statement has used for the same keys."""
    return RowsChanged(
        f"A DELETE, UPDATE or MERGE of the same keys was committed after snapshot {_id(base)}, from which the "
        f"sequence numbers of these rows continue; the latest is {0 if latest is None else latest.id}. The rows "
        "could lose against "
        "it. Nothing was committed; write the rows again"
    )


def _id(base: str) -> str:
    return base.partition(":")[0]

"""Keeps the local key index up to date: builds it from the files of the table, then applies the changes of snapshots.

Java ``crosspartition.IndexBootstrap`` reads all keys whenever a job starts. This index persists between runs and
reads only files that snapshots have added since. It is rebuilt if its snapshot is no longer in the history of the
table, has expired, or cannot be read. The index of a shard reads the same files and keeps its own keys.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from table_format.counted import counted
from table_format.errors import CorruptionError
from table_format.formats.data_file_reader import DataFileReader
from table_format.indexes.key_index import GlobalKeyIndex, IndexedRows
from table_format.kernels.key_shards import WHOLE, KeyShard
from table_format.kernels.stored_keys import stored_key
from table_format.metastore.commit.key_places import (
    MOVES_NO_KEY,
    key_places_changed,
    may_have_moved_keys,
    snapshot_identity,
    snapshots_since,
)
from table_format.metastore.scan.file_filter import FileFilter
from table_format.model.bucket_id import BucketId
from table_format.model.manifest import FileKind, ManifestEntry
from table_format.model.row_kind import RowKind
from table_format.model.schema import SEQUENCE_NUMBER, VALUE_KIND
from table_format.model.snapshot import Snapshot
from table_format.options.merge import MergeEngine
from table_format.table.facts import TableFacts
from table_format.table.placement.local_key_index import discard_other_shards
from table_format.table.read.live_keys import all_splits, live_rows, newest_ms, splits_of

_log = logging.getLogger(__name__)

_MANY_ROWS: Final = 100_000
_COST_OF_A_CHANGE: Final = 4
"""Adding one row costs about as much as reading this many keys in bulk."""

_RETRACTS: Final = (RowKind.UPDATE_BEFORE.value, RowKind.DELETE.value)


def follow(
    facts: TableFacts,
    index: GlobalKeyIndex,
    base: Snapshot | None,
    *,
    shard: KeyShard = WHOLE,
    known: Iterator[IndexedRows] | None = None,
) -> None:
    """Bring the index to a snapshot.

    ``known`` holds all keys of the shard at this snapshot, if they have been read. They are used if the index must be
    built.

    Raises:
        CorruptionError: a file of the table is missing or damaged.
        KeyPlacesChanged: the index is already at a later snapshot, in which keys have other places.
        LocalStoreError: the local database failed.
    """
    if not _stands_for_later(facts, index, base):
        change = _change_since(facts, index, base)
        if change is None:
            _rebuild(facts, index, base, shard, known)
        elif change.target is not None:
            try:
                _advance(facts, index, change.target, change, shard)
            except CorruptionError:
                # Files of expired snapshots disappear first; live files can still be read.
                _rebuild(facts, index, base, shard, known)
    ttl_ms = facts.options.bucket.index_ttl_ms
    if ttl_ms is not None:
        index.forget_older(facts.store.runtime.clock.local_now_ms() - ttl_ms)


def must_be_built(facts: TableFacts, index: GlobalKeyIndex, base: Snapshot | None) -> bool:
    """Return whether the index must read all keys to reach a snapshot.

    Raises:
        KeyPlacesChanged: it is already at a later snapshot, in which keys have other places.
    """
    return not _stands_for_later(facts, index, base) and _change_since(facts, index, base) is None


def _stands_for_later(facts: TableFacts, index: GlobalKeyIndex, base: Snapshot | None) -> bool:
    """Return whether others have brought the index to a later snapshot without moving keys."""
    if index.position is None:
        return False
    position_id = int(index.position.partition(":")[0])
    if position_id <= (0 if base is None else base.id):
        return False
    later = facts.snapshots.find(position_id)
    if later is None or snapshot_identity(later) != index.position:
        return False
    identity = snapshot_identity(base)
    if may_have_moved_keys(identity, later, facts.snapshots):
        raise key_places_changed(identity, later, written="Other rows")
    return True


# --- all keys -------------------------------------------------------------------------------------------------------


def _rebuild(
    facts: TableFacts,
    index: GlobalKeyIndex,
    base: Snapshot | None,
    shard: KeyShard,
    known: Iterator[IndexedRows] | None,
) -> None:
    rows = live_rows(facts, all_splits(facts, base), shard) if known is None else known
    doubled = index.rebuild(rows, snapshot_identity(base))
    if not shard.is_whole:
        discard_other_shards(facts, shard)
    if doubled:
        _log.warning(
            "%s: %s in more than one partition; the place written last is used. Causes are writers without a common "
            "index, and 'cross-partition-upsert.index-ttl'",
            facts.name,
            counted(doubled, "key is", "keys are"),
        )


# --- what changed ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Change:
    """The changes up to ``target`` (``None`` if there are none): files that snapshots added, with their ids, and the
    places from which files were removed.
    """

    target: Snapshot | None
    added: tuple[tuple[int, ManifestEntry], ...] = ()
    cleared: frozenset[BucketId] = frozenset()

    @property
    def is_large(self) -> bool:
        """Whether reading the whole table is less work."""
        rows = sum(entry.file.row_count for _, entry in self.added)
        total = 0 if self.target is None else self.target.total_record_count or 0
        return rows > _MANY_ROWS and rows * _COST_OF_A_CHANGE > total


def _change_since(facts: TableFacts, index: GlobalKeyIndex, base: Snapshot | None) -> _Change | None:
    """Return the changes missing in the index; ``None`` if all keys must be read."""
    steps = None if index.position is None else snapshots_since(index.position, base, facts.snapshots)
    if steps is None:
        return None
    try:
        change = _change(facts, steps)
    except CorruptionError:
        return None
    return None if change.is_large else change


def _change(facts: TableFacts, steps: Sequence[Snapshot]) -> _Change:
    added: list[tuple[int, ManifestEntry]] = []
    cleared: set[BucketId] = set()
    for step in steps:
        if step.commit_kind in MOVES_NO_KEY:
            continue
        for entry in facts.manifests.delta_entries(step):
            if entry.kind is FileKind.ADD:
                added.append((step.id, entry))
            else:
                # The keys of removed files are unknown, so read the files that remain there.
                cleared.add(entry.bucket_id)
    kept = tuple((i, e) for i, e in added if e.bucket_id not in cleared)
    return _Change(steps[-1] if steps else None, kept, frozenset(cleared))


def _advance(facts: TableFacts, index: GlobalKeyIndex, target: Snapshot, change: _Change, shard: KeyShard) -> None:
    def rows() -> Iterator[IndexedRows]:
        yield from _added_rows(facts, change.added, shard)
        left = _left_in(facts, target, change.cleared)
        yield from live_rows(facts, splits_of(facts, target, left), shard)

    index.advance(
        rows(),
        change.cleared,
        snapshot_identity(target),
        # Other engines may keep a key after a retraction.
        drops_retracts=facts.options.merge.engine is MergeEngine.DEDUPLICATE,
        with_age=facts.options.bucket.index_ttl_ms is not None,
    )


def _left_in(facts: TableFacts, target: Snapshot, places: frozenset[BucketId]) -> list[ManifestEntry]:
    if not places:
        return []
    wanted = FileFilter(partitions=frozenset(partition for partition, _ in places))
    plan = facts.live_files(target, wanted)
    return [entry for entry in plan.entries if entry.bucket_id in places]


def _added_rows(
    facts: TableFacts, added: Sequence[tuple[int, ManifestEntry]], shard: KeyShard
) -> Iterator[IndexedRows]:
    # Keys keep their types and ids, so that a handle of an older schema can read the keys of a file of a newer one.
    reader = DataFileReader(facts.store, facts.schemas, facts.schema, facts.options)
    fields = facts.schema.select(facts.schema.primary_keys)
    types = [field.type for field in fields]
    for snapshot_id, entry in added:
        file = entry.file
        may_retract = file.delete_row_count != 0
        wanted = (*fields, SEQUENCE_NUMBER, VALUE_KIND) if may_retract else (*fields, SEQUENCE_NUMBER)
        for read in reader.read(entry.partition, entry.bucket, file, wanted):
            batch = shard.part_of(types, read)
            retract = pc.is_in(batch.column(VALUE_KIND.name), pa.array(_RETRACTS, pa.int8())) if may_retract else None
            yield IndexedRows(
                keys=[stored_key(batch.column(f.name)) for f in fields],
                partition=entry.partition,
                bucket=entry.bucket,
                written_ms=newest_ms(facts, (file,)),
                snapshot=snapshot_id,
                sequence=batch.column(SEQUENCE_NUMBER.name),
                is_retract=retract,
            )

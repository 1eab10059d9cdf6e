"""The local index of keys follows the table: built from its files, then kept up by what snapshots changed.

Java ``crosspartition.IndexBootstrap`` reads all keys whenever a job starts. Here the index is kept between runs and
reads the files that snapshots added since; it is built anew where the history it stands for is not the table's any
more, was expired, or cannot be read.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_format.errors import CorruptionError
from table_format.formats.data_file_reader import DataFileReader
from table_format.indexes.key_index import IndexedRows, KeyIndex
from table_format.kernels.stored_keys import stored_key
from table_format.metastore.file_filter import FileFilter
from table_format.metastore.key_places import MOVES_NO_KEY, snapshot_identity, snapshots_since
from table_format.metastore.plan import live_files
from table_format.model.arrow_types import arrow_type
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import FileKind, ManifestEntry
from table_format.model.row_kind import RowKind
from table_format.model.schema import SEQUENCE_NUMBER, VALUE_KIND
from table_format.model.snapshot import Snapshot
from table_format.model.split import DataSplit
from table_format.options.merge import MergeEngine
from table_format.runtime import default_cache_directory
from table_format.table.facts import TableFacts
from table_format.table.read import read_in_order, read_split
from table_format.table.splits import make_splits

_log = logging.getLogger(__name__)

_MANY_ROWS: Final = 100_000
_COST_OF_A_CHANGE: Final = 4
"""To take in a row that was added costs about as much as to read so many keys in bulk."""

_SPLIT: Final = "__split__"
_RETRACTS: Final = (RowKind.UPDATE_BEFORE.value, RowKind.DELETE.value)


def open_key_index(facts: TableFacts, *, replacing: bool = False) -> KeyIndex:
    """The index this machine keeps of a table and branch; one that stays empty for rows that replace the table.

    Raises:
        LocalStoreError: the directory for it cannot be used.
    """
    types = [stored_key(pa.array([], arrow_type(f.type))).type for f in facts.schema.select(facts.schema.primary_keys)]
    place = f"{facts.store.paths.root}\n{facts.store.paths.branch}"
    fitting = f"{place}|{facts.schema.primary_keys}|{facts.options.bucket.index_ttl_ms}"
    cache = facts.store.runtime.cache_directory or default_cache_directory()
    name = blake2b(place.encode(), digest_size=16).hexdigest()
    return KeyIndex.open(Path(cache) / "key-index" / name, "replacing" if replacing else "keys", types, fitting)


def follow(facts: TableFacts, index: KeyIndex, base: Snapshot | None) -> None:
    """Make the index stand for a snapshot.

    Raises:
        CorruptionError: a file of the table is missing or damaged.
        LocalStoreError: the local database failed.
    """
    steps = None if index.position is None else snapshots_since(index.position, base, facts.snapshots)
    if steps is None:
        _rebuild(facts, index, base)
    elif steps:
        try:
            change = _change(facts, steps)
            if change.is_large(steps[-1]):
                _rebuild(facts, index, base)
            else:
                _advance(facts, index, steps[-1], change)
        except CorruptionError:
            # Files of expired snapshots go first of all; what is alive can still be read.
            _rebuild(facts, index, base)
    ttl_ms = facts.options.bucket.index_ttl_ms
    if ttl_ms is not None:
        index.forget_older(facts.store.runtime.clock.local_now_ms() - ttl_ms)


# --- all keys -------------------------------------------------------------------------------------------------------


def _rebuild(facts: TableFacts, index: KeyIndex, base: Snapshot | None) -> None:
    entries: Sequence[ManifestEntry] = ()
    if base is not None:
        entries = live_files(facts.manifests, base, schema=facts.schema, schemas=facts.schemas).entries
    doubled = index.rebuild(_live_rows(facts, base, entries), snapshot_identity(base))
    if doubled:
        _log.warning(
            "%s: %d keys lie in more than one partition; the place that was written last counts. Writers without a "
            "common index leave such keys behind, and so does 'cross-partition-upsert.index-ttl'",
            facts.name,
            doubled,
        )


def _live_rows(facts: TableFacts, base: Snapshot | None, entries: Sequence[ManifestEntry]) -> Iterator[IndexedRows]:
    """The keys that are alive in some files, those on level 0 included; whole buckets are asked for."""
    if base is None or not entries:
        return
    splits = make_splits(
        entries,
        facts.schema,
        facts.options.scan,
        snapshot_id=base.id,
        deletion_files=facts.deletion_files(base),
    )
    ttl_ms = facts.options.bucket.index_ttl_ms
    if ttl_ms is not None:
        oldest_ms = facts.store.runtime.clock.local_now_ms() - ttl_ms
        splits = tuple(split for split in splits if _newest_ms(facts, split.files) >= oldest_ms)
    fields = facts.schema.select(facts.schema.primary_keys)
    numbers = {id(split): number for number, split in enumerate(splits)}

    def read(split: DataSplit) -> Generator[pa.RecordBatch]:
        for batch in read_split(facts.store, facts.schemas, facts.schema, facts.options, split, fields):
            yield batch.append_column(_SPLIT, pa.array(np.full(batch.num_rows, numbers[id(split)])))

    for batch in read_in_order(splits, read, threads=facts.options.bucket.bootstrap_parallelism):
        split = splits[batch.column(_SPLIT)[0].as_py()] if batch.num_rows else None
        if split is not None:
            yield IndexedRows(
                keys=[stored_key(batch.column(f.name)) for f in fields],
                partition=split.partition,
                bucket=split.bucket,
                written_ms=_newest_ms(facts, split.files),
                snapshot=base.id,
            )


def _newest_ms(facts: TableFacts, files: Sequence[DataFileMeta]) -> int:
    times = [file.creation_time for file in files if file.creation_time is not None]
    return max(times, default=facts.store.runtime.clock.local_now_ms())


# --- what changed ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Change:
    """Files that snapshots added, with their ids, and the places from which files were removed."""

    added: tuple[tuple[int, ManifestEntry], ...]
    cleared: frozenset[tuple[bytes, int]]

    def is_large(self, target: Snapshot) -> bool:
        """Whether to read the whole table is less work."""
        rows = sum(entry.file.row_count for _, entry in self.added)
        return rows > _MANY_ROWS and rows * _COST_OF_A_CHANGE > (target.total_record_count or 0)


def _change(facts: TableFacts, steps: Sequence[Snapshot]) -> _Change:
    added: list[tuple[int, ManifestEntry]] = []
    cleared: set[tuple[bytes, int]] = set()
    for step in steps:
        if step.commit_kind in MOVES_NO_KEY:
            continue
        for entry in facts.manifests.delta_entries(step):
            if entry.kind is FileKind.ADD:
                added.append((step.id, entry))
            else:
                # Files were removed whose keys nobody tells: what is left there now is read instead.
                cleared.add((entry.partition, entry.bucket))
    kept = tuple((i, e) for i, e in added if (e.partition, e.bucket) not in cleared)
    return _Change(kept, frozenset(cleared))


def _advance(facts: TableFacts, index: KeyIndex, target: Snapshot, change: _Change) -> None:
    def rows() -> Iterator[IndexedRows]:
        yield from _added_rows(facts, change.added)
        yield from _live_rows(facts, target, _left_in(facts, target, change.cleared))

    index.advance(
        rows(),
        change.cleared,
        snapshot_identity(target),
        # Other engines may keep a key that a row was taken back of.
        drops_retracts=facts.options.merge.engine is MergeEngine.DEDUPLICATE,
        with_age=facts.options.bucket.index_ttl_ms is not None,
    )


def _left_in(facts: TableFacts, target: Snapshot, places: frozenset[tuple[bytes, int]]) -> list[ManifestEntry]:
    if not places:
        return []
    wanted = FileFilter(partitions=frozenset(partition for partition, _ in places))
    plan = live_files(facts.manifests, target, schema=facts.schema, schemas=facts.schemas, filter=wanted)
    return [entry for entry in plan.entries if (entry.partition, entry.bucket) in places]


def _added_rows(facts: TableFacts, added: Sequence[tuple[int, ManifestEntry]]) -> Iterator[IndexedRows]:
    reader = DataFileReader(facts.store, facts.schemas, facts.schema, facts.options)
    fields = facts.schema.select(facts.schema.primary_keys)
    for snapshot_id, entry in added:
        file = entry.file
        may_retract = file.delete_row_count != 0
        wanted = (*fields, SEQUENCE_NUMBER, VALUE_KIND) if may_retract else (*fields, SEQUENCE_NUMBER)
        for batch in reader.read(entry.partition, entry.bucket, file, wanted):
            retract = pc.is_in(batch.column(VALUE_KIND.name), pa.array(_RETRACTS, pa.int8())) if may_retract else None
            yield IndexedRows(
                keys=[stored_key(batch.column(f.name)) for f in fields],
                partition=entry.partition,
                bucket=entry.bucket,
                written_ms=_newest_ms(facts, (file,)),
                snapshot=snapshot_id,
                sequence=batch.column(SEQUENCE_NUMBER.name),
                is_retract=retract,
            )

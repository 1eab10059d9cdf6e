"""Assigns dynamic buckets, and maintains the hash index that records them (format chapter 11, 1).

Java ``HashBucketAssigner`` and ``DynamicBucketIndexMaintainer``. The index of a partition is loaded from one snapshot
when its first row arrives. A bucket with new hashes gets a new file. The messages hold the fingerprint of the loaded
index, so that the commit detects buckets that another writer has assigned since then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from table_format.errors import BadEncoding, CorruptionError, MissingFile
from table_format.indexes.hash_index import hash_entries, read_hashes, write_hashes
from table_format.kernels.hash_buckets import (
    UNKNOWN,
    AssignRules,
    Buckets,
    HashBuckets,
    Hashes,
    assign,
    assigner_of,
    distinct,
)
from table_format.kernels.hashing import row_hashes
from table_format.metastore.manifest.index_entries import hash_fingerprint
from table_format.model.commit import CommitMessage
from table_format.model.manifest import HASH, IndexManifestEntry
from table_format.model.snapshot import Snapshot
from table_format.options.bucket import BucketOptions
from table_format.table.facts import TableFacts
from table_format.table.placement.routing import RoutedRows, route, split_by_bucket

CHECKED_HASHES: Final = 1 << 26
"""Upper bound of hashes read to check whether assigners can write their own rows: 256 MB, one bucket at a time."""

_ROW: Final = "__row__"


@dataclass(slots=True)
class _Partition:
    """The state of one partition. ``files`` names its index files by bucket, including those in messages."""

    files: dict[int, str]
    unread: dict[int, IndexManifestEntry]
    index: HashBuckets = field(default_factory=HashBuckets)
    modified: set[int] = field(default_factory=set)
    is_touched: bool = True


class DynamicBuckets:
    """Assigns buckets to rows, or records buckets that others have assigned; for one writer.

    ``replacing`` starts with an empty index, for an overwrite. ``is_apart`` says that each hash is in a bucket of its
    own assigner (``are_apart``); then only the buckets of the arriving hashes are loaded.
    """

    def __init__(
        self, facts: TableFacts, *, replacing: bool = False, assigners: int | None = None, is_apart: bool = False
    ) -> None:
        self._facts = facts
        self._replacing = replacing
        self._is_apart = is_apart
        self._fields = facts.schema.select(facts.schema.trimmed_primary_keys)
        self._rules = assign_rules(facts.options.bucket, assigners)
        self._live: Mapping[bytes, Mapping[int, IndexManifestEntry]] = {}
        self._partitions: dict[bytes, _Partition] = {}

    def begin(self, base: Snapshot | None, uncommitted: frozenset[bytes]) -> None:
        """Use the index of this snapshot, except in partitions with uncommitted files.

        Partitions without recent rows, and partitions that others have changed, are dropped from memory.
        """
        if self._replacing:
            return
        self._live = {} if base is None else hash_entries(self._facts.manifests.index_entries(base))
        for partition, known in list(self._partitions.items()):
            if partition in uncommitted:
                continue
            if not known.is_touched or known.files != _names(self._live.get(partition, {})):
                del self._partitions[partition]
            known.is_touched = False

    def forget(self) -> None:
        """Forget all that was loaded, assigned and recorded."""
        self._partitions.clear()

    def assign(self, piece: RoutedRows) -> Iterator[RoutedRows]:
        """The rows of a partition by bucket."""
        known = self._known(piece.partition)
        hashes = self._hashes(piece.rows)
        self._load(known, self._buckets_to_load(hashes, known.unread))
        before = dict(known.index.counts)
        buckets = assign(known.index, hashes, self._rules)
        known.modified.update(b for b, count in known.index.counts.items() if before.get(b, 0) != count)
        yield from split_by_bucket(piece, buckets)

    def choose(self, keys: pa.RecordBatch) -> Buckets:
        """Return the bucket of each row, from its partition and key columns."""
        numbered = keys.append_column(_ROW, pa.array(np.arange(keys.num_rows)))
        buckets = np.empty(keys.num_rows, np.int16)
        for piece in route(numbered, self._facts.schema, self._facts.options.bucket):
            for part in self.assign(piece):
                buckets[part.rows.column(_ROW).to_numpy()] = part.bucket
        return buckets

    def record(self, piece: RoutedRows, buckets: Buckets) -> Iterator[RoutedRows]:
        """Return the rows of a partition by their given buckets, and add their hashes to the index."""
        known = self._known(piece.partition)
        for part in split_by_bucket(piece, buckets):
            self._load(known, [part.bucket])
            hashes = distinct(self._hashes(part.rows))
            fresh = hashes[known.index.find(hashes) == UNKNOWN]
            if len(fresh):
                known.index.put(fresh, np.full(len(fresh), part.bucket, np.int16))
                known.modified.add(part.bucket)
            yield part

    def complete(self, messages: Sequence[CommitMessage]) -> Iterator[CommitMessage]:
        """Return the messages with the new index files of buckets that got hashes, and with the fingerprint of the
        index by which buckets were assigned. If the index is replaced, there is no fingerprint.
        """
        # First, because writing an index file changes the fingerprint.
        loaded = {} if self._replacing else {p: hash_fingerprint(k.files) for p, k in self._partitions.items()}
        for message in messages:
            yield self._with_index(message, loaded.get(message.partition))

    def _with_index(self, message: CommitMessage, base: bytes | None) -> CommitMessage:
        known = self._partitions.get(message.partition)
        if known is None or message.bucket not in known.modified:
            return replace(message, hash_index_base=base)
        path_of = partial(self._facts.index_path, message.partition, message.bucket)
        file = write_hashes(self._facts.store, known.index.hashes_of(message.bucket), path_of)
        known.modified.discard(message.bucket)
        known.files[message.bucket] = file.file_name
        return replace(message, new_index_files=(*message.new_index_files, file), hash_index_base=base)

    def _known(self, partition: bytes) -> _Partition:
        known = self._partitions.get(partition)
        if known is None:
            entries = self._live.get(partition, {})
            known = self._partitions[partition] = _Partition(_names(entries), dict(entries))
        known.is_touched = True
        return known

    def _buckets_to_load(self, hashes: Hashes, unread: Iterable[int]) -> list[int]:
        """Return the buckets not yet loaded that may hold one of the hashes or have room for it."""
        if not self._is_apart:
            return list(unread)
        owners = set(np.unique(assigner_of(hashes, self._rules.assigners)).tolist())
        return [bucket for bucket in unread if bucket % self._rules.assigners in owners]

    def _load(self, known: _Partition, buckets: Iterable[int]) -> None:
        entries = [known.unread.pop(bucket) for bucket in buckets if bucket in known.unread]
        if entries:
            known.index.load((entry.bucket, read_index(self._facts, entry)) for entry in entries)

    def _hashes(self, rows: pa.RecordBatch) -> Hashes:
        return row_hashes([f.type for f in self._fields], [rows.column(f.name) for f in self._fields])


def assign_rules(options: BucketOptions, assigners: int | None = None) -> AssignRules:
    """Return how new keys get buckets. A single writer fills the initial buckets in parallel."""
    limit = options.max_dynamic_buckets if options.max_dynamic_buckets > 0 else None
    assigners = assigners or options.initial_buckets or 1
    return AssignRules(
        target_rows=options.target_rows,
        max_buckets=limit,
        assigners=assigners if limit is None else min(assigners, limit),
    )


def are_apart(facts: TableFacts, base: Snapshot | None, assigners: int) -> bool:
    """Return whether each hash of each partition is in a bucket of the assigner that owns the hash.

    This then also holds for buckets that they choose later: no two assigners share a bucket. The result is false if
    there are more than ``CHECKED_HASHES`` hashes.

    Raises:
        CorruptionError: an index file is missing or damaged.
    """
    if base is None:
        return True
    entries = [e for e in facts.manifests.index_entries(base) if e.index_file.index_type == HASH]
    if sum(entry.index_file.row_count for entry in entries) > CHECKED_HASHES:
        return False
    return all(
        bool((assigner_of(read_index(facts, entry), assigners) == entry.bucket % assigners).all()) for entry in entries
    )


def read_index(facts: TableFacts, entry: IndexManifestEntry) -> Hashes:
    """Return the key hashes of a bucket, which decide the buckets of new rows.

    Raises:
        CorruptionError: the file is missing or damaged.
    """
    try:
        return read_hashes(facts.store, entry, facts.index_path)
    except MissingFile:
        raise
    except CorruptionError as error:
        # With a wrong index, a key would get a second bucket and exist twice.
        where = f"{facts.partitions.shown(entry.partition)} of {facts.name}"
        message = (
            f"the hash index of bucket {entry.bucket} in {where} is damaged ({error}). Nothing was written. Restore "
            "the file, or rebuild the index from the data files: compact the partition with order_by"
        )
        raise BadEncoding(error.path, message) from error


def _names(entries: Mapping[int, IndexManifestEntry]) -> dict[int, str]:
    return {bucket: entry.index_file.file_name for bucket, entry in entries.items()}

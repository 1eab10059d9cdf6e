"""The buckets of rows of a table with dynamic buckets, and the hash index that records them (format chapter 11, 1).

Java ``HashBucketAssigner`` and ``DynamicBucketIndexMaintainer``. The index of a partition is loaded when its first row
comes, from one snapshot; a bucket with new hashes gets a new file. The fingerprint of what was loaded goes with the
rows, so that the commit finds out when another writer has assigned buckets meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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

CHECKED_HASHES: Final = 1 << 24
"""Hashes that are read to find out whether assigners can write what they assign: 64 MB."""

_ROW: Final = "__row__"


@dataclass(slots=True)
class _Partition:
    """What is known of one partition: ``files`` names its index files by bucket, those handed over included."""

    files: dict[int, str]
    unread: dict[int, IndexManifestEntry]
    index: HashBuckets = field(default_factory=HashBuckets)
    modified: set[int] = field(default_factory=set)
    is_touched: bool = True


class DynamicBuckets:
    """Assigns buckets to rows, or records those that others have assigned; for one writer.

    ``replacing`` starts from nothing, for an overwrite. ``is_apart`` says that each hash lies in a bucket of its own
    assigner (``are_apart``): only buckets of those whose hashes come are loaded then.
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
        """Use the index of a snapshot from now on, except in partitions with files that wait for their commit.

        A partition that got no rows lately, or that others have changed, is forgotten.
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
        """The bucket of each row, of which the partition columns and the key columns are given."""
        numbered = keys.append_column(_ROW, pa.array(np.arange(keys.num_rows)))
        buckets = np.empty(keys.num_rows, np.int16)
        for piece in route(numbered, self._facts.schema, self._facts.options.bucket):
            for part in self.assign(piece):
                buckets[part.rows.column(_ROW).to_numpy()] = part.bucket
        return buckets

    def record(self, piece: RoutedRows, buckets: Buckets) -> Iterator[RoutedRows]:
        """The rows of a partition by the buckets that others have assigned, with the hashes put in the index."""
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
        """The messages with the new index file of a bucket that got hashes, and with the fingerprint of the index that
        the buckets of their rows were assigned by; without one when the index is replaced.
        """
        # Before any index file is written, which changes the fingerprint.
        loaded = {} if self._replacing else {p: hash_fingerprint(k.files) for p, k in self._partitions.items()}
        for message in messages:
            yield self._with_index(message, loaded.get(message.partition))

    def _with_index(self, message: CommitMessage, base: bytes | None) -> CommitMessage:
        known = self._partitions.get(message.partition)
        if known is None or message.bucket not in known.modified:
            return replace(message, hash_index_base=base)
        file = write_hashes(self._facts.store, known.index.hashes_of(message.bucket))
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
        """Those buckets, not loaded yet, in which one of the hashes may lie or find room."""
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
    """How new keys are given buckets; one writer alone fills the buckets to begin with side by side."""
    limit = options.max_dynamic_buckets if options.max_dynamic_buckets > 0 else None
    assigners = assigners or options.initial_buckets or 1
    return AssignRules(
        target_rows=options.target_rows,
        max_buckets=limit,
        assigners=assigners if limit is None else min(assigners, limit),
    )


def are_apart(facts: TableFacts, base: Snapshot | None, assigners: int) -> bool:
    """Whether each hash of each partition lies in a bucket of the one of so many assigners that owns it.

    What they choose later then does as well: no two of them ever meet in a bucket. More than ``CHECKED_HASHES`` are not
    looked at, and said not to.

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
    """The key hashes of a bucket, by which new rows are given their buckets.

    Raises:
        CorruptionError: the file is missing or damaged.
    """
    beside = facts.options.bucket.index_in_data_file_dir
    try:
        return read_hashes(facts.store, entry, facts.partitions.text, beside_data=beside)
    except MissingFile:
        raise
    except CorruptionError as error:
        # With a wrong index a key would be given a second bucket, and be there twice.
        where = f"{facts.partitions.shown(entry.partition)} of {facts.name}"
        message = (
            f"the hash index of bucket {entry.bucket} in {where} is damaged ({error}). Nothing was written. Restore "
            "the file, or let compact(order_by=[...]) of the partition make the index again from the data files"
        )
        raise BadEncoding(error.path, message) from error


def _names(entries: Mapping[int, IndexManifestEntry]) -> dict[int, str]:
    return {bucket: entry.index_file.file_name for bucket, entry in entries.items()}

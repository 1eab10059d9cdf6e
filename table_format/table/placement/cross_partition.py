"""Places the rows of a cross-partition table, whose keys may change their partition (format chapter 11, section 2).

Java ``crosspartition.GlobalIndexAssigner``: ``deduplicate`` deletes a key in its old partition and writes the row to
the new one, ``partial-update`` and ``aggregation`` write the row to the partition of the key, ``first-row`` drops it.
The messages hold the identity of the snapshot of the key index, so that the commit detects other commits since then.
Each names the one before it, whose keys are in the index too, so that the commit detects that it lacks one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa

from table_format.errors import InvalidData, UnsupportedFeature
from table_format.indexes.key_index import GlobalKeyIndex, IndexedRows
from table_format.indexes.local_store import LocalStoreError
from table_format.kernels.hash_buckets import assigner_of
from table_format.kernels.hashing import row_hashes
from table_format.kernels.key_moves import Arrivals, BucketCounts, WhenElsewhere, place_rows
from table_format.kernels.key_shards import WHOLE, KeyShard
from table_format.kernels.stored_keys import stored_key
from table_format.metastore.commit.key_places import snapshot_identity
from table_format.model.commit import CommitMessage
from table_format.model.snapshot import Snapshot
from table_format.options.merge import IGNORE_DELETE, MergeEngine
from table_format.table.facts import TableFacts
from table_format.table.placement.dynamic import assign_rules
from table_format.table.placement.given import Places, rows_at
from table_format.table.placement.key_index_updates import follow
from table_format.table.placement.local_key_index import open_key_index
from table_format.table.placement.routing import RoutedRows, numbered_partitions

_RULES: Final = {
    MergeEngine.DEDUPLICATE: WhenElsewhere.MOVE,
    MergeEngine.PARTIAL_UPDATE: WhenElsewhere.STAY,
    MergeEngine.AGGREGATION: WhenElsewhere.STAY,
    MergeEngine.FIRST_ROW: WhenElsewhere.DROP,
}


class CrossPartitionPlacement:
    """Gives rows their partition and bucket, for one writer or for one of several assigners. An assigner gets only
    keys of its ``shard``. ``replacing`` starts without any key, for an overwrite.
    """

    given_column: Final = None

    def __init__(self, facts: TableFacts, *, replacing: bool = False, shard: KeyShard = WHOLE) -> None:
        self._facts = facts
        self._replacing = replacing
        self._shard = shard
        self._rule = _RULES[facts.options.merge.engine]
        self._fields = facts.schema.select(facts.schema.primary_keys)
        self._rules = assign_rules(facts.options.bucket, None if shard.is_whole else shard.of)
        self._index: GlobalKeyIndex | None = None
        self._counts = BucketCounts({}, self._rules)
        self._base: str | None = None
        self._last_file: str | None = None

    def open(self) -> None:
        """Open an index for this writer alone, unless it has one.

        Raises:
            LocalStoreError: the directory for it cannot be used.
        """
        if self._index is None:
            self._index = open_key_index(self._facts, replacing=self._replacing, shard=self._shard)

    def begin(
        self,
        base: Snapshot | None,
        uncommitted: frozenset[bytes] = frozenset(),
        *,
        known: Iterator[IndexedRows] | None = None,
    ) -> None:
        """Place keys by this snapshot, unless uncommitted files were placed by an earlier one.

        ``known`` holds all keys of the shard at this snapshot, if they have been read.

        Raises:
            CorruptionError: a file of the table is missing or damaged.
            KeyPlacesChanged: the index is already at a later snapshot, in which keys have other places.
            LocalStoreError: the local index cannot be stored.
        """
        if self._replacing or (uncommitted and self._base is not None):
            return
        index = self._opened()
        index.forget_noted()
        try:
            follow(self._facts, index, base, shard=self._shard, known=known)
        except LocalStoreError:
            index.discard()
            self._index = index = open_key_index(self._facts, shard=self._shard)
            follow(self._facts, index, base, shard=self._shard)
        self._counts = BucketCounts(index.counts(), self._rules)
        self._base, self._last_file = snapshot_identity(base), None

    def forget(self) -> None:
        """Close the index, and forget the keys that were placed."""
        if self._index is not None:
            self._index.close()
        self._index, self._base, self._last_file = None, None, None
        self._counts = BucketCounts({}, self._rules)

    def complete(self, messages: Sequence[CommitMessage]) -> Iterator[CommitMessage]:
        """See ``Placement``: the commit must know by which snapshot, and after which message, the keys were placed."""
        for message in messages:
            after = () if self._last_file is None or not message.new_files else (self._last_file,)
            yield replace(message, key_places_base=self._base, key_places_after=after)
            if message.new_files and not self._replacing:
                self._last_file = message.new_files[0].file_name

    def place(self, rows: pa.RecordBatch, given: pa.Array | None = None) -> Iterator[RoutedRows]:  # noqa: ARG002
        """Return the rows to write, by partition and bucket. Rows of one bucket keep their order.

        Raises:
            InvalidInputError: without a limit, all numbers a bucket can have are in use.
            LocalStoreError: the local index failed.
        """
        if rows.num_rows:
            yield from rows_at(self._facts, rows, self.choose(rows))

    def choose(self, rows: pa.RecordBatch) -> Places:
        """Return the places of one or more rows. Only their partition and key columns are needed.

        Raises:
            InvalidData: a key is not one of the shard.
            UnsupportedFeature: a key moves to another partition, and the options ignore its delete.
            InvalidInputError: without a limit, all numbers a bucket can have are in use.
            LocalStoreError: the local index failed.
        """
        index = self._opened()
        columns = [rows.column(f.name) for f in self._fields]
        keys = [stored_key(column) for column in columns]
        codes, partitions = numbered_partitions(rows, self._facts.schema)
        wanted = np.array([index.number_of(partition) for partition in partitions], np.int64)[codes]
        known = index.find(keys)
        arrivals = Arrivals(known.key, wanted, known.partition, known.bucket)
        hashes = row_hashes([f.type for f in self._fields], columns)
        if (assigner_of(hashes, self._shard.of) != self._shard.number).any():
            names = ", ".join(self._facts.schema.primary_keys)
            message = f"the key columns {names} have another type than those of {self._facts.name}; cast them"
            raise InvalidData(message)
        placed = place_rows(arrivals, hashes, self._counts, self._rule)
        if self._facts.options.merge.ignore_delete and placed.is_retract.any():
            raise self._move_refused(rows, int(placed.rows[placed.is_retract][0]))
        index.note([key.take(placed.last) for key in keys], placed.last_partition, placed.last_bucket)
        return Places(
            rows=placed.rows,
            partition=placed.partition,
            bucket=placed.bucket,
            is_elsewhere=placed.partition != wanted[placed.rows],
            is_retract=placed.is_retract,
            named=index.partition,
        )

    def _move_refused(self, rows: pa.RecordBatch, row: int) -> UnsupportedFeature:
        """Return the error of a key that a move would leave in two partitions. Such tables are not created here."""
        schema, option = self._facts.schema, f"'{IGNORE_DELETE.key}' = true"
        key, partition = (
            {name: rows.column(name)[row].as_py() for name in names}
            for names in (schema.primary_keys, schema.partition_keys)
        )
        feature = f"the move of a key to another partition with {option}"
        message = (
            f"{self._facts.name}: key {key} moves to partition {partition}, and {option} also ignores the delete in "
            "its old partition, so that it would be in both. Nothing was written; create a table without this option, "
            "and copy the rows"
        )
        return UnsupportedFeature(feature, message)

    def _opened(self) -> GlobalKeyIndex:
        self.open()
        if self._index is None:  # open() has just created it
            raise AssertionError
        return self._index

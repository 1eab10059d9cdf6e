"""Rows of a table whose keys may change their partition, each to where it belongs (format chapter 11, section 2).

Java ``crosspartition.GlobalIndexAssigner``: ``deduplicate`` deletes a key where it lay and writes the row where it
says, ``partial-update`` and ``aggregation`` write the row where the key lies, ``first-row`` drops it. The snapshot that
told where keys lie goes with the rows, so that the commit finds out when others have written meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.indexes.key_index import KeyIndex
from table_format.indexes.local_store import LocalStoreError
from table_format.kernels.hashing import row_hashes
from table_format.kernels.key_moves import Arrivals, BucketCounts, Numbers, Placed, WhenElsewhere, place_rows
from table_format.kernels.stored_keys import stored_key
from table_format.kernels.values import array_of
from table_format.metastore.key_places import snapshot_identity
from table_format.model.row_kind import RowKind
from table_format.model.schema import VALUE_KIND
from table_format.model.snapshot import Snapshot
from table_format.options.merge import MergeEngine
from table_format.table.dynamic_buckets import assign_rules
from table_format.table.facts import TableFacts
from table_format.table.key_places import follow, open_key_index
from table_format.table.route import RoutedRows, arranged, numbered_partitions

_RULES: Final = {
    MergeEngine.DEDUPLICATE: WhenElsewhere.MOVE,
    MergeEngine.PARTIAL_UPDATE: WhenElsewhere.STAY,
    MergeEngine.AGGREGATION: WhenElsewhere.STAY,
    MergeEngine.FIRST_ROW: WhenElsewhere.DROP,
}
_BUCKET_BITS: Final = 16


class MovingKeys:
    """Gives rows their partition and bucket; for one writer. ``replacing`` starts from nothing, for an overwrite.

    ``base`` is the identity of the snapshot by which it is done.
    """

    def __init__(self, facts: TableFacts, *, replacing: bool = False) -> None:
        self._facts = facts
        self._replacing = replacing
        self._rule = _RULES[facts.options.merge.engine]
        self._fields = facts.schema.select(facts.schema.primary_keys)
        self._rules = assign_rules(facts.options.bucket)
        self._index: KeyIndex | None = None
        self._counts = BucketCounts({}, self._rules)
        self.base: str | None = None

    def open(self) -> None:
        """Take an index for this writer alone, unless it has one.

        Raises:
            LocalStoreError: the directory for it cannot be used.
        """
        if self._index is None:
            self._index = open_key_index(self._facts, replacing=self._replacing)

    def begin(self, base: Snapshot | None, *, has_work_waiting: bool) -> None:
        """Rest on a snapshot from now on, unless work waits for its commit, which rests on an earlier one.

        Raises:
            CorruptionError: a file of the table is missing or damaged.
            LocalStoreError: the local index cannot be kept.
        """
        if self._replacing or (has_work_waiting and self.base is not None):
            return
        index = self._opened()
        index.forget_noted()
        try:
            follow(self._facts, index, base)
        except LocalStoreError:
            index.discard()
            self._index = index = open_key_index(self._facts)
            follow(self._facts, index, base)
        self._counts = BucketCounts(index.counts(), self._rules)
        self.base = snapshot_identity(base)

    def forget(self) -> None:
        """Let go of the index, and of what was written."""
        if self._index is not None:
            self._index.close()
        self._index, self.base = None, None
        self._counts = BucketCounts({}, self._rules)

    def placed(self, rows: pa.RecordBatch) -> Iterator[RoutedRows]:
        """The rows to write, by partition and bucket; the order of rows of one bucket is theirs.

        Raises:
            InvalidInputError: without a limit, all numbers a bucket can have are in use.
            LocalStoreError: the local index failed.
        """
        if not rows.num_rows:
            return
        index = self._opened()
        columns = [rows.column(f.name) for f in self._fields]
        keys = [stored_key(column) for column in columns]
        codes, partitions = numbered_partitions(rows, self._facts.schema)
        wanted = np.array([index.number_of(partition) for partition in partitions], np.int64)[codes]
        known = index.find(keys)
        arrivals = Arrivals(known.key, wanted, known.partition, known.bucket)
        placed = place_rows(arrivals, row_hashes([f.type for f in self._fields], columns), self._counts, self._rule)
        last = pa.array(placed.last)
        index.note([key.take(last) for key in keys], placed.last_partition, placed.last_bucket)
        yield from self._routed(self._written(rows, wanted, placed), placed)

    def _opened(self) -> KeyIndex:
        self.open()
        if self._index is None:  # open() has just made it
            raise AssertionError
        return self._index

    def _written(self, rows: pa.RecordBatch, wanted: Numbers, placed: Placed) -> pa.RecordBatch:
        """The rows with the partitions they go to, deletes among them."""
        if len(placed.rows) != rows.num_rows or placed.is_retract.any():
            rows = rows.take(pa.array(placed.rows))
        if placed.is_retract.any():
            kinds = rows.column(VALUE_KIND.name).to_numpy()
            kinds = np.where(placed.is_retract, np.int8(RowKind.DELETE.value), kinds)
            rows = _with_column(rows, VALUE_KIND.name, pa.array(kinds))
        elsewhere = placed.partition != wanted[placed.rows]
        return self._with_partitions(rows, placed.partition) if elsewhere.any() else rows

    def _with_partitions(self, rows: pa.RecordBatch, partitions: Numbers) -> pa.RecordBatch:
        numbers, positions = np.unique(partitions, return_inverse=True)
        values = [self._facts.partitions.values(self._opened().partition(n)) for n in numbers.tolist()]
        for field, column in zip(self._facts.schema.partition_fields, zip(*values, strict=True), strict=True):
            rows = _with_column(rows, field.name, array_of(column, field.type).take(pa.array(positions)))
        return rows

    def _routed(self, rows: pa.RecordBatch, placed: Placed) -> Iterator[RoutedRows]:
        if not rows.num_rows:
            return
        places: npt.NDArray[np.int64] = placed.partition << _BUCKET_BITS | placed.bucket
        order, starts = arranged(places)
        if order is not None:
            rows, places = rows.take(pa.array(order)), places[order]
        stops = np.append(starts[1:], rows.num_rows)
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
            place = int(places[start])
            partition = self._opened().partition(place >> _BUCKET_BITS)
            yield RoutedRows(partition, place & ((1 << _BUCKET_BITS) - 1), rows.slice(start, stop - start))


def _with_column(rows: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    position = rows.schema.get_field_index(name)
    return rows.set_column(position, rows.schema.field(position), column)

"""Finds rows by the values of key columns: the join of a MERGE, with one side in memory.

The hashes of the keys are sorted once. Batches of the other side are looked up with a binary search, and rows with
equal hashes are compared by value. Null is not equal to anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_format.kernels.hashing import row_hashes
from table_format.model.types import DataType

NOT_FOUND: Final = -1
_ROW: Final = "row"

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class JoinIndex:
    """The distinct keys of rows.

    ``keys`` are their columns, ``first_rows`` the first row of each, and ``counts`` the number of rows of each.
    ``hashes`` are sorted, and ``order`` is the key of each hash.
    """

    types: tuple[DataType, ...]
    keys: tuple[pa.Array, ...]
    first_rows: Rows
    counts: Rows
    hashes: npt.NDArray[np.int32]
    order: Rows

    @classmethod
    def of(cls, types: Sequence[DataType], columns: Sequence[pa.Array]) -> JoinIndex:
        """Index rows, given as arrays of ``arrow_type`` of their types; keys with a null are left out."""
        names = [str(number) for number in range(len(columns))]
        numbers = pa.array(np.arange(len(columns[0])))
        present = pa.table([*columns, numbers], names=[*names, _ROW]).filter(_all_valid(columns))
        # Use one thread, so that the keys are in row order.
        groups = present.group_by(names, use_threads=False).aggregate([(_ROW, "min"), (_ROW, "count")])
        groups = groups.combine_chunks()
        first_rows = _one(groups.column(f"{_ROW}_min")).to_numpy()
        keys = tuple(column.take(first_rows) for column in columns)
        hashes = row_hashes(types, keys) if len(first_rows) else np.empty(0, np.int32)
        order = np.argsort(hashes, kind="stable")
        counts = _one(groups.column(f"{_ROW}_count")).to_numpy()
        return cls(tuple(types), keys, first_rows, counts, hashes[order], order)

    def find(self, columns: Sequence[pa.Array]) -> Rows:
        """Return the number of the distinct key of each row, or ``NOT_FOUND``."""
        row_count = len(columns[0])
        found = np.full(row_count, NOT_FOUND, np.int64)
        if not row_count or not len(self.hashes):
            return found
        hashes = row_hashes(self.types, columns)
        starts = np.searchsorted(self.hashes, hashes, "left")
        counts = np.searchsorted(self.hashes, hashes, "right") - starts
        counts[~_all_valid(columns).to_numpy(zero_copy_only=False)] = 0
        rows = np.repeat(np.arange(row_count), counts)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        keys = self.order[np.repeat(starts, counts) + within]
        equal = self._equal(columns, rows, keys)
        found[rows[equal]] = keys[equal]
        return found

    def _equal(self, columns: Sequence[pa.Array], rows: Rows, keys: Rows) -> npt.NDArray[np.bool_]:
        pairs = zip(columns, self.keys, strict=True)
        same = reduce(pc.and_, (pc.equal(column.take(rows), key.take(keys)) for column, key in pairs))
        equal: npt.NDArray[np.bool_] = same.to_numpy(zero_copy_only=False)
        return equal


def _all_valid(columns: Sequence[pa.Array]) -> pa.BooleanArray:
    return reduce(pc.and_, (pc.is_valid(column) for column in columns))


def _one(column: pa.ChunkedArray) -> pa.Array:
    # A column that is too large for one array is returned as several.
    found = cast("pa.Array | pa.ChunkedArray", column.combine_chunks())
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found

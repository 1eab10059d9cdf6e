"""The versions of the keys that have more than one, in merge order, and searches among them.

Positions count these versions; row ids count the rows of their batch. For most keys, the last version is the result, so
searches go backwards from it: the cost of a step depends on the number of remaining keys, not of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_format.kernels.compiled import Int64Array
from table_format.kernels.merge_order import Mask
from table_format.model.row_kind import RowKind
from table_format.model.schema import VALUE_KIND

_MAX_STEPS: Final = 16
"""The number of steps back before the remaining rows are searched at once, for keys with very many versions."""


@dataclass(frozen=True)
class Versions:
    """Versions in merge order: ``order`` are row ids by key, oldest first; ``starts`` are the positions of the keys."""

    rows: pa.RecordBatch
    order: Int64Array
    starts: Int64Array

    @cached_property
    def ends(self) -> Int64Array:
        """The position of the last version of each key."""
        return np.append(self.starts[1:], self.order.size) - 1

    @cached_property
    def key_of(self) -> Int64Array:
        """The number of the key, by position."""
        return np.repeat(np.arange(self.starts.size), self.ends - self.starts + 1)

    @cached_property
    def kinds(self) -> npt.NDArray[np.int8] | None:
        """The row kinds by position; ``None`` if every version adds."""
        kinds = self.stored_kinds(None)
        return kinds if (kinds & 1).any() else None

    @cached_property
    def is_retract(self) -> Mask:
        """A mask of the versions that are -U or -D, by position."""
        return np.zeros(self.order.size, dtype=bool) if self.kinds is None else (self.kinds & 1).astype(bool)

    @cached_property
    def is_delete(self) -> Mask:
        """A mask of the versions that are -D, by position."""
        if self.kinds is None:
            return np.zeros(self.order.size, dtype=bool)
        return np.asarray(self.kinds == RowKind.DELETE.value)

    @cached_property
    def has_add(self) -> Mask:
        """A mask of the keys that have a version that adds."""
        if self.kinds is None:
            return np.ones(self.starts.size, dtype=bool)
        return np.logical_or.reduceat(~self.is_retract, self.starts)

    def stored_kinds(self, positions: Int64Array | None) -> npt.NDArray[np.int8]:
        """Return the stored kinds; without the column, which readers omit if there are no retracts, all are +I."""
        at = self.rows.schema.get_field_index(VALUE_KIND.name)
        rows = self.order if positions is None else self.order[positions]
        if at < 0:
            return np.full(rows.size, RowKind.INSERT.value, dtype=np.int8)
        kinds: npt.NDArray[np.int8] = self.rows.column(at).to_numpy()[rows]
        return kinds

    def valid(self, name: str) -> Mask | None:
        """Return a mask of the non-null rows of the batch, by row id; ``None`` if all rows have a value."""
        column = self.rows.column(self.rows.schema.get_field_index(name))
        return pc.is_valid(column).to_numpy(zero_copy_only=False) if column.null_count else None

    def result_kinds(self, removed: Mask) -> npt.NDArray[np.int8]:
        """Return -D for removed keys, and +I for the others."""
        return np.where(removed, RowKind.DELETE.value, RowKind.INSERT.value).astype(np.int8)

    def values(self, name: str) -> pa.Array:
        """Return a column in merge order."""
        return self.rows.column(self.rows.schema.get_field_index(name)).take(self.order)

    def row_ids(self, positions: Int64Array) -> Int64Array:
        """Return the row ids of positions; -1 stays -1."""
        return np.where(positions < 0, -1, self.order[positions])

    def last_where(self, mask: Mask, floor: Int64Array) -> Int64Array:
        """Return, for each key, the last marked position above ``floor``, or -1; marks are by position."""
        return _search_back(mask, None, self.ends, floor)

    def last_row_where(self, mask: Mask, floor: Int64Array) -> Int64Array:
        """Return the same as ``last_where`` with marks by row id."""
        return _search_back(mask, self.order, self.ends, floor)


def _search_back(mask: Mask, order: Int64Array | None, ends: Int64Array, floor: Int64Array) -> Int64Array:
    hits = mask[ends if order is None else order[ends]]
    inside = ends > floor
    if not inside.all():
        hits &= inside
    found = np.where(hits, ends, -1)
    keys = np.flatnonzero(~hits)
    at, low = ends[keys] - 1, floor[keys]
    for _ in range(_MAX_STEPS):
        inside = at > low
        if not inside.all():
            keys, at, low = keys[inside], at[inside], low[inside]
        if keys.size == 0:
            return found
        is_found = mask[at if order is None else order[at]]
        found[keys[is_found]] = at[is_found]
        is_left = ~is_found
        keys, at, low = keys[is_left], at[is_left] - 1, low[is_left]
    lengths = np.maximum(at - low, 0)
    inside = lengths > 0
    keys, low, lengths = keys[inside], low[inside], lengths[inside]
    if keys.size == 0:
        return found
    begins = np.cumsum(lengths) - lengths
    positions = np.arange(int(lengths.sum())) + np.repeat(low + 1 - begins, lengths)
    hits = mask[positions if order is None else order[positions]]
    found[keys] = np.maximum.reduceat(np.where(hits, positions, -1), begins)
    return found

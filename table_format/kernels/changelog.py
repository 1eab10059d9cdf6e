"""What a merge changes: each step of a compaction gives its rows, and -D, -U, +U and +I against what was there before.

Format chapter 07, section 6; Java ``FullChangelogMergeFunctionWrapper``, ``LookupChangelogMergeFunctionWrapper``. What
was there before is the version on the highest level for a full compaction, and for a compaction by lookup the version
on the lowest level above 0. Rows have the column ``_LEVEL``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.kernels.compiled import Int64Array
from table_format.kernels.difference import equal_values
from table_format.kernels.engines import combine
from table_format.kernels.merge import LEVEL, MergeSpec, grouped
from table_format.kernels.merge_order import Mask, RowIds
from table_format.kernels.merge_slices import last_versions
from table_format.model.arrow_calls import concat_batches
from table_format.model.row_kind import RowKind
from table_format.model.schema import VALUE_KIND

_NO_LEVEL = np.iinfo(np.int8).max


@dataclass(frozen=True, slots=True)
class Grouped:
    """The versions of all keys of a step, in merge order: by key, oldest version first."""

    rows: pa.RecordBatch
    order: RowIds
    starts: Int64Array
    levels: npt.NDArray[np.int8]

    @classmethod
    def of(cls, parts: Sequence[pa.RecordBatch], spec: MergeSpec) -> Grouped:
        """The versions that lie in the parts, one of each run, oldest first."""
        order, starts = grouped(parts, spec)
        rows = concat_batches(parts)
        return cls(rows, order, starts, rows.column(rows.schema.get_field_index(LEVEL)).to_numpy()[order])

    def spread(self, of_key: npt.NDArray[np.bool_]) -> Mask:
        """For each version what holds for its key."""
        return np.repeat(of_key, np.diff(np.append(self.starts, self.order.size)))

    def any_of_key(self, of_version: Mask) -> npt.NDArray[np.bool_]:
        """For each key whether it holds for one of its versions."""
        found: npt.NDArray[np.bool_] = np.logical_or.reduceat(of_version, self.starts)
        return found

    def lowest_above_0(self) -> Mask:
        """The version of each key on its lowest level above 0, if there is one."""
        levels = np.where(self.levels > 0, self.levels, _NO_LEVEL)
        found: Mask = (self.levels > 0) & (levels == self._repeated(np.minimum.reduceat(levels, self.starts)))
        return found

    def take(self, versions: Mask) -> pa.RecordBatch:
        """These versions."""
        return self.rows.take(self.order[versions])

    def _repeated(self, of_key: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
        return np.repeat(of_key, np.diff(np.append(self.starts, self.order.size)))


@dataclass(frozen=True, slots=True)
class Merged:
    """The rows of a step, one for each key, retracts included.

    ``before`` and ``after`` are the rows of the keys with a new version, without and with that version.
    """

    rows: pa.RecordBatch
    before: pa.RecordBatch
    after: pa.RecordBatch


def merge_onto(versions: Grouped, before: Mask, has_new_version: npt.NDArray[np.bool_], spec: MergeSpec) -> Merged:
    """Merge the versions of the keys with a new version; every other key is as it was ``before``.

    ``before`` marks one version of a key at most. With ``spec.lowest_level_only`` other versions above level 0 are
    outdated.
    """
    updated = versions.spread(has_new_version)
    current = (versions.levels == 0) | before if spec.lowest_level_only else np.ones(updated.size, np.bool_)
    after = _merged(versions, updated & current, spec)
    unchanged = versions.take(before & ~updated)
    if unchanged.num_rows == 0:
        rows = after
    elif after.num_rows == 0:
        rows = unchanged
    else:
        order, _ = grouped([unchanged, after], _by_key(spec))
        rows = concat_batches([unchanged, after]).take(order)
    return Merged(rows, versions.take(before & updated), after)


def _merged(versions: Grouped, chosen: Mask, spec: MergeSpec) -> pa.RecordBatch:
    order = versions.order[chosen]
    if order.size == 0:
        return versions.rows.slice(0, 0)
    sizes = np.add.reduceat(chosen, versions.starts, dtype=np.int64)
    starts = np.append(0, np.cumsum(sizes[sizes > 0])[:-1])
    if spec.engine is not None:
        return combine(versions.rows, starts, spec.engine, order=order)
    repeats = np.ones(order.size, np.bool_)
    repeats[starts] = False
    return versions.rows.take(last_versions(order, repeats, [versions.rows], spec))


def changes(merged: Merged, spec: MergeSpec, *, compared: Collection[str] | None = None) -> pa.RecordBatch:
    """The changes of a step in key order, -U directly before +U.

    An update that changes none of the columns ``compared`` is left out; without them none is.

    >>> def rows(*pairs):
    ...     kinds = pa.array([0] * len(pairs), pa.int8())
    ...     return pa.record_batch({"k": [k for k, _ in pairs], "v": [v for _, v in pairs], "_VALUE_KIND": kinds})
    >>> merged = Merged(rows(), rows((1, "a"), (2, "b")), rows((2, "c"), (3, "d")))
    >>> spec = MergeSpec(("k",), by_sequence_number=False)
    >>> [tuple(row.values()) for row in changes(merged, spec).to_pylist()]
    [(1, 'a', 3), (2, 'b', 1), (2, 'c', 2), (3, 'd', 0)]
    """
    before, after = _adds(merged.before), _adds(merged.after)
    if before.num_rows == 0:
        return _of_kind(after, np.full(after.num_rows, RowKind.INSERT.value, np.int8))
    if after.num_rows == 0:
        return _of_kind(before, np.full(before.num_rows, RowKind.DELETE.value, np.int8))
    order, starts = grouped([before, after], _by_key(spec))
    rows = concat_batches([before, after])
    kinds = np.full(rows.num_rows, RowKind.DELETE.value, np.int8)
    kinds[before.num_rows :] = RowKind.INSERT.value
    updated = starts[np.diff(np.append(starts, order.size)) == 2]
    old, new = order[updated], order[updated + 1]
    kinds[old], kinds[new] = RowKind.UPDATE_BEFORE.value, RowKind.UPDATE_AFTER.value
    wanted = np.ones(rows.num_rows, np.bool_)
    if compared is not None:
        same = _same_rows(rows, old, new, compared)
        wanted[old[same]] = wanted[new[same]] = False
    return _of_kind(rows, kinds).take(order[wanted[order]])


def _same_rows(rows: pa.RecordBatch, old: RowIds, new: RowIds, compared: Collection[str]) -> npt.NDArray[np.bool_]:
    before, after = rows.take(old), rows.take(new)
    same = np.ones(old.size, np.bool_)
    for name in compared:
        same &= equal_values(before.column(name), after.column(name))
    return same


def _adds(rows: pa.RecordBatch) -> pa.RecordBatch:
    kinds = rows.column(VALUE_KIND.name).to_numpy()
    return rows if not (kinds % 2).any() else rows.filter(pa.array(kinds % 2 == 0))


def _of_kind(rows: pa.RecordBatch, kinds: npt.NDArray[np.int8]) -> pa.RecordBatch:
    at = rows.schema.get_field_index(VALUE_KIND.name)
    return rows.set_column(at, rows.schema.field(at), pa.array(kinds))


def _by_key(spec: MergeSpec) -> MergeSpec:
    return MergeSpec(spec.key_columns, by_sequence_number=False)

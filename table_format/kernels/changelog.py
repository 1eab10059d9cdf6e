"""Computes the rows and the changes (-D, -U, +U, +I) of each merge step of a compaction.

Format chapter 07, section 6; Java ``FullChangelogMergeFunctionWrapper``, ``LookupChangelogMergeFunctionWrapper``. The
previous row is the version on the highest level for a full compaction, and for a compaction by lookup the version on
the lowest level above 0. Rows have the column ``_LEVEL``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

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

_NO_LEVEL = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Grouped:
    """The versions of all keys of a step, in merge order: by key, oldest version first.

    ``parts`` are the versions, one part from each run; ``order`` counts over all parts.
    """

    parts: tuple[pa.RecordBatch, ...]
    order: RowIds
    starts: Int64Array
    levels: npt.NDArray[np.int8]

    @classmethod
    def of(cls, parts: Sequence[pa.RecordBatch], spec: MergeSpec) -> Grouped:
        """Group the versions in parts, one from each run, oldest first."""
        order, starts = grouped(parts, spec)
        levels = [part.column(part.schema.get_field_index(LEVEL)).to_numpy() for part in parts]
        return cls(tuple(parts), order, starts, np.concatenate(levels)[order])

    @cached_property
    def rows(self) -> pa.RecordBatch:
        """The parts as one batch; several parts are copied."""
        return concat_batches(self.parts)

    def spread(self, of_key: npt.NDArray[np.bool_]) -> Mask:
        """Return, for each version, the flag of its key."""
        return np.repeat(of_key, np.diff(np.append(self.starts, self.order.size)))

    def any_of_key(self, of_version: Mask) -> npt.NDArray[np.bool_]:
        """Return, for each key, whether the flag is set for one of its versions."""
        found: npt.NDArray[np.bool_] = np.logical_or.reduceat(of_version, self.starts)
        return found

    def lowest_above_0(self) -> Mask:
        """Return a mask of the version of each key on its lowest level above 0, if there is one."""
        levels = np.where(self.levels > 0, self.levels, _NO_LEVEL)
        found: Mask = (self.levels > 0) & (levels == self._repeated(np.minimum.reduceat(levels, self.starts)))
        return found

    def take(self, versions: Mask) -> pa.RecordBatch:
        """Return these versions."""
        return self.rows_at(self.order[versions])

    def rows_at(self, ids: RowIds) -> pa.RecordBatch:
        """Return the versions with these row ids, which are in key order."""
        # A single part is already in this order.
        return self.parts[0] if self._is_whole(ids) else self.rows.take(ids)

    def keys(self, wanted: npt.NDArray[np.bool_], columns: Sequence[str]) -> pa.RecordBatch:
        """Return the key columns of the keys that a mask selects."""
        keys = [part.select(list(columns)) for part in self.parts]
        ids = self.order[self.starts[wanted]]
        return keys[0] if self._is_whole(ids) else concat_batches(keys).take(ids)

    def keys_of(self, ids: RowIds) -> Int64Array:
        """Return the number of the key of each of these row ids; keys are numbered in key order."""
        numbers = np.empty(self.order.size, np.int64)
        numbers[self.order] = np.repeat(np.arange(self.starts.size), np.diff(np.append(self.starts, self.order.size)))
        found: Int64Array = numbers[ids]
        return found

    def adds_among(self, ids: RowIds) -> RowIds:
        """Return the row ids without those of retracts."""
        kinds = np.concatenate([part.column(VALUE_KIND.name).to_numpy() for part in self.parts])
        found: RowIds = ids[kinds[ids] % 2 == 0]
        return found

    def _is_whole(self, ids: RowIds) -> bool:
        return len(self.parts) == 1 and ids.size == self.parts[0].num_rows

    def _repeated(self, of_key: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
        return np.repeat(of_key, np.diff(np.append(self.starts, self.order.size)))


@dataclass(frozen=True)
class Merged:
    """The result of merging the versions of a step. Rows are assembled when they are needed.

    ``before`` marks at most one version of a key, ``updated`` the versions of the keys with a new version. With
    ``single_versions``, the engine also computes the row of a key with one version.
    """

    versions: Grouped
    is_before: Mask
    is_updated: Mask
    spec: MergeSpec
    single_versions: bool = False

    @cached_property
    def rows(self) -> pa.RecordBatch:
        """The rows of the step, one for each key, retracts included."""
        unchanged = self.is_before & ~self.is_updated
        if not unchanged.any():
            return self.after
        if self.spec.engine is None:
            return self.versions.rows_at(self._last_of((self.is_updated & self._is_current) | unchanged))
        kept = self._combined(unchanged) if self.single_versions else self.versions.take(unchanged)
        if self.after.num_rows == 0:
            return kept
        order, _ = grouped([kept, self.after], _by_key(self.spec))
        return concat_batches([kept, self.after]).take(order)

    @cached_property
    def before(self) -> pa.RecordBatch:
        """The rows of the keys with a new version, without that version."""
        return self.versions.rows_at(self.ids_before)

    @property
    def ids_before(self) -> RowIds:
        """The row ids of ``before``."""
        return self.versions.order[self.is_before & self.is_updated]

    @cached_property
    def after(self) -> pa.RecordBatch:
        """The rows of the keys with a new version, with that version."""
        chosen = self.is_updated & self._is_current
        if not chosen.any():
            return self.versions.parts[0].slice(0, 0)
        if self.spec.engine is None:
            return self.versions.rows_at(self.ids_after)
        return self._combined(chosen)

    def _combined(self, chosen: Mask) -> pa.RecordBatch:
        """Return the row that the engine computes for each key from the chosen versions."""
        assert self.spec.engine is not None  # noqa: S101 - required by the callers
        order, repeats = self._chosen(chosen)
        starts = np.flatnonzero(~repeats)
        engine = self.spec.engine
        return combine(self.versions.rows, starts, engine, order=order, single_versions=self.single_versions)

    @property
    def ids_after(self) -> RowIds:
        """The row ids of ``after``, if no engine computes new rows."""
        chosen = self.is_updated & self._is_current
        return self._last_of(chosen) if chosen.any() else self.versions.order[:0]

    @property
    def _is_current(self) -> Mask:
        """The versions that are not outdated."""
        levels = self.versions.levels
        if not self.spec.lowest_level_only:
            return np.ones(levels.size, np.bool_)
        current: Mask = (levels == 0) | self.is_before
        return current

    def _last_of(self, chosen: Mask) -> RowIds:
        """Return the winning version of each key among the chosen ones."""
        return last_versions(*self._chosen(chosen), self.versions.parts, self.spec)

    def _chosen(self, chosen: Mask) -> tuple[RowIds, Mask]:
        """Return the chosen versions in merge order, and a mask of those with the same key as the previous one."""
        sizes = np.add.reduceat(chosen, self.versions.starts, dtype=np.int64)
        sizes = sizes[sizes > 0]
        order = self.versions.order[chosen]
        repeats = np.ones(order.size, np.bool_)
        repeats[np.cumsum(sizes) - sizes] = False
        return order, repeats


def merge_onto(
    versions: Grouped,
    before: Mask,
    has_new_version: npt.NDArray[np.bool_],
    spec: MergeSpec,
    *,
    single_versions: bool = False,
) -> Merged:
    """Merge the versions of the keys with a new version; other keys keep their previous version.

    ``before`` marks the previous version: at most one for each key. With ``spec.lowest_level_only`` other versions
    above level 0 are outdated. With ``single_versions`` the engine computes every row, also from a single version.
    """
    return Merged(versions, before, versions.spread(has_new_version), spec, single_versions)


def changes(merged: Merged, spec: MergeSpec, *, compared: Collection[str] | None = None) -> pa.RecordBatch:
    """Return the changes of a step in key order, -U directly before +U.

    An update that changes none of the columns ``compared`` is left out; if ``compared`` is ``None``, all updates are
    returned.

    >>> def rows(level, *rows):
    ...     keys, values, kinds = zip(*rows)
    ...     levels, kinds = pa.array([level] * len(rows)), pa.array(kinds, pa.int8())
    ...     return pa.record_batch({"k": keys, "v": values, "_VALUE_KIND": kinds, "_LEVEL": levels})
    >>> spec = MergeSpec(("k",), by_sequence_number=False)
    >>> versions = Grouped.of([rows(5, (1, "a", 0), (2, "b", 0)), rows(0, (1, "a", 3), (2, "c", 0), (3, "d", 0))], spec)
    >>> before = versions.levels == 5
    >>> merged = merge_onto(versions, before, versions.any_of_key(~before), spec)
    >>> [tuple(row.values())[:3] for row in changes(merged, spec).to_pylist()]
    [(1, 'a', 3), (2, 'b', 1), (2, 'c', 2), (3, 'd', 0)]
    """
    if merged.spec.engine is not None:
        return _changes_of_rows(adds(merged.before), adds(merged.after), spec, compared)
    versions = merged.versions
    before, after = versions.adds_among(merged.ids_before), versions.adds_among(merged.ids_after)
    if before.size == 0:
        return _of_kind(versions.rows_at(after), np.full(after.size, RowKind.INSERT.value, np.int8))
    if after.size == 0:
        return _of_kind(versions.rows_at(before), np.full(before.size, RowKind.DELETE.value, np.int8))
    ids = np.concatenate([before, after])
    keys = versions.keys_of(ids)
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    kinds, wanted = _pairs(versions.rows, ids, order, starts, before.size, compared)
    return _of_kind(versions.rows.take(ids[order[wanted]]), kinds[order[wanted]])


def _changes_of_rows(
    before: pa.RecordBatch, after: pa.RecordBatch, spec: MergeSpec, compared: Collection[str] | None
) -> pa.RecordBatch:
    """Return the changes between rows that are not versions, because an engine computed them."""
    if before.num_rows == 0:
        return _of_kind(after, np.full(after.num_rows, RowKind.INSERT.value, np.int8))
    if after.num_rows == 0:
        return _of_kind(before, np.full(before.num_rows, RowKind.DELETE.value, np.int8))
    order, starts = grouped([before, after], _by_key(spec))
    rows = concat_batches([before, after])
    kinds, wanted = _pairs(rows, np.arange(rows.num_rows), order, starts, before.num_rows, compared)
    return _of_kind(rows, kinds).take(order[wanted])


def _pairs(
    rows: pa.RecordBatch,
    ids: RowIds,
    order: RowIds,
    starts: RowIds,
    count_before: int,
    compared: Collection[str] | None,
) -> tuple[npt.NDArray[np.int8], Mask]:
    """Return the kind of each of the rows ``ids``, and which of them, in the given order, are changes.

    The first ``count_before`` are previous rows. ``starts`` are the starts of the keys in the order.
    """
    kinds = np.full(ids.size, RowKind.DELETE.value, np.int8)
    kinds[count_before:] = RowKind.INSERT.value
    updated = starts[np.diff(np.append(starts, order.size)) == 2]
    old, new = order[updated], order[updated + 1]
    kinds[old], kinds[new] = RowKind.UPDATE_BEFORE.value, RowKind.UPDATE_AFTER.value
    wanted = np.ones(order.size, np.bool_)
    if compared is not None:
        same = updated[_same_rows(rows, ids[old], ids[new], compared)]
        wanted[same] = wanted[same + 1] = False
    return kinds, wanted


def _same_rows(rows: pa.RecordBatch, old: RowIds, new: RowIds, compared: Collection[str]) -> npt.NDArray[np.bool_]:
    values = rows.select(list(compared))
    before, after = values.take(old), values.take(new)
    same = np.ones(old.size, np.bool_)
    for name in compared:
        same &= equal_values(before.column(name), after.column(name))
    return same


def adds(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows without retracts; rows are copied only if there are retracts."""
    kinds = rows.column(VALUE_KIND.name).to_numpy()
    return rows if not (kinds % 2).any() else rows.filter(pa.array(kinds % 2 == 0))


def _of_kind(rows: pa.RecordBatch, kinds: npt.NDArray[np.int8]) -> pa.RecordBatch:
    at = rows.schema.get_field_index(VALUE_KIND.name)
    return rows.set_column(at, rows.schema.field(at), pa.array(kinds))


def _by_key(spec: MergeSpec) -> MergeSpec:
    return MergeSpec(spec.key_columns, by_sequence_number=False)

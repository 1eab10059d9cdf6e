"""Combines all versions of each key into one row.

A single version usually does not change. Java ``ReducerMergeFunctionWrapper``: the merge function is not called for it
(format chapter 12, section 1). Most keys of a read have one version, so engines process only the others. A compaction
by lookup is the exception: Java ``LookupMergeFunction`` calls the merge function for every key.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from table_format.kernels.compiled import Int64Array
from table_format.kernels.engines.aggregation import aggregation
from table_format.kernels.engines.first_row import first_row
from table_format.kernels.engines.outcome import Outcome, Source
from table_format.kernels.engines.partial_update import partial_update
from table_format.kernels.engines.spec import Aggregation, Engine, FirstRow, PartialUpdate
from table_format.kernels.engines.versions import Versions
from table_format.kernels.merge_order import Mask, RowIds
from table_format.model.schema import VALUE_KIND


def combine(
    rows: pa.RecordBatch,
    starts: Int64Array,
    engine: Engine,
    *,
    order: RowIds | None = None,
    single_versions: bool = False,
) -> pa.RecordBatch:
    """Merge the versions of each key into one row, in the order of the keys.

    ``order`` are the row ids in merge order (by key, oldest version first), and ``starts`` the starts of the keys in
    it. Without ``order`` the rows are already in merge order. With ``single_versions``, keys with one version are
    merged too.

    >>> from table_format.kernels.engines.spec import PartialUpdate
    >>> rows = pa.record_batch({"k": [1, 1, 2], "a": [7, None, 8], "b": [None, 5, None]})
    >>> combine(rows, np.array([0, 2]), PartialUpdate()).to_pylist()
    [{'k': 1, 'a': 7, 'b': 5}, {'k': 2, 'a': 8, 'b': None}]

    Raises:
        RetractNotSupported: the engine, or the function of a column, does not support a retract.
        InvalidData: a NOT NULL column would be null.
    """
    ids = np.arange(rows.num_rows) if order is None else order
    sizes = np.diff(np.append(starts, ids.size))
    is_alone = sizes == 1
    if single_versions:
        is_alone &= _stays_alone(rows, ids[starts], engine)
    if is_alone.all():
        return rows if order is None else rows.take(ids)
    alone = ids[starts[is_alone]]
    several = ids[np.repeat(~is_alone, sizes)]
    first_of_several = np.append(0, np.cumsum(sizes[~is_alone])[:-1])
    versions = Versions(rows, several, first_of_several)
    outcome = _engine(engine)(versions)
    splice = _Splice(rows, alone, is_alone, outcome)
    columns = [splice.column(name) for name in rows.schema.names]
    merged = pa.RecordBatch.from_arrays(columns, schema=rows.schema)
    return merged if outcome.kept is None else merged.filter(pa.array(splice.kept()))


def _stays_alone(rows: pa.RecordBatch, ids: RowIds, engine: Engine) -> Mask:
    """Return for each of these rows whether the engine would not change it if it were the only version of its key."""
    match engine:
        case Aggregation():
            kinds = rows.column(rows.schema.get_field_index(VALUE_KIND.name)).to_numpy()[ids]
            return np.asarray((kinds % 2 == 0) & engine.keeps_single_adds)
        case PartialUpdate():
            return np.full(ids.size, not engine.groups)
        case _:
            return np.ones(ids.size, dtype=bool)


def _engine(engine: Engine) -> Callable[[Versions], Outcome]:
    match engine:
        case FirstRow():
            return lambda versions: first_row(versions, engine)
        case Aggregation():
            return lambda versions: aggregation(versions, engine)
        case _:
            return lambda versions: partial_update(versions, engine)


class _Splice:
    """Combines the rows of keys with one version and the results of the others, in key order."""

    def __init__(self, rows: pa.RecordBatch, alone: RowIds, is_alone: Mask, outcome: Outcome) -> None:
        self._rows = rows
        self._alone = alone
        self._outcome = outcome
        self._count = is_alone.size
        self._alone_at = np.flatnonzero(is_alone)
        self._several_at = np.flatnonzero(~is_alone)
        self._ids_by_source: dict[int, pa.Array] = {}

    def column(self, name: str) -> pa.Array:
        column = self._rows.column(self._rows.schema.get_field_index(name))
        if name == VALUE_KIND.name:
            return self._values(column, pa.array(self._outcome.kinds, column.type))
        source: Source = self._outcome.columns.get(name, self._outcome.last)
        return self._values(column, source) if isinstance(source, pa.Array) else column.take(self._ids(source))

    def kept(self) -> Mask:
        kept = np.ones(self._count, dtype=bool)
        kept[self._several_at] = self._outcome.kept
        return kept

    def _ids(self, source: Int64Array) -> pa.Array:
        # Most columns have the same source as another one. The outcome keeps all sources alive, so ``id`` is unique.
        found = self._ids_by_source.get(id(source))
        if found is None:
            ids = np.empty(self._count, dtype=np.int64)
            ids[self._alone_at] = self._alone
            ids[self._several_at] = source
            found = pa.array(ids, mask=ids < 0) if source.size and int(source.min()) < 0 else pa.array(ids)
            self._ids_by_source[id(source)] = found
        return found

    def _values(self, column: pa.Array, of_several: pa.Array) -> pa.Array:
        if self._alone.size == 0:
            return of_several
        both = pa.concat_arrays([column.take(self._alone), of_several])
        at = np.empty(self._count, dtype=np.int64)
        at[self._alone_at] = np.arange(self._alone_at.size)
        at[self._several_at] = np.arange(self._alone_at.size, self._count)
        return both.take(at)

"""Folds the versions of each key into one value (Java ``FieldAggregator`` and ``FieldIgnoreRetractAgg``)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.errors import InvalidData, RetractNotSupported
from table_format.kernels.aggregates.check import function_of
from table_format.kernels.aggregates.functions import FUNCTIONS
from table_format.kernels.aggregates.segments import Segments
from table_format.kernels.aggregates.spec import Action, AggregateSpec


def fold(
    spec: AggregateSpec, values: pa.Array, starts: npt.NDArray[np.int64], actions: npt.NDArray[np.int8]
) -> pa.Array:
    """Return one value for each group, of the type of ``values``; accumulators are initially null.

    Rows of one group are adjacent and in merge order. Group ``g`` begins at row ``starts[g]``; ``starts[0]`` is 0.

    >>> from table_format.model.types import DataField, IntType
    >>> spec = AggregateSpec("sum", DataField(1, "sales", IntType()))
    >>> rows = pa.array([1, None, 5, 2, 7], pa.int32())
    >>> actions = np.array([Action.AGG, Action.AGG, Action.AGG, Action.RETRACT, Action.AGG], np.int8)
    >>> fold(spec, rows, np.array([0, 4]), actions).to_pylist()
    [4, 7]

    Raises:
        RetractNotSupported: there is a retract row, and the function cannot retract.
        InvalidData: a value is invalid for the function.
        InvalidOption: the function does not exist or does not accept the column.
    """
    function = function_of(spec)
    segments = Segments(values, np.asarray(starts, np.int64), np.asarray(actions, np.int8))
    _check_shape(segments)
    if not segments.count:
        return values.slice(0, 0)
    retracts = segments.is_action(Action.RETRACT)
    if retracts.any():
        if spec.ignore_retract:
            segments = segments.with_actions(np.where(retracts, np.int8(Action.SKIP), segments.actions))
        elif not function.retracts:
            raise _cannot_retract(spec)
    if not function.sees_resets:
        segments = _cut_at_resets(segments)
    return function.fold(spec, segments)


def initial_values(spec: AggregateSpec, values: pa.Array) -> pa.Array:
    """Return the values that a writer stores for these inputs before any merge: counts for ``count``, otherwise the
    inputs.

    Counts can be added, whatever was merged before. Values to be counted cannot, once some of them are counts.

    >>> from table_format.model.types import BigIntType, DataField
    >>> spec = AggregateSpec("count", DataField(1, "visits", BigIntType()), partial_counts=True)
    >>> initial_values(spec, pa.array([70, None])).to_pylist()
    [1, 0]
    """
    function = FUNCTIONS.get(spec.function)
    if function is None or function.initial is None or not spec.partial_counts:
        return values
    return function.initial(values)


def _cut_at_resets(segments: Segments) -> Segments:
    """Skip the rows before the last reset of each group; the reset is then an ordinary input."""
    resets = segments.is_action(Action.RESET)
    if not resets.any():
        return segments
    rows = np.flatnonzero(resets)
    last = np.zeros(segments.count, np.int64)
    last[segments.groups[rows]] = rows
    before = np.arange(len(resets)) < last[segments.groups]
    actions = np.where(resets, np.int8(Action.AGG), segments.actions)
    return segments.with_actions(np.where(before, np.int8(Action.SKIP), actions))


def _check_shape(segments: Segments) -> None:
    rows, starts = len(segments.values), segments.starts
    ascends = bool((np.diff(starts) > 0).all()) and (starts[0] == 0 and starts[-1] < rows if len(starts) else rows == 0)
    if len(segments.actions) != rows or not ascends:
        message = f"expected groups that cover {rows} rows with an action each, found {len(segments.actions)} actions"
        raise InvalidData(message)


def _cannot_retract(spec: AggregateSpec) -> RetractNotSupported:
    name = spec.field.name
    return RetractNotSupported(
        f"column '{name}': aggregate function '{spec.function}' cannot retract a -U or -D row; write no such "
        f"rows, or set 'fields.{name}.ignore-retract' = 'true' to let the column ignore them"
    )

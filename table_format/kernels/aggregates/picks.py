"""``last_value``, ``last_non_null_value``, ``first_value``, ``first_non_null_value``: the value of one row.

All four only choose a row, so they support every type (Java ``FieldLastValueAgg`` and the three similar classes).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa

from table_format.kernels.aggregates.buffers import Ints, Mask, take_or_null, validity
from table_format.kernels.aggregates.function import ANY, AggregateFunction
from table_format.kernels.aggregates.segments import Segments, Selection, piecewise, take_rows
from table_format.kernels.aggregates.spec import Action, AggregateSpec

_NOTHING = -1
"""The row of a null accumulator."""


def fold_last_value(_: AggregateSpec, segments: Segments) -> pa.Array:
    """Return the newest input, which may be null; after a retraction, null. Late older values have no effect."""
    chosen = segments.select(segments.is_action(Action.AGG, Action.RESET, Action.RETRACT))
    return _last(segments, chosen)


def fold_last_non_null_value(_: AggregateSpec, segments: Segments) -> pa.Array:
    """Return the newest non-null input; after a retraction of a non-null value, null."""
    return piecewise(
        segments,
        segments.any_of(segments.is_action(Action.REVERSED)),
        _last_non_null,
        lambda s: _choose_exactly(s, _last_non_null_row),
    )


def fold_first_value(_: AggregateSpec, segments: Segments) -> pa.Array:
    """Return the oldest input, which may be null."""
    return piecewise(
        segments,
        segments.any_of(segments.is_action(Action.REVERSED, Action.RESET)),
        lambda s: _first(s, s.is_action(Action.AGG)),
        lambda s: _choose_exactly(s, _first_row),
    )


def fold_first_non_null_value(_: AggregateSpec, segments: Segments) -> pa.Array:
    """Return the oldest non-null input."""
    return piecewise(
        segments,
        segments.any_of(segments.is_action(Action.REVERSED, Action.RESET)),
        lambda s: _first(s, s.is_action(Action.AGG) & validity(s.values)),
        lambda s: _choose_exactly(s, _first_non_null_row),
    )


def _first(segments: Segments, mask: Mask) -> pa.Array:
    chosen = segments.select(mask)
    return take_rows(segments, chosen, chosen.rows[chosen.starts])


def _last_non_null(segments: Segments) -> pa.Array:
    counts = segments.is_action(Action.AGG, Action.RETRACT) & validity(segments.values)
    return _last(segments, segments.select(counts | segments.is_action(Action.RESET)))


def _last(segments: Segments, chosen: Selection) -> pa.Array:
    rows = chosen.rows[np.append(chosen.starts[1:], len(chosen.rows)) - 1] if len(chosen.starts) else chosen.rows
    rows = np.where(segments.actions[rows] == Action.RETRACT, _NOTHING, rows)
    return take_rows(segments, chosen, rows)


def _choose_exactly(segments: Segments, choose: Callable[[range, list[int], list[bool]], int]) -> pa.Array:
    """Process groups one by one, for groups in which an older value arrived late."""
    actions = segments.actions.tolist()
    valid = validity(segments.values).tolist()
    spans = zip(segments.starts.tolist(), segments.lengths.tolist(), strict=True)
    rows = [choose(range(start, start + length), actions, valid) for start, length in spans]
    return take_or_null(segments.values, _as_rows(rows))


def _as_rows(rows: list[int]) -> Ints:
    return np.array(rows, np.int64)


def _last_non_null_row(rows: range, actions: list[int], valid: list[bool]) -> int:
    kept = _NOTHING
    for row in rows:
        match actions[row]:
            case Action.AGG if valid[row]:
                kept = row
            case Action.REVERSED if kept == _NOTHING:
                kept = row if valid[row] else _NOTHING
            case Action.RETRACT if valid[row]:
                kept = _NOTHING
            case Action.RESET:
                kept = row if valid[row] else _NOTHING
    return kept


def _first_row(rows: range, actions: list[int], _: list[bool]) -> int:
    """Return the row. The reference remembers only that it has seen a value; a first reversed one changes nothing."""
    kept, started = _NOTHING, False
    for row in rows:
        match actions[row]:
            case Action.AGG:
                kept = kept if started else row
                started = True
            case Action.REVERSED:
                kept = row if started else kept
                started = True
            case Action.RESET:
                kept = row
    return kept


def _first_non_null_row(rows: range, actions: list[int], valid: list[bool]) -> int:
    """Return the row; once the reference has seen a value, it takes every older one, including null."""
    kept, started = _NOTHING, False
    for row in rows:
        here = row if valid[row] else _NOTHING
        match actions[row]:
            case Action.AGG if valid[row] and not started:
                kept, started = row, True
            case Action.REVERSED:
                if not started and kept != _NOTHING:
                    started = True
                else:
                    kept = here
            case Action.RESET:
                kept = here
    return kept


LAST_VALUE: Final = AggregateFunction(
    "last_value", fold_last_value, ANY, "the last value, including null", retracts=True, sees_resets=True
)
LAST_NON_NULL_VALUE: Final = AggregateFunction(
    "last_non_null_value",
    fold_last_non_null_value,
    ANY,
    "the last non-null value",
    retracts=True,
    sees_resets=True,
)
FIRST_VALUE: Final = AggregateFunction(
    "first_value", fold_first_value, ANY, "the first value, including null", sees_resets=True
)
FIRST_NON_NULL_VALUE: Final = AggregateFunction(
    "first_non_null_value", fold_first_non_null_value, ANY, "the first non-null value", sees_resets=True
)
FIRST_NOT_NULL_VALUE: Final = replace(FIRST_NON_NULL_VALUE, name="first_not_null_value")

"""``max``, ``min``, ``bool_and`` and ``bool_or`` (Java ``FieldMaxAgg``, ``InternalRowUtils.compare``).

Values are compared as in the reference: NaN is above everything, -0.0 below 0.0, and text and bytes are compared by
unsigned bytes. These functions do not depend on the order of the rows.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_format.kernels.aggregates.buffers import (
    Ints,
    Mask,
    bits,
    decimal_words,
    decimals_of_words,
    numbers,
    validity,
)
from table_format.kernels.aggregates.decimals import MAX_COMPACT_PRECISION
from table_format.kernels.aggregates.function import COMPARABLE, AggregateFunction, ColumnTypes
from table_format.kernels.aggregates.segments import Segments, Selection, placed, take_rows, tournament
from table_format.kernels.aggregates.spec import Action, AggregateSpec
from table_format.model.arrow_calls import nulls
from table_format.model.types import BooleanType

_FLOATS: Final[dict[Any, tuple[Any, Any, int]]] = {
    pa.float32(): (np.float32, np.int32, 0x7FC00000),
    pa.float64(): (np.float64, np.int64, 0x7FF8000000000000),
}
"""The type, the integer type of its width, and the canonical NaN of Java's comparison."""


def fold_max(_: AggregateSpec, segments: Segments) -> pa.Array:
    """Return the greatest non-null input."""
    return _extreme(segments, np.maximum)


def fold_min(_: AggregateSpec, segments: Segments) -> pa.Array:
    """Return the least non-null input."""
    return _extreme(segments, np.minimum)


def _extreme(segments: Segments, ufunc: np.ufunc) -> pa.Array:
    arrow = segments.values.type
    chosen = segments.select(validity(segments.values) & (segments.actions != Action.SKIP))
    if not len(chosen.starts):
        return nulls(segments.count, arrow)
    if pa.types.is_boolean(arrow):
        return placed(ufunc.reduceat(bits(segments.values)[chosen.rows], chosen.starts), chosen, segments)
    if arrow in _FLOATS:
        return _extreme_float(segments, chosen, ufunc)
    if pa.types.is_decimal(arrow):
        return _extreme_decimal(segments, chosen, ufunc)
    if arrow.num_buffers == 2:
        integers = numbers(segments.values, np.dtype(f"i{arrow.bit_width // 8}"))[chosen.rows]
        return placed(ufunc.reduceat(integers, chosen.starts), chosen, segments)
    return _extreme_bytes(segments, chosen, ufunc)


def _extreme_float(segments: Segments, chosen: Selection, ufunc: np.ufunc) -> pa.Array:
    number, integer, nan = _FLOATS[segments.values.type]
    values = numbers(segments.values, number)[chosen.rows]
    words = np.where(np.isnan(values), integer(nan), values.view(integer))
    winners = ufunc.reduceat(_flipped(words), chosen.starts)
    return placed(_flipped(winners), chosen, segments)


def _extreme_decimal(segments: Segments, chosen: Selection, ufunc: np.ufunc) -> pa.Array:
    low, high = decimal_words(segments.values)
    if segments.values.type.precision > MAX_COMPACT_PRECISION:
        return _by_tournament(segments, chosen, ufunc, [high[chosen.rows], low[chosen.rows]])
    winners = np.zeros(segments.count, np.int64)
    winners[chosen.groups] = ufunc.reduceat(low.view(np.int64)[chosen.rows], chosen.starts)
    valid = np.zeros(segments.count, np.bool_)
    valid[chosen.groups] = True
    return decimals_of_words(winners.view(np.uint64), winners >> 63, valid, segments.values.type)


def _flipped(words: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Convert IEEE words to integers of the same order; the function is its own inverse."""
    return np.where(words < 0, words ^ np.iinfo(words.dtype).max, words)


def _by_tournament(segments: Segments, chosen: Selection, ufunc: np.ufunc, words: list[npt.NDArray[Any]]) -> pa.Array:
    def later_wins(earlier: Ints, later: Ints) -> Mask:
        wins = np.zeros(len(earlier), np.bool_)
        equal = np.ones(len(earlier), np.bool_)
        for word in words:
            a, b = word[earlier], word[later]
            wins |= equal & ((b > a) if ufunc is np.maximum else (b < a))
            equal &= a == b
        return wins

    return take_rows(segments, chosen, chosen.rows[tournament(chosen.starts, len(chosen.rows), later_wins)])


def _extreme_bytes(segments: Segments, chosen: Selection, ufunc: np.ufunc) -> pa.Array:
    values = segments.values.take(chosen.rows)
    better = pc.greater if ufunc is np.maximum else pc.less

    def later_wins(earlier: Ints, later: Ints) -> Mask:
        wins: Mask = better(values.take(later), values.take(earlier)).to_numpy(zero_copy_only=False)
        return wins

    return take_rows(segments, chosen, chosen.rows[tournament(chosen.starts, len(chosen.rows), later_wins)])


_BOOLEAN: Final = ColumnTypes("BOOLEAN", lambda t: isinstance(t, BooleanType))

_ORDERED: Final = ColumnTypes(
    "a comparable type: all except ARRAY, MAP, MULTISET, ROW and BOOLEAN (use bool_and or bool_or)",
    lambda t: COMPARABLE.contains(t) and not _BOOLEAN.contains(t),
)
"""The reference accepts these functions on BOOLEAN columns at creation, but up to 1.4.2 it cannot merge the rows."""

MAX: Final = AggregateFunction("max", fold_max, _ORDERED, "the greatest value", folds=COMPARABLE)
MIN: Final = AggregateFunction("min", fold_min, _ORDERED, "the least value", folds=COMPARABLE)
BOOL_AND: Final = AggregateFunction("bool_and", fold_min, _BOOLEAN, "whether all values are true")
BOOL_OR: Final = AggregateFunction("bool_or", fold_max, _BOOLEAN, "whether a value is true")

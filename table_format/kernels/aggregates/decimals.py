"""``sum`` and ``product`` of decimals (Java ``FieldSumAgg``, ``FieldProductAgg``, ``DecimalUtils``, ``Decimal``).

A sum of at most 18 digits is computed with longs and not checked against the precision. A sum of more digits becomes
null when it has too many, and starts again with the next input. Sums far within the bounds, which are nearly all, are
computed by column on the two 64-bit words, the others with exact integers, row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.errors import InvalidData
from table_format.kernels.aggregates.buffers import (
    Ints,
    decimal_words,
    decimals_of_ints,
    decimals_of_words,
    unscaled_ints,
    validity,
)
from table_format.kernels.aggregates.segments import Segments, piecewise
from table_format.kernels.aggregates.spec import Action, AggregateSpec

MAX_COMPACT_PRECISION: Final = 18
"""The maximum number of digits for which the reference keeps a decimal in a long."""

_LONG: Final = 2**63
_HALF: Final = np.uint64(32)
_LOW_HALF: Final = np.uint64(0xFFFFFFFF)
_MARGIN: Final = 0.99
"""The margin for the rounding of an estimate in double precision."""

Unscaled = int | None
Combine = Callable[[Unscaled, Unscaled], Unscaled]


def sum_of_decimals(_: AggregateSpec, segments: Segments) -> pa.Array:
    """Return the sum of the non-null inputs minus the retracted ones."""
    arrow = segments.values.type
    return piecewise(segments, _near_a_bound(segments), _sum_words, lambda s: _fold_exactly(s, _Sum(arrow)))


def product_of_decimals(spec: AggregateSpec, segments: Segments) -> pa.Array:
    """Return the product of the non-null inputs divided by the retracted ones; each step is rounded half up.

    Raises:
        InvalidData: a quotient has no finite decimal form, or the divisor is zero.
    """
    return _fold_exactly(segments, _Product(segments.values.type, spec.field.name))


class _Sum:
    def __init__(self, arrow: pa.DataType) -> None:
        precision = cast("pa.Decimal128Type", arrow).precision
        self._compact = precision <= MAX_COMPACT_PRECISION
        self._bound = 10**precision

    def agg(self, accumulator: Unscaled, value: Unscaled) -> Unscaled:
        if accumulator is None or value is None:
            return value if accumulator is None else accumulator
        return self._fitted(accumulator + value)

    def retract(self, accumulator: Unscaled, value: Unscaled) -> Unscaled:
        if value is None:
            return accumulator
        if accumulator is None:
            return -value if abs(value) < self._bound else None
        return self._fitted(accumulator - value)

    def _fitted(self, total: int) -> Unscaled:
        if self._compact and -_LONG <= total < _LONG:
            return total
        return total if abs(total) < self._bound else None


class _Product:
    def __init__(self, arrow: pa.DataType, column: str) -> None:
        kind = cast("pa.Decimal128Type", arrow)
        self._unit = 10**kind.scale
        self._bound = 10**kind.precision
        self._column = column

    def agg(self, accumulator: Unscaled, value: Unscaled) -> Unscaled:
        if accumulator is None or value is None:
            return value if accumulator is None else accumulator
        return self._rounded(accumulator * value, self._unit)

    def retract(self, accumulator: Unscaled, value: Unscaled) -> Unscaled:
        if accumulator is None or value is None:
            return accumulator
        if value == 0 or not _ends(accumulator, value):
            message = (
                f"column '{self._column}': 'product' cannot retract a factor, because the quotient "
                f"{accumulator} / {value} (unscaled) has no finite decimal form"
            )
            raise InvalidData(message)
        return self._rounded(accumulator * self._unit, value)

    def _rounded(self, numerator: int, denominator: int) -> Unscaled:
        quotient, rest = divmod(abs(numerator), abs(denominator))
        quotient += 2 * rest >= abs(denominator)
        if quotient >= self._bound:
            return None
        return -quotient if (numerator < 0) != (denominator < 0) else quotient


def _ends(numerator: int, denominator: int) -> bool:
    """Return whether a quotient has a finite decimal form; otherwise, Java's exact division fails."""
    rest = denominator // np.gcd.reduce(np.array([numerator, denominator], object)) if numerator else 1
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return bool(abs(rest) == 1)


def _fold_exactly(segments: Segments, function: _Sum | _Product) -> pa.Array:
    values = unscaled_ints(segments.values)
    actions = segments.actions.tolist()
    results: list[Unscaled] = []
    for start, length in zip(segments.starts.tolist(), segments.lengths.tolist(), strict=True):
        accumulator: Unscaled = None
        for row in range(start, start + length):
            action = actions[row]
            if action == Action.RETRACT:
                accumulator = function.retract(accumulator, values[row])
            elif action != Action.SKIP:
                accumulator = function.agg(accumulator, values[row])
        results.append(accumulator)
    return decimals_of_ints(results, segments.values.type)


def _near_a_bound(segments: Segments) -> npt.NDArray[np.bool_]:
    """Return the groups whose intermediate sums might exceed the bounds."""
    low, high = decimal_words(segments.values)
    used = validity(segments.values) & (segments.actions != Action.SKIP)
    sizes = np.where(used, np.abs(high.astype(np.float64) * 2.0**64 + low.astype(np.float64)), 0.0)
    reach = np.add.reduceat(sizes, segments.starts)
    precision = segments.values.type.precision
    near: npt.NDArray[np.bool_] = reach >= _MARGIN * 10.0**precision
    if precision <= MAX_COMPACT_PRECISION:
        near &= segments.any_of(segments.is_action(Action.RETRACT)) | (reach >= _MARGIN * _LONG)
    return near


def _sum_words(segments: Segments) -> pa.Array:
    """Return 128-bit sums, computed from 32-bit digits so that no digit can overflow."""
    low, high = decimal_words(segments.values)
    chosen = segments.select(validity(segments.values) & (segments.actions != Action.SKIP))
    low, high = low[chosen.rows], high[chosen.rows]
    retracts = segments.actions[chosen.rows] == Action.RETRACT
    if retracts.any():
        low, high = _negated_where(retracts, low, high)
    total_low = np.zeros(segments.count, np.uint64)
    total_high = np.zeros(segments.count, np.int64)
    valid = np.zeros(segments.count, np.bool_)
    valid[chosen.groups] = True
    if len(chosen.starts):
        first = np.add.reduceat(low & _LOW_HALF, chosen.starts)
        second = np.add.reduceat(low >> _HALF, chosen.starts) + (first >> _HALF)
        total_low[chosen.groups] = (first & _LOW_HALF) | (second << _HALF)
        total_high[chosen.groups] = np.add.reduceat(high, chosen.starts) + (second >> _HALF).view(np.int64)
    return decimals_of_words(total_low, total_high, valid, segments.values.type)


def _negated_where(
    mask: npt.NDArray[np.bool_], low: npt.NDArray[np.uint64], high: Ints
) -> tuple[npt.NDArray[np.uint64], Ints]:
    negative_low = ~low + np.uint64(1)
    negative_high = ~high + (low == 0)
    return np.where(mask, negative_low, low), np.where(mask, negative_high, high)

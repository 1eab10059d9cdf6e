"""``collect``: the elements of the inputs in one ARRAY (Java ``FieldCollectAgg`` of 1.4).

Without ``distinct``, the arrays are concatenated. With it, the elements are put into a hash set and have its order.
Rows, arrays and maps are put into a list instead, which accepts an element only once.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np
import pyarrow as pa

from table_format.kernels.aggregates.elements import (
    Elements,
    by_key,
    codes,
    collected,
    collected_lists,
    elements_of,
    flattened,
)
from table_format.kernels.aggregates.function import ARRAYS, AggregateFunction
from table_format.kernels.aggregates.java_order import HashOrder, spread_hashes
from table_format.kernels.aggregates.segments import Segments, piecewise
from table_format.kernels.aggregates.spec import Action, AggregateSpec


def fold_collect(spec: AggregateSpec, segments: Segments) -> pa.Array:
    """Return all elements of the inputs; a retraction removes, for each of its elements, the first equal one."""
    path_dependent = segments.is_action(Action.RETRACT, Action.RESET)
    if spec.ignore_retract:
        path_dependent |= segments.is_action(Action.REVERSED)
    return piecewise(
        segments,
        segments.any_of(path_dependent),
        lambda s: _union(s) if spec.distinct else _concatenated(s),
        lambda s: _Collector(spec, s).fold(),
    )


def _concatenated(segments: Segments) -> pa.Array:
    inputs = flattened(segments)
    sizes = np.bincount(inputs.groups, minlength=segments.count)
    return collected(inputs.flat, inputs.rows, sizes, inputs.absent, segments.values.type)


def _union(segments: Segments) -> pa.Array:
    inputs = flattened(segments)
    spreads = spread_hashes(inputs.flat)
    code = codes(inputs.flat, by_identity=True)[inputs.rows]
    first, _ = by_key(inputs.groups, code, None if spreads is None else spreads[inputs.rows])
    sizes = np.bincount(inputs.groups[first], minlength=segments.count)
    return collected(inputs.flat, inputs.rows[first], sizes, inputs.absent, segments.values.type)


class _Collector:
    """Processes rows one by one, for groups with retractions or with rows that arrived out of order."""

    def __init__(self, spec: AggregateSpec, segments: Segments) -> None:
        self._spec = spec
        self._segments = segments
        self._elements: Elements = elements_of(segments.values)
        self._codes: list[int] = codes(self._elements.flat, by_identity=True).tolist()
        spreads = spread_hashes(self._elements.flat) if spec.distinct else None
        self._spreads: list[int] | None = None if spreads is None else spreads.tolist()

    def fold(self) -> pa.Array:
        """Return the elements of each group."""
        segments = self._segments
        rows, actions = self._elements.rows(), segments.actions.tolist()
        results = []
        for start, length in zip(segments.starts.tolist(), segments.lengths.tolist(), strict=True):
            accumulator: list[int] | None = None
            for row in range(start, start + length):
                span = rows[row]
                accumulator = self._step(actions[row], accumulator, None if span is None else list(span))
            results.append(accumulator)
        return collected_lists(self._elements.flat, results, segments.values.type)

    def _step(self, action: int, accumulator: list[int] | None, value: list[int] | None) -> list[int] | None:
        match action:
            case Action.RESET:
                return value
            case Action.RETRACT:
                return self._without(accumulator, value)
            case Action.REVERSED if self._spec.ignore_retract:
                # For reversed inputs, the reference's wrapper of ignore-retract only swaps the operands.
                return self._agg(value, accumulator)
            case Action.AGG | Action.REVERSED:
                return self._agg(accumulator, value)
        return accumulator

    def _agg(self, accumulator: list[int] | None, value: list[int] | None) -> list[int] | None:
        if accumulator is None and value is None:
            return None
        if not self._spec.distinct:
            return [*(accumulator or ()), *(value or ())]
        if self._spreads is None:
            return self._appended(accumulator or [], value or [])
        first: dict[int, int] = {}
        for element in [*(accumulator or ()), *(value or ())]:
            first.setdefault(self._codes[element], element)
        return list(HashOrder((element, self._spreads[element]) for element in first.values()))

    def _appended(self, accumulator: list[int], value: list[int]) -> list[int]:
        seen = {self._codes[element] for element in accumulator}
        result = list(accumulator)
        for element in value:
            if self._codes[element] not in seen:
                seen.add(self._codes[element])
                result.append(element)
        return result

    def _without(self, accumulator: list[int] | None, value: list[int] | None) -> list[int] | None:
        if accumulator is None or not value:
            return accumulator
        removed = Counter(self._codes[element] for element in value)
        kept = []
        for element in accumulator:
            code = self._codes[element]
            if removed[code]:
                removed[code] -= 1
            else:
                kept.append(element)
        return kept


COLLECT: Final = AggregateFunction(
    "collect",
    fold_collect,
    ARRAYS,
    "the elements of all arrays; with `fields.<column>.distinct`, each once",
    retracts=True,
    sees_resets=True,
)

"""Groups of adjacent rows, and reductions of all groups at once.

Rows of one key are adjacent and in merge order. A reduction never runs Python code per row: it uses numpy's
``reduceat``, or processes the groups in lockstep, the k-th row of every group at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from table_format.kernels.aggregates.buffers import Ints, Mask, array_of_numbers, take_or_null
from table_format.kernels.aggregates.spec import Action

_LOCKSTEP_ROWS: Final = 64
"""The number of rows of a group that are processed in lockstep; the rest of longer groups is processed by group."""

Step = Callable[[npt.NDArray[Any], npt.NDArray[Any], Mask], npt.NDArray[Any]]
"""A function of accumulators, inputs, and a mask of retracting inputs that returns new accumulators."""


@dataclass(frozen=True)
class Selection:
    """Some rows in order, and the groups that have such rows."""

    rows: Ints
    starts: Ints
    """The start of each of ``groups`` in ``rows``."""
    groups: Ints


@dataclass(frozen=True)
class Segments:
    """A column with one action for each row; group ``g`` begins at row ``starts[g]``."""

    values: pa.Array
    starts: Ints
    actions: npt.NDArray[np.int8]

    @property
    def count(self) -> int:
        """The number of groups."""
        return len(self.starts)

    @cached_property
    def lengths(self) -> Ints:
        """The number of rows of each group."""
        return np.diff(self.starts, append=len(self.values))

    @cached_property
    def groups(self) -> Ints:
        """The group of each row."""
        return np.repeat(np.arange(self.count), self.lengths)

    def is_action(self, *actions: Action) -> Mask:
        """Return the rows with one of these actions."""
        mask: Mask = self.actions == actions[0]
        for action in actions[1:]:
            mask |= self.actions == action
        return mask

    def select(self, mask: Mask) -> Selection:
        """Return the rows that a mask selects."""
        if mask.all():
            return Selection(np.arange(len(mask)), self.starts, np.arange(self.count))
        rows = np.flatnonzero(mask)
        groups = self.groups[rows]
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        return Selection(rows, starts, groups[starts])

    def any_of(self, mask: Mask) -> Mask:
        """Return the groups with a row that a mask selects."""
        found = np.zeros(self.count, np.bool_)
        found[self.groups[mask]] = True
        return found

    def only(self, groups: Mask) -> Segments:
        """Return only these groups."""
        rows = groups[self.groups]
        lengths = self.lengths[groups]
        starts = np.cumsum(lengths) - lengths
        return Segments(self.values.filter(pa.array(rows)), starts, self.actions[rows])

    def with_actions(self, actions: npt.NDArray[np.int8]) -> Segments:
        """Return the same rows with other actions."""
        return Segments(self.values, self.starts, actions)


Kernel = Callable[[Segments], pa.Array]


def piecewise(segments: Segments, exceptional: Mask, regular: Kernel, exact: Kernel) -> pa.Array:
    """Fold exceptional groups with ``exact`` and the others with ``regular``; the results are in group order."""
    if not exceptional.any():
        return regular(segments)
    if exceptional.all():
        return exact(segments)
    parts = [regular(segments.only(~exceptional)), exact(segments.only(exceptional))]
    order = np.empty(segments.count, np.int64)
    order[~exceptional] = np.arange(len(parts[0]))
    order[exceptional] = len(parts[0]) + np.arange(len(parts[1]))
    return pa.concat_arrays(parts).take(order)


def take_rows(segments: Segments, chosen: Selection, rows: Ints) -> pa.Array:
    """Return the values at ``rows``, one for each group of a selection; null for other groups."""
    of_group = np.full(segments.count, -1, np.int64)
    of_group[chosen.groups] = rows
    return take_or_null(segments.values, of_group)


def placed(results: npt.NDArray[Any], chosen: Selection, segments: Segments) -> pa.Array:
    """Return the results, one for each group of a selection; null for other groups."""
    values = np.zeros(segments.count, results.dtype)
    valid = np.zeros(segments.count, np.bool_)
    values[chosen.groups] = results
    valid[chosen.groups] = True
    return array_of_numbers(values, valid, segments.values.type)


def in_order(ufunc: np.ufunc, values: npt.NDArray[Any], starts: Ints) -> npt.NDArray[Any]:
    """Reduce each group strictly from its first row to its last, as floating-point numbers require.

    ``reduceat`` would add in pairs, which changes the last bits.
    """
    accumulators, rest = _in_lockstep(lambda acc, row, _: ufunc(acc, row), values, starts, None)
    for group, start, stop in rest:
        chain = np.concatenate([accumulators[group : group + 1], values[start:stop]])
        with np.errstate(all="ignore"):
            accumulators[group] = ufunc.accumulate(chain, dtype=values.dtype)[-1]
    return accumulators


def step_by_step(step: Step, values: npt.NDArray[Any], starts: Ints, retracts: Mask) -> npt.NDArray[Any]:
    """Reduce each group from its first row to its last with a step that distinguishes retracting rows."""
    accumulators, rest = _in_lockstep(step, values, starts, retracts)
    for group, start, stop in rest:
        for row in range(start, stop):
            one = slice(row, row + 1)
            with np.errstate(all="ignore"):
                accumulators[group] = step(accumulators[group : group + 1], values[one], retracts[one])[0]
    return accumulators


def _in_lockstep(
    step: Step, values: npt.NDArray[Any], starts: Ints, retracts: Mask | None
) -> tuple[npt.NDArray[Any], list[tuple[int, int, int]]]:
    """Return accumulators after the first rows of every group, and the remaining rows: (group, first row, end)."""
    lengths = np.diff(starts, append=len(values))
    order = np.argsort(-lengths, kind="stable")
    sizes = lengths[order]
    first = starts[order]
    accumulators = values[first].copy()
    nothing = np.zeros(0, np.bool_)
    with np.errstate(all="ignore"):
        for k in range(1, min(int(sizes[0]), _LOCKSTEP_ROWS) if len(sizes) else 0):
            active = int(np.searchsorted(-sizes, -k, side="left"))
            rows = first[:active] + k
            flags = nothing if retracts is None else retracts[rows]
            accumulators[:active] = step(accumulators[:active], values[rows], flags)
    longer = int(np.searchsorted(-sizes, -_LOCKSTEP_ROWS, side="left"))
    result = np.empty_like(accumulators)
    result[order] = accumulators
    rest = [
        (int(group), int(start) + _LOCKSTEP_ROWS, int(start + size))
        for group, start, size in zip(order[:longer], first[:longer], sizes[:longer], strict=True)
    ]
    return result, rest


def tournament(starts: Ints, row_count: int, later_wins: Callable[[Ints, Ints], Mask]) -> Ints:
    """Return the winning row of each group with an associative comparison of pairs (earlier, later)."""
    rows = np.arange(row_count)
    lengths = np.diff(starts, append=row_count)
    while len(rows) > len(lengths):
        position = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        size = np.repeat(lengths, lengths)
        leads = position % 2 == 0
        paired = np.flatnonzero(leads & (position + 1 < size))
        winners = rows.copy()
        wins = later_wins(rows[paired], rows[paired + 1])
        winners[paired[wins]] = rows[paired[wins] + 1]
        rows = winners[leads]
        lengths = (lengths + 1) // 2
    return rows

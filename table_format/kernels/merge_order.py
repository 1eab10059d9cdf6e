"""Merges sorted runs to one order: row ids of the concatenated runs, by key, and by age within a key.

Keys have two forms: one signed 64-bit integer per row, given by run, or several words per row. Runs are merged in pairs
of neighbours, so that rows with equal keys keep the order of their runs. Without compiled kernels, a stable sort does
the same; it recognises the runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from table_format.kernels.compiled import CompiledKernels, Int32Array, Int64Array
from table_format.kernels.key_words import WordColumns

RowIds: TypeAlias = npt.NDArray[np.signedinteger[Any]]
Mask: TypeAlias = npt.NDArray[np.bool_]

_Run: TypeAlias = tuple[Int64Array, Int32Array]
_SIGN = np.uint64(1 << 63)


def as_integer(words: WordColumns, row_count: int) -> Int64Array | None:
    """Return the words as one signed integer per row in the same order; ``None`` if there are several words."""
    if not words:
        return np.zeros(row_count, dtype=np.int64)
    return (words[0] ^ _SIGN).view(np.int64) if len(words) == 1 else None


def newest_by_integer(
    runs: Sequence[Int64Array],
    kernels: CompiledKernels | None,
    versions: Int64Array | None = None,
) -> RowIds:
    """Return one row for each key: of the highest version, or else of the last run. Keys are unique within a run."""
    if kernels is None:
        order, repeats = _sort_integers(runs)
        if versions is not None:
            order = order_versions(order, repeats, ((versions.view(np.uint64) ^ _SIGN),))
        return order[ends_of_groups(repeats)]
    if versions is None:
        return _merge_pairs(_numbered(runs), kernels.merge_newest)[1]
    contiguous = np.require(versions, requirements=("C", "A"))

    def merge(*arguments: Any) -> int:  # noqa: ANN401 - the arguments of merge_newest
        return kernels.merge_versioned(*arguments[:4], contiguous, *arguments[4:])

    return _merge_pairs(_numbered(runs), merge)[1]


def all_by_integer(runs: Sequence[Int64Array], kernels: CompiledKernels | None) -> tuple[RowIds, Mask]:
    """Return all rows by key, then run, and a mask of the rows with the same key as the previous row."""
    if kernels is None:
        return _sort_integers(runs)
    keys, rows = _merge_pairs(_numbered(runs), kernels.merge_stable)
    return rows, repeats_of(keys)


def newest_by_words(words: WordColumns, lengths: Sequence[int], kernels: CompiledKernels | None) -> RowIds:
    """Return one row for each key, from the last run that has it. Keys are unique within a run."""
    if kernels is None:
        order, repeats = sort_words(words)
        return order[ends_of_groups(repeats)]
    return _merge_word_pairs(words, lengths, kernels, newest=True)


def all_by_words(words: WordColumns, lengths: Sequence[int], kernels: CompiledKernels | None) -> tuple[RowIds, Mask]:
    """Return all rows by key, then run, and a mask of the rows with the same key as the previous row."""
    if kernels is None:
        return sort_words(words)
    order = _merge_word_pairs(words, lengths, kernels, newest=False)
    return order, repeats_of(*(word[order] for word in words))


def sort_words(words: WordColumns) -> tuple[RowIds, Mask]:
    """Return a stable order of rows in any order: sort by the first word, then only ties by the others."""
    order: RowIds = np.argsort(words[0], kind="stable")
    repeats = repeats_of(words[0][order])
    return order_versions(order, repeats, words[1:]), repeats_of(*(word[order] for word in words))


def order_versions(order: RowIds, repeats: Mask, versions: WordColumns) -> RowIds:
    """Sort the rows of each key by version; rows with equal versions keep their order.

    Changes ``order`` in place and returns it.
    """
    if not versions or order.size < 2:
        return order
    later = np.flatnonzero(repeats)
    before, after = order[later - 1], order[later]
    misplaced = later[_less(tuple(v[after] for v in versions), tuple(v[before] for v in versions))]
    if misplaced.size == 0:
        return order
    group = np.cumsum(~repeats, dtype=np.int64)
    is_bad = np.zeros(int(group[-1]) + 1, dtype=bool)
    is_bad[group[misplaced]] = True
    where = np.flatnonzero(is_bad[group])
    rows = order[where]
    order[where] = rows[_sort_within(group[where], tuple(v[rows] for v in versions))]
    return order


def _sort_within(group: Int64Array, versions: WordColumns) -> RowIds:
    """Return a stable order by group, then version; groups are already ascending."""
    bits = int(versions[0].max()).bit_length()
    if len(versions) == 1 and bits + int(group[-1]).bit_length() <= 64:
        # The rows are nearly sorted, which one stable sort can use, but not the two sorts of a lexical sort.
        return np.argsort((group.view(np.uint64) << np.uint64(bits)) | versions[0], kind="stable")
    return np.lexsort((*reversed(versions), group))


def starts_of_groups(repeats: Mask) -> Int64Array:
    """Return the start of each key."""
    return np.flatnonzero(~repeats)


def ends_of_groups(repeats: Mask) -> Mask:
    """Return a mask of the last row of each key."""
    last = np.ones(repeats.size, dtype=bool)
    np.logical_not(repeats[1:], out=last[:-1])
    return last


def _less(left: WordColumns, right: WordColumns) -> Mask:
    less = np.zeros(left[0].size, dtype=bool)
    equal = np.ones(left[0].size, dtype=bool)
    for a, b in zip(left, right, strict=True):
        less |= equal & (a < b)
        equal &= a == b
    return less


def repeats_of(*keys: npt.NDArray[Any]) -> Mask:
    """Return a mask of the rows of sorted keys, given by word, with the same key as the previous row."""
    repeats = np.zeros(keys[0].size, dtype=bool)
    if repeats.size:
        np.equal(keys[0][1:], keys[0][:-1], out=repeats[1:])
        for word in keys[1:]:
            repeats[1:] &= word[1:] == word[:-1]
    return repeats


def _sort_integers(runs: Sequence[Int64Array]) -> tuple[RowIds, Mask]:
    keys = np.concatenate(runs)
    order: RowIds = np.argsort(keys, kind="stable")
    return order, repeats_of(keys[order])


def _numbered(runs: Sequence[Int64Array]) -> list[_Run]:
    numbered = []
    first = 0
    for keys in runs:
        numbered.append(
            (np.require(keys, requirements=("C", "A")), np.arange(first, first + keys.size, dtype=np.int32))
        )
        first += keys.size
    return numbered


def _merge_pairs(runs: list[_Run], merge: Callable[..., int]) -> _Run:
    while len(runs) > 1:
        at = _smallest_pair([keys.size for keys, _ in runs])
        older, newer = runs[at], runs[at + 1]
        size = older[0].size + newer[0].size
        keys, rows = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int32)
        count = merge(*older, *newer, keys, rows)
        runs[at : at + 2] = [(keys[:count], rows[:count])]
    return runs[0]


def _merge_word_pairs(
    words: WordColumns,
    lengths: Sequence[int],
    kernels: CompiledKernels,
    *,
    newest: bool,
) -> Int32Array:
    table = np.column_stack(words)
    bounds = np.cumsum([0, *lengths])
    runs = [np.arange(first, end, dtype=np.int32) for first, end in pairwise(bounds)]
    while len(runs) > 1:
        at = _smallest_pair([run.size for run in runs])
        rows = np.empty(runs[at].size + runs[at + 1].size, dtype=np.int32)
        count = kernels.merge_words(table, runs[at], runs[at + 1], newest, rows)
        runs[at : at + 2] = [rows[:count]]
    return runs[0]


def _smallest_pair(sizes: Sequence[int]) -> int:
    """Return the pair of neighbours to merge next, so that a long run among short ones is moved only once."""
    return min(range(len(sizes) - 1), key=lambda at: sizes[at] + sizes[at + 1])

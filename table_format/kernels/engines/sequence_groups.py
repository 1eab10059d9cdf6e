"""Sequence groups of a partial update: the version from which each group is taken (format chapter 12, section 5).

A version takes part in a group if one of its sequence columns is not null. It is *on time* if its sequence is not
smaller than that of the row so far. So a group is taken from the last version with the largest sequence. Late versions
matter only to aggregate functions. Sequences are compared by their rank, one integer for each version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from table_format.kernels.aggregates import Action, AggregateSpec, fold
from table_format.kernels.compiled import Int64Array
from table_format.kernels.engines.outcome import Source
from table_format.kernels.engines.spec import PartialUpdate, SequenceGroup
from table_format.kernels.engines.versions import Versions
from table_format.kernels.key_words import SortColumn, WordColumns, encode
from table_format.kernels.merge_order import Mask, as_integer

_BELOW_ALL: Final = np.iinfo(np.int64).min
_MAX_ROUNDS: Final = 8
"""The maximum number of removals of a key that are found for all keys at once."""


@dataclass(frozen=True, slots=True)
class MergeStarts:
    """The position of the last retracting version with which the row of each key started, or -1.

    If ``is_reset``, that version removed the row; otherwise it is the first version of the key, and is merged too.
    """

    base: Int64Array
    is_reset: Mask

    @classmethod
    def of(cls, versions: Versions, removals: Int64Array | None) -> MergeStarts:
        """Return the starts, given the position of the last version that removed the row of each key, or -1."""
        base = np.where(versions.is_retract[versions.starts], versions.starts, -1)
        if removals is None:
            return cls(base, np.zeros(base.size, dtype=bool))
        return cls(np.where(removals >= 0, removals, base), removals >= 0)

    def floor(self, versions: Versions) -> Int64Array:
        """Return the lower limits (exclusive) of searches: the position before the key, or its start."""
        return np.where(self.base < 0, versions.starts - 1, self.base)

    def mask(self, versions: Versions, which: Mask | None = None) -> Mask:
        """Return the positions of the starts, of all or some keys, as a mask."""
        marked = np.zeros(versions.order.size, dtype=bool)
        there = self.base >= 0
        marked[self.base[there if which is None else there & which]] = True
        return marked


@dataclass(frozen=True)
class TracedGroup:
    """A group, with the rank of the sequence of each version, and whether it has a sequence, by position."""

    versions: Versions
    group: SequenceGroup
    rank: Int64Array
    has_sequence: Mask

    def sources(self, merge_starts: MergeStarts, engine: PartialUpdate, present: set[str]) -> dict[str, Source]:
        """Return the sources of the columns of the group."""
        versions = self.versions
        part = self._participating(merge_starts, engine)
        highest = np.maximum.reduceat(np.where(part, self.rank, _BELOW_ALL), versions.starts)
        chosen = versions.last_where(part & (self.rank == highest[versions.key_of]), versions.starts - 1)
        at = np.where(chosen < 0, merge_starts.base, chosen)
        rows = versions.row_ids(at)
        sources: dict[str, Source] = {name: rows for name in self.group.sequence if name in present}
        plain = rows
        if versions.kinds is not None and not engine.ignore_delete:
            takes_back = (
                (chosen >= 0) & versions.is_retract[chosen] & ~(merge_starts.is_reset & (chosen == merge_starts.base))
            )
            plain = np.where(takes_back, -1, rows)
        functions = {spec.field.name: spec for spec in engine.aggregates}
        steps = (
            _Steps.of(self, part, merge_starts, engine)
            if functions.keys() & set(self.group.members) & present
            else None
        )
        for name in self.group.members:
            if name in functions and steps is not None and name in present:
                sources[name] = steps.fold(functions[name], versions.values(name))
            elif name in present:
                sources[name] = plain
        return sources

    def on_time(self, part: Mask) -> Mask:
        """Return a mask of participating versions whose sequence is not smaller than all earlier ones of their key."""
        ranks = self.rank[part]
        if ranks.size == 0:
            return part
        keys = self.versions.key_of
        relative = (ranks - ranks.min()).view(np.uint64)
        bits = int(relative.max()).bit_length()
        if bits + int(keys[-1]).bit_length() > 63:
            relative = np.unique(relative, return_inverse=True)[1].astype(np.uint64)
            bits = int(relative.max()).bit_length()
        packed = (keys[part].astype(np.uint64) << np.uint64(bits)) | relative
        on_time = np.zeros(part.size, dtype=bool)
        on_time[part] = packed >= np.maximum.accumulate(packed)
        return on_time

    def _participating(self, merge_starts: MergeStarts, engine: PartialUpdate) -> Mask:
        versions = self.versions
        if versions.kinds is None:
            return self.has_sequence
        bases = merge_starts.mask(versions)
        counted = (~versions.is_retract | bases) if engine.ignore_delete else True
        return self.has_sequence & counted & (np.arange(versions.order.size) >= merge_starts.base[versions.key_of])


@dataclass(frozen=True, slots=True)
class _Steps:
    """The effect of each version on the accumulators of a group. ``twice`` are positions with two effects."""

    starts: Int64Array
    actions: np.ndarray[tuple[int], np.dtype[np.int8]]
    twice: Int64Array

    @classmethod
    def of(cls, group: TracedGroup, part: Mask, merge_starts: MergeStarts, engine: PartialUpdate) -> _Steps:
        versions = group.versions
        actions = np.zeros(versions.order.size, dtype=np.int8)
        on_time = group.on_time(part)
        actions[part] = Action.REVERSED
        actions[on_time] = Action.AGG
        if versions.kinds is None:
            return cls(versions.starts, actions, np.empty(0, dtype=np.int64))
        retracts = part & versions.is_retract
        actions[retracts] = Action.RETRACT
        before = np.arange(versions.order.size) < merge_starts.base[versions.key_of]
        # Versions before the removal of the row leave no value, but functions remember that they had inputs.
        actions[before & group.has_sequence] = Action.AGG
        actions[before & group.has_sequence & versions.is_retract] = Action.RETRACT
        resets = merge_starts.mask(versions, merge_starts.is_reset)
        firsts = merge_starts.mask(versions, ~merge_starts.is_reset)
        twice = firsts & retracts if not engine.ignore_delete else np.zeros_like(firsts)
        actions[(resets | firsts) & ~twice] = Action.RESET
        return cls(versions.starts, actions, np.flatnonzero(twice))

    def fold(self, spec: AggregateSpec, values: pa.Array) -> pa.Array:
        """Return one value for each key."""
        if self.twice.size == 0:
            return fold(spec, values, self.starts, self.actions)
        # A retracting first version retracts from a row that starts with its own values.
        doubled = values.take(np.insert(np.arange(len(values)), self.twice, self.twice))
        actions = np.insert(self.actions, self.twice, np.int8(Action.RESET))
        return fold(spec, doubled, self.starts + np.searchsorted(self.twice, self.starts), actions)


def trace(versions: Versions, group: SequenceGroup) -> TracedGroup:
    """Return the sequences of all versions in one group, made comparable."""
    schema = versions.rows.schema
    columns = [versions.rows.column(schema.get_field_index(name)) for name in group.sequence]
    words = encode([SortColumn((column,)) for column in columns])
    count = versions.order.size
    if len(words) < 2:
        rank = as_integer(words, versions.rows.num_rows)
        assert rank is not None  # noqa: S101 - one word is one integer
        rank = rank[versions.order]
    else:
        rank = _dense_ranks(tuple(word[versions.order] for word in words))
    has_sequence = np.ones(count, dtype=bool)
    valid = [versions.valid(name) for name in group.sequence]
    if all(mask is not None for mask in valid):
        has_sequence = np.logical_or.reduce([mask for mask in valid if mask is not None])[versions.order]
    return TracedGroup(versions, group, rank, has_sequence)


def last_removals(versions: Versions, groups: Sequence[TracedGroup]) -> Int64Array:
    """Return the position of the last version of each key that removed its row, else -1.

    A removal sets the sequence of every group to that of the removing version, which may be smaller than before.
    Whether the next version is on time depends on it. All keys advance from one removal to the next at once; a key with
    very many removals is processed version by version.
    """
    found = np.full(versions.starts.size, -1, dtype=np.int64)
    removing = [group for group in groups if group.group.removes_record]
    key_of, count = versions.key_of, versions.order.size
    positions = np.arange(count)
    ahead = np.zeros(count, dtype=bool)
    for group in removing:
        ahead |= versions.is_delete & group.has_sequence
    for _ in range(_MAX_ROUNDS):
        if not ahead.any():
            return found
        is_open = np.zeros(found.size, dtype=bool)
        is_open[key_of[ahead]] = True
        counts = is_open[key_of] & (positions >= found[key_of])
        removes = np.zeros(count, dtype=bool)
        for group in removing:
            removes |= ahead & group.on_time(counts & group.has_sequence)
        first = np.minimum.reduceat(np.where(removes, positions, count), versions.starts)
        moved = first < count
        found[moved] = first[moved]
        ahead &= moved[key_of] & (positions > found[key_of])
    _follow(versions, removing, np.unique(key_of[ahead]), found)
    return found


def _follow(versions: Versions, removing: Sequence[TracedGroup], keys: Int64Array, found: Int64Array) -> None:
    sequences = [np.where(group.has_sequence, group.rank, _BELOW_ALL) for group in removing]
    for key in keys.tolist():
        first, end = int(versions.starts[key]), int(versions.ends[key]) + 1
        rows = list(zip(*(sequence[first:end].tolist() for sequence in sequences), strict=True))
        present = list(zip(*(group.has_sequence[first:end].tolist() for group in removing), strict=True))
        found[key] = _last_removal(rows, present, versions.is_delete[first:end].tolist(), first)


def _last_removal(
    sequences: Sequence[tuple[int, ...]], present: Sequence[tuple[bool, ...]], deletes: Sequence[bool], first: int
) -> int:
    found = -1
    current = [_BELOW_ALL] * len(sequences[0])
    for at, (sequence, has_sequence) in enumerate(zip(sequences, present, strict=True)):
        on_time = [has and new >= old for has, new, old in zip(has_sequence, sequence, current, strict=True)]
        if deletes[at] and any(on_time):
            found = first + at
            current = list(sequence)
            continue
        current = [new if is_on_time else old for is_on_time, new, old in zip(on_time, sequence, current, strict=True)]
    return found


def _dense_ranks(words: WordColumns) -> Int64Array:
    order = np.lexsort(tuple(reversed(words)))
    is_new = np.zeros(order.size, dtype=bool)
    for word in words:
        ordered = word[order]
        is_new[1:] |= ordered[1:] != ordered[:-1]
    ranks = np.empty(order.size, dtype=np.int64)
    ranks[order] = np.cumsum(is_new)
    return ranks

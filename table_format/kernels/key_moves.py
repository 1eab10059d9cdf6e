"""Determines the places of rows whose keys may be in another partition (format chapter 11, section 2).

Java ``GlobalIndexAssigner`` and its ``ExistingProcessor``s, for a batch at once. A stable sort brings rows of one key
together. If the key of a row is in another partition, because of the known place or of the previous row, a new stay of
the key begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from table_format.kernels.hash_buckets import AssignRules, Hashes, places_of_new

Numbers: TypeAlias = npt.NDArray[np.int64]

NOWHERE: Final = -1


class WhenElsewhere(Enum):
    """The treatment of a row whose key is in another partition."""

    MOVE = auto()
    """The key is deleted there, and the row goes to its own partition."""
    STAY = auto()
    """The row goes to the partition of the key."""
    DROP = auto()
    """The row is dropped."""


@dataclass(frozen=True, slots=True, eq=False)
class Arrivals:
    """Rows in arrival order.

    ``key`` is the number of the first row with the same key, ``wanted`` the number of the partition of the row.
    ``partition`` and ``bucket`` are the place of the key before all these rows, ``NOWHERE`` for a new key.
    """

    key: Numbers
    wanted: Numbers
    partition: Numbers
    bucket: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """Rows to write: ``rows`` are the row numbers in write order.

    If ``is_retract``, a row is written as a delete. ``last`` are rows of the keys whose place has changed, to
    ``last_partition`` and ``last_bucket``.
    """

    rows: Numbers
    partition: Numbers
    bucket: Numbers
    is_retract: npt.NDArray[np.bool_]
    last: Numbers
    last_partition: Numbers
    last_bucket: Numbers


class BucketCounts:
    """The number of keys in each bucket of each partition (Java ``crosspartition.BucketAssigner``)."""

    def __init__(self, counts: Mapping[int, dict[int, int]], rules: AssignRules) -> None:
        self._counts = {partition: dict(buckets) for partition, buckets in counts.items()}
        self._rules = rules

    def place(self, partitions: Numbers, hashes: Hashes) -> Numbers:
        """Return the buckets of keys that are added to partitions, in this order."""
        buckets = np.empty(len(partitions), np.int64)
        for partition, rows in _groups(partitions):
            counts = self._counts.setdefault(partition, {})
            buckets[rows] = places_of_new(counts, hashes[rows], self._rules)
            _count(counts, buckets[rows], 1)
        return buckets

    def leave(self, partitions: Numbers, buckets: Numbers) -> None:
        """Subtract keys that left these places."""
        for partition, rows in _groups(partitions):
            _count(self._counts.setdefault(partition, {}), buckets[rows], -1)


def place_rows(arrivals: Arrivals, hashes: Hashes, counts: BucketCounts, rule: WhenElsewhere) -> Placed:
    """Return the partition and bucket of each row, and the deletes for keys that move.

    >>> one = np.zeros(2, np.int64)
    >>> arrivals = Arrivals(one, np.array([0, 1]), one - 1, one - 1)
    >>> counts = BucketCounts({}, AssignRules(target_rows=9))
    >>> placed = place_rows(arrivals, np.zeros(2, np.int32), counts, WhenElsewhere.MOVE)
    >>> placed.rows.tolist(), placed.partition.tolist(), placed.is_retract.tolist()
    ([0, 1, 1], [0, 0, 1], [False, True, False])

    Raises:
        InvalidInputError: without a limit, all numbers a bucket can have are in use.
    """
    wanted = arrivals.wanted
    if rule is not WhenElsewhere.MOVE:
        wanted = np.where(arrivals.partition == NOWHERE, wanted[arrivals.key], arrivals.partition)
    order = np.argsort(arrivals.key, kind="stable")
    keys, goes = arrivals.key[order], wanted[order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = keys[1:] != keys[:-1]
    before = np.roll(goes, 1)
    before[is_first] = arrivals.partition[order][is_first]
    moves = goes != before
    # A stay consists of successive rows of a key that go to the same bucket.
    begins = np.flatnonzero(is_first | moves)
    stay = np.cumsum(is_first | moves) - 1
    bucket_of_stay = arrivals.bucket[order[begins]]
    fresh = np.flatnonzero(moves[begins])
    fresh = fresh[np.argsort(order[begins[fresh]])]
    rows = order[begins[fresh]]
    bucket_of_stay[fresh] = counts.place(wanted[rows], hashes[rows])
    buckets = bucket_of_stay[stay]
    left = np.flatnonzero(moves & (before != NOWHERE))
    left_bucket = np.where(is_first[left], arrivals.bucket[order[left]], np.roll(buckets, 1)[left])
    counts.leave(before[left], left_bucket)
    is_last = np.roll(is_first, -1)
    if len(is_last):
        is_last[-1] = True
    lies_new = (goes != arrivals.partition[order]) | (buckets != arrivals.bucket[order])
    last = np.flatnonzero(is_last & lies_new)
    kept = np.flatnonzero(wanted[order] == arrivals.wanted[order]) if rule is WhenElsewhere.DROP else slice(None)
    written = np.concatenate((order[kept], order[left]))
    retract = np.repeat((False, True), (len(written) - len(left), len(left)))
    # A delete comes immediately before the row that moves its key.
    sequence = np.argsort(2 * written + ~retract, kind="stable")
    return Placed(
        rows=written[sequence],
        partition=np.concatenate((goes[kept], before[left]))[sequence],
        bucket=np.concatenate((buckets[kept], left_bucket))[sequence],
        is_retract=retract[sequence],
        last=order[last],
        last_partition=goes[last],
        last_bucket=buckets[last],
    )


def _groups(numbers: Numbers) -> list[tuple[int, npt.NDArray[Any]]]:
    """Return the positions of each number, in order."""
    if not len(numbers):
        return []
    order = np.argsort(numbers, kind="stable")
    arranged = numbers[order]
    starts = np.flatnonzero(np.concatenate(([True], arranged[1:] != arranged[:-1])))
    return [(int(numbers[rows[0]]), rows) for rows in np.split(order, starts[1:])]


def _count(counts: dict[int, int], buckets: Numbers, change: int) -> None:
    numbers, times = np.unique(buckets, return_counts=True)
    for bucket, number in zip(numbers.tolist(), times.tolist(), strict=True):
        counts[bucket] = counts.get(bucket, 0) + change * number

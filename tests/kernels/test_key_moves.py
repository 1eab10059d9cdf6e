"""Placing a batch of rows whose keys may be in other partitions, compared with a row-by-row model of the reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format.kernels.hash_buckets import AssignRules
from table_format.kernels.key_moves import NOWHERE, Arrivals, BucketCounts, Placed, WhenElsewhere, place_rows

Place = tuple[int, int]
Row = tuple[int, int]
"""A key, and the partition of a row."""

ROWS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=25)
KNOWN = st.dictionaries(st.integers(0, 5), st.tuples(st.integers(0, 3), st.integers(0, 2)))


def arrivals_of(rows: list[Row], known: dict[int, Place]) -> Arrivals:
    keys = [key for key, _ in rows]
    lies = [known.get(key, (NOWHERE, NOWHERE)) for key in keys]
    columns = ([keys.index(key) for key in keys], [p for _, p in rows], [p for p, _ in lies], [b for _, b in lies])
    return Arrivals(*(np.array(column, np.int64) for column in columns))


def counts_of(known: dict[int, Place]) -> dict[int, dict[int, int]]:
    counts: dict[int, dict[int, int]] = {}
    for partition, bucket in known.values():
        counts.setdefault(partition, {})[bucket] = counts.setdefault(partition, {}).get(bucket, 0) + 1
    return counts


def placed(rows: list[Row], known: dict[int, Place], rule: WhenElsewhere, target: int) -> Placed:
    hashes = np.array([key for key, _ in rows], np.int32)
    counts = BucketCounts(counts_of(known), AssignRules(target_rows=target))
    return place_rows(arrivals_of(rows, known), hashes, counts, rule)


def one_by_one(
    rows: list[Row], known: dict[int, Place], rule: WhenElsewhere, bucket_of_new: int
) -> tuple[list[tuple[int, int, int, bool]], dict[int, Place]]:
    """The written rows as row number, partition, bucket and delete flag, and the places of keys afterwards."""
    written, lies = [], dict(known)
    for number, (key, partition) in enumerate(rows):
        if key not in lies:
            lies[key] = (partition, bucket_of_new)
        elif lies[key][0] != partition and rule is WhenElsewhere.MOVE:
            written.append((number, *lies[key], True))
            lies[key] = (partition, bucket_of_new)
        elif lies[key][0] != partition and rule is WhenElsewhere.DROP:
            continue
        written.append((number, *lies[key], False))
    return written, lies


@pytest.mark.parametrize("rule", WhenElsewhere)
@settings(max_examples=60)
@given(ROWS, st.dictionaries(st.integers(0, 5), st.tuples(st.integers(0, 3), st.just(0))))
def test_a_batch_is_placed_as_its_rows_one_by_one(
    rule: WhenElsewhere, rows: list[Row], known: dict[int, Place]
) -> None:
    found = placed(rows, known, rule, target=1000)
    written, lies = one_by_one(rows, known, rule, bucket_of_new=0)
    columns = (found.rows, found.partition, found.bucket, found.is_retract)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == written
    moved = zip(found.last.tolist(), found.last_partition.tolist(), found.last_bucket.tolist(), strict=True)
    told = [(rows[row][0], (partition, bucket)) for row, partition, bucket in moved]
    assert len(dict(told)) == len(told)
    assert dict(told) == {key: place for key, place in lies.items() if known.get(key) != place}


@settings(max_examples=60)
@given(ROWS, KNOWN, st.integers(1, 4))
def test_keys_are_deleted_at_their_old_place_and_no_bucket_is_overfull(
    rows: list[Row], known: dict[int, Place], target: int
) -> None:
    found = placed(rows, known, WhenElsewhere.MOVE, target)
    lies = dict(known)
    columns = (found.rows, found.partition, found.bucket, found.is_retract)
    for row, partition, bucket, is_retract in zip(*(column.tolist() for column in columns), strict=True):
        key = rows[row][0]
        if is_retract:
            assert lies.pop(key) == (partition, bucket)
        else:
            assert lies.setdefault(key, (partition, bucket)) == (partition, bucket)
    before, after = counts_of(known), counts_of(lies)
    for partition, buckets in after.items():
        for bucket, count in buckets.items():
            assert count <= max(target, before.get(partition, {}).get(bucket, 0))

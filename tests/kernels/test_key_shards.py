"""Each key belongs to one shard, which is that of the assigner that may open buckets for it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from table_format.kernels.hash_buckets import AssignRules, places_of_new
from table_format.kernels.hashing import row_hashes
from table_format.kernels.key_shards import WHOLE, KeyShard
from table_format.model.types import BigIntType, VarCharType

TYPES = (BigIntType(), VarCharType(20))


def keys(count: int) -> pa.RecordBatch:
    numbers = np.arange(count)
    columns = [pa.array(numbers * 7919 - 500), pa.array([f"k{n % 5}" for n in numbers]), pa.array(numbers)]
    return pa.RecordBatch.from_arrays(columns, names=["a", "b", "row"])


@pytest.mark.parametrize("of", [1, 2, 3, 7])
def test_shards_share_all_keys(of: int) -> None:
    batch = keys(200)
    parts = [KeyShard(number, of).part_of(TYPES, batch).column("row").to_pylist() for number in range(of)]
    assert sorted(row for part in parts for row in part) == list(range(200))
    assert all(len(part) > 0 for part in parts)


def test_new_keys_of_a_shard_go_to_buckets_of_its_assigner() -> None:
    batch = keys(300)
    rules = AssignRules(target_rows=10, assigners=3)
    for number in range(3):
        part = KeyShard(number, 3).part_of(TYPES, batch)
        buckets = places_of_new({}, row_hashes(TYPES, part.columns[:2]), rules)
        assert set((buckets % 3).tolist()) == {number}


def test_a_single_writer_has_all_keys() -> None:
    assert WHOLE.is_whole
    assert WHOLE.part_of(TYPES, keys(5)).num_rows == 5
    assert KeyShard(1, 2).part_of(TYPES, keys(0)).num_rows == 0

"""The cost of assigning dynamic buckets to keys: ``python -m benchmarks.assigner``.

Keys are hashed like in the writer and assigned batch by batch to one partition: first all new, then all known. They are
compared with a Python dict from hash to bucket, which the Python client of Apache Paimon uses.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
import pyarrow as pa

from table_format.kernels.hash_buckets import AssignRules, HashBuckets, Hashes, assign
from table_format.kernels.hashing import row_hashes
from table_format.model.types import BigIntType

R = TypeVar("R")

BATCH_ROWS = 100_000


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--keys", type=int, default=10_000_000)
    arguments.add_argument("--target-rows", type=int, default=2_000_000)
    chosen = arguments.parse_args()
    keys = np.random.default_rng(1).permutation(chosen.keys)
    rules = AssignRules(target_rows=chosen.target_rows)
    index = HashBuckets()
    hashed = _timed("hashing", chosen.keys, lambda: list(_hashes(keys)))
    _timed("assigning new keys", chosen.keys, lambda: [assign(index, hashes, rules) for hashes in hashed])
    _timed("assigning known keys", chosen.keys, lambda: [assign(index, hashes, rules) for hashes in hashed])
    print(f"{len(index):,} hashes in {len(index.counts)} buckets: {index.nbytes / len(index):.1f} bytes for each")
    plain: dict[int, int] = {}
    _timed("a dict, new keys", chosen.keys, lambda: [_put(plain, hashes, chosen.target_rows) for hashes in hashed])
    # The table of the dict and a number for each hash; the numbers of buckets are shared.
    print(f"a dict of them: {sys.getsizeof(plain) / len(plain) + sys.getsizeof(1 << 31):.1f} bytes for each")


def _hashes(keys: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Iterator[Hashes]:
    for start in range(0, len(keys), BATCH_ROWS):
        yield row_hashes([BigIntType(nullable=False)], [pa.array(keys[start : start + BATCH_ROWS])])


def _put(plain: dict[int, int], hashes: Hashes, target_rows: int) -> None:
    for value in hashes.tolist():
        if value not in plain:
            plain[value] = len(plain) // target_rows


def _timed(what: str, keys: int, work: Callable[[], R]) -> R:
    began = time.perf_counter()
    found = work()
    seconds = time.perf_counter() - began
    print(f"{what:24} {seconds:7.2f} s {keys / seconds / 1e6:7.1f} M keys/s", flush=True)
    return found


if __name__ == "__main__":
    main()

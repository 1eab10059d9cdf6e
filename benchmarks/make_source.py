"""Generates the rows for the measurements. It is a separate module, because some environments of engines lack NumPy."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.source import PARTITION, UPSERTS, Source

PARTITIONS = 8
ROWS_AT_ONCE = 1_000_000


def make(source: Source) -> None:
    """Write the files that are missing: those of ``make_batches``, the merged rows, and the rows that move keys."""
    make_batches(source)
    batches = [source.base, *map(source.upsert, range(UPSERTS))]
    if not source.merged.exists():
        state = pa.concat_tables(map(pq.read_table, batches))
        pq.write_table(_last_of_each_key(state), source.merged)
    for rows in batches:
        if not source.moving(rows).exists():
            table = pq.read_table(rows)
            partitions = pa.array(table["i1"].to_numpy() % PARTITIONS)
            pq.write_table(table.append_column(PARTITION, partitions), source.moving(rows))


def make_batches(source: Source) -> None:
    """Write ``rows`` base rows, then batches of a tenth, half of them known keys, if they are missing.

    The base rows are generated a million at a time. Of all of them, only the keys are in memory.
    """
    if source.upsert(UPSERTS - 1).exists():
        return
    source.directory.mkdir(parents=True, exist_ok=True)
    chance = np.random.default_rng(20260101)
    keys = chance.permutation(source.rows).astype(np.int64)
    first = _rows(chance, keys[:ROWS_AT_ONCE])
    with pq.ParquetWriter(source.base, first.schema) as base:
        base.write_table(first)
        for start in range(ROWS_AT_ONCE, source.rows, ROWS_AT_ONCE):
            base.write_table(_rows(chance, keys[start : start + ROWS_AT_ONCE]))
    next_key = source.rows
    for number in range(UPSERTS):
        half = source.upsert_rows // 2
        known = chance.choice(next_key, half, replace=False).astype(np.int64)
        fresh = np.arange(next_key, next_key + half, dtype=np.int64)
        next_key += half
        pq.write_table(_rows(chance, chance.permutation(np.concatenate([known, fresh]))), source.upsert(number))


def _last_of_each_key(state: pa.Table) -> pa.Table:
    numbered = pa.table({"k": state["k"], "row": pa.array(np.arange(state.num_rows))})
    winners = numbered.group_by("k").aggregate([("row", "max")])
    return state.take(winners["row_max"])


def _rows(chance: np.random.Generator, keys: np.ndarray) -> pa.Table:
    count = len(keys)
    words = np.array([f"{w:020d}" for w in range(1000)])
    cents = pc.divide(pa.array(chance.integers(0, 10**9, count)).cast(pa.decimal128(19, 0)), pa.scalar(Decimal(100)))
    columns = {
        "k": pa.array(keys),
        "i1": pa.array(chance.integers(0, 100, count, dtype=np.int32)),
        "i2": pa.array(chance.integers(0, 10**6, count, dtype=np.int32)),
        "i3": pa.array(chance.integers(-(2**31), 2**31 - 1, count, dtype=np.int32)),
        "d1": pa.array(chance.random(count)),
        "d2": pa.array(chance.normal(size=count)),
        "s1": pa.array(words[chance.integers(0, 1000, count)]),
        "s2": pa.array(np.char.add("customer-", chance.integers(10**10, 10**11, count).astype(str))),
        "s3": pa.array(np.char.add("product-", chance.integers(10**11, 10**12, count).astype(str))),
        "amount": cents.cast(pa.decimal128(18, 2)),
        "ts": pa.array(chance.integers(1_700_000_000_000_000, 1_760_000_000_000_000, count)).cast(pa.timestamp("us")),
    }
    table = pa.table(columns)
    return table.cast(pa.schema([f.with_nullable(f.name != "k") for f in table.schema]))

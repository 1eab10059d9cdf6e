"""Batches are bounded in bytes, whatever little a file stores of them: one long text a million times takes nothing."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from table_format.formats.batch_rows import MAX_BATCH_BYTES, MAX_BATCH_ROWS, UNMEASURED_BYTES, MeasuredRows, sliced
from tests.support.tables import disk_warehouse

ROWS = 6_000
TEXT = "x" * 20_000
SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), ("s", pa.string()), ("b", pa.list_(pa.binary()))])


def wide_rows(start: int, count: int) -> pa.Table:
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), [TEXT]).cast(pa.string())
    lists = pa.array([[TEXT.encode()[:1000]]] * count, pa.list_(pa.binary()))
    return pa.table([pa.array(range(start, start + count)), texts, lists], schema=SCHEMA)


@pytest.mark.parametrize("keys", [[], ["k"]], ids=["append", "merge"])
@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_batches_of_long_texts_are_bounded(tmp_path: Path, file_format: str, keys: list[str]) -> None:
    options = {"file.format": file_format, "bucket": "1" if keys else "-1", "write-only": "true"}
    table = disk_warehouse(tmp_path).table(schema=SCHEMA, primary_keys=keys, options=options)
    table.append(wide_rows(0, ROWS))
    table.append(wide_rows(ROWS - 10, 20))
    seen: list[int] = []
    for batch in table.scan().to_batches(threads=1):
        assert batch.nbytes <= MAX_BATCH_BYTES or batch.num_rows == 1
        assert set(batch.column("s").to_pylist()) == {TEXT}
        seen += batch.column("k").to_pylist()
    expected = [*range(ROWS), *range(ROWS - 10, ROWS + 10)] if not keys else [*range(ROWS + 10)]
    assert sorted(seen) == sorted(expected)


def test_slices_share_their_memory_and_hold_every_row() -> None:
    batch = pa.record_batch({"s": ["x" * 1_000_000] * 100 + ["y"] * 1000})
    before = pa.total_allocated_bytes()
    pieces = list(sliced(batch))
    assert pa.total_allocated_bytes() - before < 10_000
    assert all(piece.nbytes <= MAX_BATCH_BYTES for piece in pieces)
    assert pa.Table.from_batches(pieces).combine_chunks().equals(pa.Table.from_batches([batch]))
    one = pa.record_batch({"s": ["x" * (2 * MAX_BATCH_BYTES)]})
    assert list(sliced(one)) == [one]


def test_narrow_rows_are_soon_read_as_many_at_once_as_ever() -> None:
    rows = MeasuredRows(MAX_BATCH_ROWS, widest_bytes=UNMEASURED_BYTES)
    steps = []
    while rows.rows < MAX_BATCH_ROWS:
        steps.append(rows.rows)
        rows.add(pa.record_batch({"s": ["narrow"] * rows.rows}))
    assert steps == [128, 2048, 32_768]
    rows.add(pa.record_batch({"s": ["x" * 1_000_000] * 100}))
    assert rows.rows == MAX_BATCH_BYTES // 1_000_004

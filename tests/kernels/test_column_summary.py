"""The column statistics of ANALYZE."""

from __future__ import annotations

import math
from datetime import datetime

import pyarrow as pa
import pytest

from table_format.kernels import column_summary
from table_format.kernels.column_summary import ColumnSummary, SummaryBuilder
from table_format.model.types import (
    BigIntType,
    BinaryType,
    DataType,
    DoubleType,
    IntType,
    TimestampType,
    VarCharType,
)


def summary_of(data_type: DataType, *batches: pa.Array) -> ColumnSummary:
    builder = SummaryBuilder(data_type)
    for batch in batches:
        builder.add(batch)
    return builder.summary()


def bounds_of(found: ColumnSummary) -> tuple[object, object]:
    return found.minimum.to_pylist(), found.maximum.to_pylist()


def test_batches_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_summary, "_PENDING_VALUES", 10)
    batches = [pa.array([i % 37, None, i], pa.int32()) for i in range(100)]
    found = summary_of(IntType(), *batches)
    assert (found.distinct_count, found.null_count, bounds_of(found)) == (100, 100, ([0], [99]))
    assert (found.average_length, found.maximum_length) == (4, 4)


def test_a_column_without_values_has_no_bounds() -> None:
    for batches in ((), (pa.nulls(3, pa.int64()),)):
        found = summary_of(BigIntType(), *batches)
        assert (found.distinct_count, found.null_count, bounds_of(found)) == (0, 3 * len(batches), ([], []))
    assert summary_of(VarCharType()).average_length == 20
    assert summary_of(BinaryType()).maximum_length == 100


def test_lengths_of_text_are_characters_and_of_bytes_bytes() -> None:
    text = summary_of(VarCharType(), pa.array(["a", "数据", "\U0001f600xyz", None]))
    assert (text.average_length, text.maximum_length) == (3, 4)
    data = summary_of(BinaryType(), pa.array([b"ab", b""]), pa.array([b"abcde"]))
    assert (data.average_length, data.maximum_length, bounds_of(data)) == (3, 5, ([], []))


def test_nan_is_larger_than_every_number_and_zero_has_one_sign() -> None:
    found = summary_of(DoubleType(), pa.array([0.0, -0.0, math.nan, math.nan, -1.0, None]))
    assert found.distinct_count == 3
    assert found.minimum.to_pylist() == [-1.0]
    assert math.isnan(found.maximum[0].as_py())
    only = summary_of(DoubleType(), pa.array([math.nan, -math.nan]))
    assert only.distinct_count == 1
    assert math.isnan(only.minimum[0].as_py())


def test_times_beyond_those_of_python_have_bounds() -> None:
    late = pa.array([253_402_300_800_000_000, 0], pa.int64()).view(pa.timestamp("us"))
    found = summary_of(TimestampType(6), late)
    assert found.maximum.view(pa.int64()).to_pylist() == [253_402_300_800_000_000]
    assert found.minimum.to_pylist() == [datetime(1970, 1, 1)]

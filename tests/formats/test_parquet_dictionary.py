"""Which columns get a dictionary."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_format.formats.parquet_dictionary import dictionary_columns


@given(st.sampled_from([63, 64, 100, 999, 8192]), st.integers(1, 1000), st.booleans(), st.booleans())
def test_less_than_a_tenth_of_different_values_make_a_dictionary(
    rows: int, different: int, texts: bool, with_nulls: bool
) -> None:
    values = [None if with_nulls and row % 3 == 0 else row * 7919 % different for row in range(rows)]
    column = pa.array(values, pa.int64())
    distinct = len({value for value in values if value is not None})
    expected = ["c"] if rows >= 64 and distinct < rows / 10 else []
    chosen = column.cast(pa.string()) if texts else column
    assert dictionary_columns([("c", pa.chunked_array([chosen]))]) == expected


@pytest.mark.parametrize(("different", "expected"), [(800, ["c"]), (900, [])])
def test_a_column_of_many_rows_is_judged_by_a_sample(different: int, expected: list[str]) -> None:
    column = pa.array([row * 7919 % different for row in range(100_000)])
    halves = pa.chunked_array([column.slice(0, 50_000), column.slice(50_000)])
    assert dictionary_columns([("c", halves)]) == expected

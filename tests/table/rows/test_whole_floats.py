"""Integers of pandas that are floating point because a value is missing."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_format.errors import InvalidData
from table_format.model.types import BigIntType, DataField, DataType, DoubleType, SmallIntType
from table_format.table.rows.whole_floats import with_integers
from tests.support.tables import memory_warehouse


def type_after(values: list[float | None], wanted: DataType) -> str:
    rows = pa.Table.from_pandas(pd.DataFrame({"v": pd.Series(values, dtype="float64")}))
    return str(with_integers(rows, [DataField(0, "v", wanted)]).schema.field("v").type)


@pytest.mark.parametrize(
    ("values", "wanted", "found"),
    [
        ([1.0, None], BigIntType(), "int64"),
        ([None, None], BigIntType(), "int64"),
        ([2.0**53, -(2.0**53), None], BigIntType(), "int64"),
        ([2.0**53 + 2, None], BigIntType(), "double"),
        ([0.5, None], BigIntType(), "double"),
        ([float("inf"), None], BigIntType(), "double"),
        ([1.0, 2.0], BigIntType(), "double"),
        ([32767.0, None], SmallIntType(), "int16"),
        ([32768.0, None], SmallIntType(), "double"),
        ([1.0, None], DoubleType(), "double"),
    ],
)
def test_only_whole_numbers_with_a_gap_that_the_column_holds_become_integers(
    values: list[float | None], wanted: DataType, found: str
) -> None:
    assert type_after(values, wanted) == found


@given(st.lists(st.none() | st.integers(-(2**53), 2**53), max_size=5))
def test_the_integers_are_those_before_pandas_widened_them(numbers: list[int | None]) -> None:
    rows = pa.Table.from_pandas(pd.DataFrame({"v": pd.Series([*numbers, None], dtype="float64")}))
    assert with_integers(rows, [DataField(0, "v", BigIntType())])["v"].to_pylist() == [*numbers, None]


def test_pandas_rows_that_were_read_can_be_written_again() -> None:
    warehouse = memory_warehouse()
    table = warehouse.table(schema=pa.schema([("dt", pa.string()), ("n", pa.int64())]), partition_keys=["dt"])
    table.append(pa.table({"dt": ["a", "a"], "n": [1, None]}))
    table.append(table.scan().to_pandas())
    table.overwrite(table.scan().to_pandas()[["n"]], partition={"dt": "b"})
    assert table.scan(filter="dt = 'b'").to_arrow()["n"].to_pylist() == [1, None, 1, None]


def test_other_frames_keep_their_types() -> None:
    table = memory_warehouse().table(schema=pa.schema([("n", pa.int64())]))
    with pytest.raises(InvalidData, match="column 'n' is BIGINT, which cannot hold"):
        table.append(pa.table({"n": [1.0, None]}))

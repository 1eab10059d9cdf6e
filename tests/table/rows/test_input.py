"""Rows of other types are refused with what to write."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pytest

from table_format.errors import InvalidData
from table_format.table.rows.input import reader_of


@pytest.mark.parametrize(
    ("rows", "advice"),
    [
        ([{"id": 1}], r"found list; use pyarrow\.Table\.from_pylist\(rows"),
        ({"id": [1]}, r"found dict; use pyarrow\.table\(rows"),
        (pl.LazyFrame({"id": [1]}), r"found LazyFrame; use frame\.collect\(\)"),
        ("rows.csv", r"found str$"),
        (None, r"found NoneType$"),
    ],
)
def test_rows_of_another_type_are_refused_with_what_to_write(rows: object, advice: str) -> None:
    with pytest.raises(InvalidData, match=advice):
        reader_of(rows)  # type: ignore[arg-type]


def test_the_advice_for_lists_and_dictionaries_works() -> None:
    schema = pa.schema([pa.field("id", pa.int64())])
    for rows in (pa.Table.from_pylist([{"id": 1}], schema=schema), pa.table({"id": [1]}, schema=schema)):
        assert reader_of(rows).read_all().to_pylist() == [{"id": 1}]

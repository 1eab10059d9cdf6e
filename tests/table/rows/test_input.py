"""Rows of other types are refused with what to write."""

from __future__ import annotations

import pandas as pd
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


SALES = pd.DataFrame({"day": ["mon", "mon", "tue"], "shop": [1, 1, 2], "sold": [1, 2, 4]})


@pytest.mark.parametrize(
    ("frame", "lost"),
    [
        (SALES.groupby("day").sum(), "the index day, which"),
        (SALES.groupby(["day", "shop"]).sum(), "the index day, shop, which"),
        (SALES.groupby("day").sum().head(0), "the index day, which"),
        (SALES.set_index("day", drop=False).set_index("shop", append=True), "the index shop, which"),
    ],
)
def test_an_index_with_a_name_is_refused_instead_of_lost(frame: pd.DataFrame, lost: str) -> None:
    with pytest.raises(InvalidData, match=lost):
        reader_of(frame)
    kept = reader_of(frame.reset_index(level=[name for name in frame.index.names if name not in frame.columns]))
    assert {"day", "sold"} <= set(kept.schema.names)


def test_an_index_without_a_name_or_with_the_name_of_a_column_is_no_column() -> None:
    for frame in (SALES[SALES["sold"] > 1], SALES.set_index("day", drop=False), SALES.set_index(pd.Index([7, 8, 9]))):
        assert reader_of(frame).schema.names == ["day", "shop", "sold"]


def test_values_that_would_lose_their_meaning_are_refused() -> None:
    with pytest.raises(InvalidData, match="holds periods in month; convert them"):
        reader_of(pd.DataFrame({"month": pd.period_range("2026-01", periods=1, freq="M")}))
    with pytest.raises(InvalidData, match="holds Python objects in it, whose values"):
        reader_of(pl.DataFrame({"it": [object()]}))
    assert reader_of(pl.DataFrame({"it": [1]})).read_all().to_pylist() == [{"it": 1}]

"""Rows with Arrow's views of text and bytes, as polars passes them, are written like ordinary text and bytes."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_format import Insert, Schema, Table, Update, load_catalog
from table_format.table.rows.input import reader_of
from table_format.table.rows.views import without_views

_LEAVES = [pa.string_view(), pa.binary_view(), pa.string(), pa.int32(), pa.timestamp("us", "UTC")]


def _nested(inner: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[pa.DataType]:
    return st.one_of(
        inner.map(pa.list_),
        inner.map(pa.large_list),
        inner.map(lambda item: pa.list_(item, 2)),
        inner.map(lambda item: pa.map_(pa.string_view(), item)),
        st.lists(inner, min_size=1, max_size=3).map(_struct),
    )


def _struct(parts: list[pa.DataType]) -> pa.DataType:
    return pa.struct([pa.field(f"f{number}", part) for number, part in enumerate(parts)])


TYPES = st.recursive(
    st.one_of(
        st.sampled_from(_LEAVES), st.sampled_from(_LEAVES[:4]).map(lambda value: pa.dictionary(pa.uint32(), value))
    ),
    _nested,
    max_leaves=6,
)


@given(found=TYPES)
def test_no_type_keeps_a_view_and_a_type_without_views_stays(found: pa.DataType) -> None:
    plain = without_views(found)
    assert "view" not in str(plain)
    assert without_views(plain) == plain
    if "view" not in str(found):
        assert plain == found


@pytest.mark.parametrize("value", [pa.string_view(), pa.binary_view()])
def test_the_stream_of_rows_with_views_has_the_same_values_without_them(value: pa.DataType) -> None:
    texts = pa.array([b"a", None, b"a text that is longer than a view holds within itself"], pa.binary()).cast(value)
    keys = pa.DictionaryArray.from_arrays(pa.array([2, None, 0], pa.uint8()), texts)
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 2, 3], pa.int32()), keys)
    rows = pa.table({"texts": texts, "keys": keys, "lists": lists, "numbers": [1, 2, 3]}).slice(1)
    found = reader_of(rows).read_all()
    assert "view" not in str(found.schema)
    assert found.to_pylist() == rows.to_pylist()


@pytest.fixture
def orders(tmp_path: Path) -> Table:
    catalog = load_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("shop")
    columns = pa.table({"id": [1], "state": ["new"]}).schema
    return catalog.create_table("shop.orders", Schema.from_arrow(columns, ["id"], options={"bucket": "1"}))


def _states(orders: Table) -> dict[int, str]:
    return {row["id"]: row["state"] for row in orders.scan().to_arrow().to_pylist()}


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical, pl.Enum(["new", "paid", "sent", "+I", "-D"])])
def test_a_polars_frame_is_appended_merged_and_overwritten_with_any_type_of_text(
    orders: Table, kind: pl.DataType
) -> None:
    def frame(ids: list[int], **columns: list[str]) -> pl.DataFrame:
        return pl.DataFrame({"id": ids, **columns}, schema_overrides=dict.fromkeys(columns, kind))

    orders.append(frame([1, 2, 3], state=["new", "new", "paid"]))
    orders.append(frame([2], state=["new"], _row_kind=["-D"]))
    assert _states(orders) == {1: "new", 3: "paid"}
    orders.merge(
        frame([1, 4], state=["sent", "new"]),
        on="id",
        when_matched=Update({"state": "source.state"}, "source.state = 'sent'"),
        when_not_matched=Insert(),
    )
    assert _states(orders) == {1: "sent", 3: "paid", 4: "new"}
    orders.overwrite(frame([5], state=["paid"]))
    assert _states(orders) == {5: "paid"}

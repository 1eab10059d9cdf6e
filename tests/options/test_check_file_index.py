"""Indexes over columns that cannot have one are refused by name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from table_format.errors import InvalidOption, UnsupportedFeature
from table_format.model.schema import TableSchema
from table_format.model.types import BooleanType, DataField, DecimalType, IntType, MapType, VarCharType
from table_format.options.check import check_alterable, check_creatable

COLUMNS = "file-index.bloom-filter.columns"
TABLE = TableSchema(
    id=0,
    fields=(
        DataField(0, "i", IntType()),
        DataField(1, "d", DecimalType(4, 2)),
        DataField(2, "b", BooleanType()),
        DataField(3, "m", MapType(VarCharType(nullable=False), VarCharType())),
        DataField(4, "n", MapType(IntType(nullable=False), VarCharType())),
    ),
    highest_field_id=4,
)


def table(**options: str) -> TableSchema:
    return replace(TABLE, options={"bucket": "-1", **options})


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("i,x", "column 'x' does not exist; the columns are i, d, b, m, n"),
        ("d", r"column 'd' is DECIMAL\(4, 2\), which a bloom filter cannot hold"),
        ("b", "column 'b' is BOOLEAN"),
        ("m", "column 'm' is MAP"),
        ("i[a]", r"'i\[a\]' takes a MAP with text as keys; column 'i' is INT"),
        ("n[1]", r"'n\[1\]' takes a MAP with text as keys; column 'n' is MAP<INT"),
        ("i,,i", "not a legal value"),
    ],
)
def test_a_column_that_cannot_have_an_index(columns: str, message: str) -> None:
    with pytest.raises(InvalidOption, match=message) as caught:
        check_creatable(table(**{COLUMNS: columns}))
    assert caught.value.key == COLUMNS


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("file-index.bloom-filter.i.fpp", "0"),
        ("file-index.bloom-filter.i.fpp", "1"),
        ("file-index.bloom-filter.i.items", "0"),
        ("file-index.bloom-filter.i.items", "1000000000"),
        ("file-index.bloom-filter.m.items", "5"),
    ],
)
def test_a_setting_that_is_none(key: str, value: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        check_creatable(table(**{COLUMNS: "i", key: value}))
    assert caught.value.key == key


def test_a_setting_that_another_makes_idle_is_refused() -> None:
    bitmap = "file-index.bitmap.i"
    indexed = {"file-index.bitmap.columns": "i", f"{bitmap}.index-block-size": "1 kb"}
    with pytest.raises(InvalidOption, match=r"would have no effect: it needs 'file-index.bitmap.i.version' = 2"):
        check_creatable(table(**indexed, **{f"{bitmap}.version": "1"}))
    check_creatable(table(**indexed))


def test_maps_and_their_keys_have_settings() -> None:
    key = "file-index.bloom-filter.m"
    check_creatable(table(**{COLUMNS: "m[a],m[b]", f"{key}.items": "5", f"{key}[a].fpp": "0.5"}))


@pytest.mark.parametrize(
    ("index", "columns", "message"),
    [
        ("bitmap", "d", r"column 'd' is DECIMAL\(4, 2\), which a bitmap index cannot hold"),
        ("bitmap", "m", "column 'm' is MAP"),
        ("bsi", "b", "column 'b' is BOOLEAN, which a bit-slice index cannot hold"),
        ("bsi", "m[a]", r"column 'm\[a\]' is STRING, which a bit-slice index cannot hold"),
        ("range-bitmap", "m", "column 'm' is MAP.*, which a range bitmap cannot hold"),
        ("range-bitmap", "x", "column 'x' does not exist"),
    ],
)
def test_each_type_of_index_refuses_the_columns_it_cannot_hold(index: str, columns: str, message: str) -> None:
    key = f"file-index.{index}.columns"
    with pytest.raises(InvalidOption, match=message) as caught:
        check_creatable(table(**{key: columns}))
    assert caught.value.key == key


def test_indexes_that_columns_can_have_are_accepted_with_their_settings() -> None:
    check_creatable(
        table(
            **{
                "file-index.bitmap.columns": "i,b,m[a]",
                "file-index.bitmap.i.version": "1",
                "file-index.bitmap.m.index-block-size": "4 kb",
                "file-index.bsi.columns": "i,d",
                "file-index.range-bitmap.columns": "d,m[a]",
                "file-index.range-bitmap.d.chunk-size": "1 kb",
            }
        )
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("file-index.bitmap.i.version", "3"),
        ("file-index.bitmap.i.index-block-size", "19 b"),
        ("file-index.range-bitmap.i.chunk-size", "much"),
        ("file-index.range-bitmap.d.chunk-size", "1 kb"),
    ],
)
def test_a_setting_of_a_row_index_that_is_none(key: str, value: str) -> None:
    columns = {"file-index.bitmap.columns": "i", "file-index.range-bitmap.columns": "i"}
    with pytest.raises(InvalidOption) as caught:
        check_creatable(table(**{**columns, key: value}))
    assert caught.value.key == key


@pytest.mark.parametrize("key", ["file-index.bsi.i.version", "file-index.inverted.columns"])
def test_what_no_type_of_index_declares_is_not_supported(key: str) -> None:
    with pytest.raises(UnsupportedFeature, match=key):
        check_creatable(table(**{"file-index.bsi.columns": "i", key: "1"}))


def test_a_type_that_cannot_be_indexed_is_refused_when_it_comes() -> None:
    old = table(**{COLUMNS: "i"})
    fields = (DataField(0, "i", DecimalType(10, 0)), *old.fields[1:])
    with pytest.raises(InvalidOption, match="which a bloom filter cannot hold"):
        check_alterable(old, replace(old, fields=fields))
    with pytest.raises(InvalidOption, match="column 'x' does not exist"):
        check_alterable(old, replace(old, options={**old.options, COLUMNS: "i,x"}))

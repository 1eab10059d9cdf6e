"""JSON files of format tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format.errors import InvalidData
from table_format.format_table.files import Files
from table_format.io.memory import MemoryFileIO
from table_format.options.format_table import parse_options
from table_format.types import (
    ArrayType,
    BigIntType,
    BooleanType,
    DataField,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    MapType,
    RowType,
    TimestampType,
    VarBinaryType,
    VarCharType,
)

COLUMNS = (
    DataField(0, "n", BigIntType()),
    DataField(1, "t", VarCharType()),
    DataField(2, "f", DoubleType()),
    DataField(3, "ok", BooleanType()),
    DataField(4, "list", ArrayType(DecimalType(5, 2))),
    DataField(5, "map", MapType(IntType(), VarCharType())),
    DataField(6, "row", RowType((DataField(0, "x", VarBinaryType()), DataField(1, "y", TimestampType(3))))),
    DataField(7, "small", FloatType()),
)


def files(columns: Sequence[DataField] = COLUMNS, **options: str) -> Files:
    return Files(MemoryFileIO(), columns, parse_options({"file.format": "json", **options}))


def read(found: Files, data: bytes) -> list[dict[str, Any]]:
    found.io.create("/t/x.json", data)
    return [row for batch in found.read("/t/x.json", found.columns) for row in batch.to_pylist()]


def test_numbers_and_booleans_are_read_as_such_and_as_the_texts_that_java_writes() -> None:
    columns = (*COLUMNS[:4], COLUMNS[7])
    as_json = b'{"n":9007199254740993,"t":7,"f":1e3,"ok":true,"small":0.1,"other":[1]}\n\n{}\n'
    as_texts = b'{"n":"9007199254740993","t":"7","f":"1000.0","ok":"true","small":"0.1"}\r\n{"n":null}'
    expected = {"n": 2**53 + 1, "t": "7", "f": 1000.0, "ok": True, "small": pytest.approx(0.1)}
    for data in (as_json, as_texts):
        assert read(files(columns), data) == [expected, dict.fromkeys(expected)]


def test_a_line_that_is_not_json_and_a_value_that_does_not_fit_are_errors_or_left_out() -> None:
    columns = COLUMNS[:2]
    with pytest.raises(InvalidData, match=r"/t/x\.json: '\{\"n\":' is not a JSON object"):
        read(files(columns), b'{"n":1}\n{"n":\n')
    with pytest.raises(InvalidData, match=r"/t/x\.json: 'x' is not a value of column 'n'"):
        read(files(columns), b'{"n":"x"}\n')
    lenient = files(columns, **{"json.ignore-parse-errors": "true"})
    assert read(lenient, b'{"n":1}\n{"n":\n[1]\n{"n":"x","t":"y"}\n') == [
        {"n": 1, "t": None},
        {"n": None, "t": "y"},
    ]


VALUES = st.lists(
    st.fixed_dictionaries(
        {
            "n": st.none() | st.integers(-(2**63), 2**63 - 1),
            "t": st.none() | st.text(st.characters(blacklist_categories=["Cs"]), max_size=8),
            "f": st.none() | st.floats(allow_nan=False),
            "ok": st.none() | st.booleans(),
            "list": st.none() | st.lists(st.none() | st.decimals(-999, 999, places=2), max_size=3),
            "map": st.none() | st.dictionaries(st.integers(-9, 9), st.none() | st.text("ab\n", max_size=3), max_size=3),
            "row": st.none()
            | st.fixed_dictionaries(
                {
                    "x": st.none() | st.binary(max_size=4),
                    "y": st.none() | st.datetimes().map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000)),
                }
            ),
            "small": st.none() | st.floats(width=32, allow_nan=False),
        }
    ),
    max_size=12,
)


@settings(max_examples=30)
@given(VALUES)
def test_any_rows_are_read_back(rows: list[dict[str, Any]]) -> None:
    found = files()
    kinds = {
        "n": pa.int64(),
        "t": pa.string(),
        "f": pa.float64(),
        "ok": pa.bool_(),
        "list": pa.list_(pa.decimal128(5, 2)),
        "map": pa.map_(pa.int32(), pa.string()),
        "row": pa.struct([("x", pa.binary()), ("y", pa.timestamp("ms"))]),
        "small": pa.float32(),
    }
    table = pa.Table.from_pylist(
        [{**row, "map": None if row["map"] is None else list(row["map"].items())} for row in rows], pa.schema(kinds)
    )
    assert read(found, found.encoded(table.to_batches())) == table.to_pylist()

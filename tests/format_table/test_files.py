"""Parquet, ORC and text files of format tables, of this library and of others."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.orc as arrow_orc
import pyarrow.parquet as arrow_parquet
import pytest

from table_format.errors import BadEncoding, InvalidData
from table_format.format_table.files import Files
from table_format.io.memory import MemoryFileIO
from table_format.options.format_table import parse_options
from table_format.types import BigIntType, DataField, DecimalType, TimestampType, VarCharType

COLUMNS = (
    DataField(0, "a", BigIntType()),
    DataField(1, "b", VarCharType()),
    DataField(2, "at", TimestampType(3)),
    DataField(3, "price", DecimalType(10, 2)),
)
FORMATS = pytest.mark.parametrize("file_format", ["parquet", "orc"])


def files(file_format: str, columns: Any = COLUMNS, **options: str) -> Files:
    given = {key.replace("_", "-"): value for key, value in options.items()}
    return Files(MemoryFileIO(), columns, parse_options({"file.format": file_format, **given}))


def encoded(table: pa.Table, file_format: str) -> bytes:
    sink = pa.BufferOutputStream()
    if file_format == "parquet":
        arrow_parquet.write_table(table, sink)
    else:
        arrow_orc.write_table(table, sink)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def read(found: Files, data: bytes, name: str = "/t/x") -> list[dict[str, Any]]:
    found.io.create(name, data)
    return [row for batch in found.read(name, found.columns) for row in batch.to_pylist()]


@FORMATS
def test_columns_of_others_are_found_by_name_and_converted(file_format: str) -> None:
    table = pa.table(
        {
            "more": [1.5],
            "B": ["x"],
            "a": pa.array([7], pa.int32()),
            "at": pa.array([datetime(2026, 1, 2, 3, 4, 5, 678901)], pa.timestamp("us")),
        }
    )
    expected = {"a": 7, "b": "x", "at": datetime(2026, 1, 2, 3, 4, 5, 678000), "price": None}
    assert read(files(file_format), encoded(table, file_format)) == [expected]


def test_columns_without_names_in_a_file_of_an_old_hive_are_found_by_their_places() -> None:
    table = pa.table({"_col0": [7], "_col1": ["x"]})
    assert read(files("orc"), encoded(table, "orc")) == [{"a": 7, "b": "x", "at": None, "price": None}]


@FORMATS
def test_a_column_of_another_kind_is_an_error_that_names_the_file_and_both_types(file_format: str) -> None:
    table = pa.table({"a": [[1]]})
    with pytest.raises(InvalidData, match=r"/t/x: column 'a' is ARRAY<BIGINT>, which cannot be read as BIGINT"):
        read(files(file_format, COLUMNS[:1]), encoded(table, file_format))


@FORMATS
@pytest.mark.parametrize("compression", ["snappy", "zstd", "lz4", "none"])
def test_rows_are_read_back_with_every_compression_and_counted(file_format: str, compression: str) -> None:
    found = files(file_format, compression=compression)
    row = {"a": -1, "b": "é\n", "at": datetime(1969, 12, 31, 23, 59, 59, 5000), "price": Decimal("1.20")}
    empty = dict.fromkeys(row)
    batch = pa.RecordBatch.from_pylist(
        [row, empty],
        pa.schema({"a": pa.int64(), "b": pa.string(), "at": pa.timestamp("ms"), "price": pa.decimal128(10, 2)}),
    )
    assert read(found, found.encoded([batch])) == [row, empty]
    assert [batch.num_rows for batch in found.read("/t/x", [])] == [2]


@FORMATS
def test_a_damaged_file_is_named(file_format: str) -> None:
    with pytest.raises(BadEncoding, match="/t/x"):
        read(files(file_format), b"no such file")


def test_lines_of_text_are_the_values_of_the_only_column() -> None:
    found = files("text", COLUMNS[1:2])
    assert read(found, b"x, y\r\n\n z") == [{"b": "x, y"}, {"b": ""}, {"b": " z"}]
    assert found.encoded([pa.record_batch({"b": ["x", None]})]) == b"x\n\n"
    with pytest.raises(InvalidData, match="column 'b': a file of lines cannot hold the end of a line"):
        found.encoded([pa.record_batch({"b": ["x\n"]})])

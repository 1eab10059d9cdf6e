"""CSV files of format tables: what is written is read back, and files of others are read as Java reads them."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format.errors import BadEncoding, InvalidData
from table_format.format_table.csv_line import split_line
from table_format.format_table.files import Files
from table_format.io.memory import MemoryFileIO
from table_format.options.format_table import parse_options
from table_format.types import (
    BooleanType,
    DataField,
    DateType,
    DecimalType,
    DoubleType,
    IntType,
    VarBinaryType,
    VarCharType,
)

COLUMNS = (DataField(0, "a", IntType()), DataField(1, "b", VarCharType()), DataField(2, "c", DoubleType()))


def files(columns: Sequence[DataField] = COLUMNS, **options: str) -> Files:
    given_options = {key.replace("_", "-"): value for key, value in options.items()}
    return Files(MemoryFileIO(), columns, parse_options({"file.format": "csv", **given_options}))


def read(found: Files, data: bytes, wanted: Sequence[DataField] | None = None, name: str = "/t/x.csv") -> list[Any]:
    found.io.create(name, data)
    columns = found.columns if wanted is None else wanted
    return [tuple(row.values()) for batch in found.read(name, columns) for row in batch.to_pylist()]


@pytest.mark.parametrize(
    ("line", "row"),
    [
        (b"1,x,2.5", (1, "x", 2.5)),
        (b'1,"a,b",2.5', (1, "a,b", 2.5)),
        (rb'1,"q\"z",2.5', (1, 'q"z', 2.5)),
        (b'1,"q""z",2.5', (1, 'q"z', 2.5)),
        (rb'1,"a\\b",2.5', (1, "a\\b", 2.5)),
        (rb"1,a\b,2.5", (1, "ab", 2.5)),
        (b'1,a"b"c,2.5', (1, 'a"b"c', 2.5)),
        (b"1", (1, None, None)),
        (b"1,x,2.5,more,", (1, "x", 2.5)),
        (b'1,"x', (1, None, None)),
        (b'1,"",', (1, None, None)),
        (b'+1, x ,"7"', (1, " x ", 7.0)),
        (b"no,x,NaN0", (None, "x", None)),
        (b"", (None, None, None)),
        (b"  \t", (None, None, None)),
    ],
)
def test_a_line_is_read_as_java_reads_it_wherever_it_is(line: bytes, row: tuple[Any, ...]) -> None:
    plain, quoted = b"8,y,1.0\n", b'9,"y",1.0\n'
    assert read(files(), line + b"\n") == [row]
    around = plain + line + b"\r\n" + quoted + line + b"\n"
    assert read(files(), around) == [(8, "y", 1.0), row, (9, "y", 1.0), row]


def test_some_columns_are_read_and_rows_without_columns_are_counted() -> None:
    data = b"1,x,2.5\n2,y\n\n"
    assert read(files(), data, COLUMNS[1:2]) == [("x",), ("y",), (None,)]
    found = files()
    found.io.create("/t/x.csv", data)
    assert [batch.num_rows for batch in found.read("/t/x.csv", [])] == [3]


def test_a_value_that_does_not_fit_is_null_or_leaves_out_the_line_or_is_an_error() -> None:
    data = b'1,"x",1\nmany,"y",2\n3,"z",few\n'
    assert read(files(mode="permissive"), data) == [(1, "x", 1.0), (None, "y", 2.0), (3, "z", None)]
    assert read(files(mode="dropmalformed"), data) == [(1, "x", 1.0)]
    with pytest.raises(InvalidData, match=r"/t/x\.csv: 'many' is not a value of column 'a', which is INT"):
        read(files(mode="failfast"), data)


def test_the_first_line_of_each_file_is_its_header_if_the_option_says_so() -> None:
    found = files(header="true", seq=";", nullvalue="-")
    data = found.encoded([pa.record_batch({"a": [1, None], "b": [";", None], "c": [0.5, None]})])
    assert data == b'a;b;c\n1;";";0.5\n-;-;-\n'
    assert read(found, data) == [(1, ";", 0.5), (None, None, None)]


def test_compressed_files_and_those_with_a_byte_order_mark_are_read() -> None:
    assert read(files(), gzip.compress(b"\xef\xbb\xbf1,x,2\n"), name="/t/x.csv.gz") == [(1, "x", 2.0)]
    written = files(compression="gzip")
    assert written.extension == ".csv.gz"
    assert read(written, written.encoded([pa.record_batch({"a": [1], "b": ["x"], "c": [2.0]})]), name="/t/y.gz") == [
        (1, "x", 2.0)
    ]


def test_a_file_that_is_not_utf8_is_damaged() -> None:
    for data in (b"1,\xff,2\n", b'1,"\xff",2\n'):
        with pytest.raises(BadEncoding, match="UTF-8"):
            read(files(), data)


def test_a_text_with_the_end_of_a_line_cannot_be_written() -> None:
    for text in ("a\nb", "a\rb"):
        with pytest.raises(InvalidData, match=r"column 'b': a CSV file cannot hold the end of a line"):
            files().encoded([pa.record_batch({"a": [1], "b": [text], "c": [1.0]})])


def test_without_quotes_a_text_with_the_delimiter_cannot_be_written_and_null_is_that_of_hive() -> None:
    found = files(COLUMNS[:2], quote="\0", escape="\0", nullvalue=r"\N", seq="\x01")
    assert read(found, b'1\x01a"b\n\\N\x01\\N\n') == [(1, 'a"b'), (None, None)]
    assert found.encoded([pa.record_batch({"a": [1, None], "b": ['"', None]})]) == b'1\x01"\n\\N\x01\\N\n'
    with pytest.raises(InvalidData, match="without quotes cannot hold"):
        found.encoded([pa.record_batch({"a": [1], "b": ["x\x01y"]})])


TYPED = (
    DataField(0, "n", DecimalType(20, 3)),
    DataField(1, "t", VarCharType()),
    DataField(2, "ok", BooleanType()),
    DataField(3, "day", DateType()),
    DataField(4, "raw", VarBinaryType()),
)
TEXTS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\r\n"), max_size=8)
ROWS = st.lists(
    st.tuples(
        st.none() | st.decimals(-(10**16), 10**16, places=3),
        st.none() | TEXTS | st.text(st.sampled_from(',;"\\ \t\x01ab'), max_size=6),
        st.none() | st.booleans(),
        st.none() | st.dates(),
        st.none() | st.binary(max_size=5),
    ),
    max_size=30,
)
CHARACTERS = st.sampled_from(
    [("\\", '"', ","), ("\\", '"', "\x01"), ("\0", '"', ";"), ("^", "'", "\t"), ("\\", "/", "1")]
)


@settings(max_examples=40)
@given(ROWS, CHARACTERS)
def test_rows_are_read_back_with_any_characters_except_that_nothing_becomes_null(
    rows: list[tuple[Any, ...]], characters: tuple[str, str, str]
) -> None:
    escape, quote, delimiter = characters
    for columns in (TYPED, TYPED[1:2]):
        found = files(columns, escape=escape, quote=quote, seq=delimiter)
        chosen = [tuple(row[field.id] for field in columns) for row in rows]
        table = pa.table(
            {
                field.name: pa.array([row[i] for row in chosen], kind)
                for i, field in enumerate(columns)
                for kind in [[pa.decimal128(20, 3), pa.string(), pa.bool_(), pa.date32(), pa.binary()][field.id]]
            }
        )
        expected = [tuple(value if value not in ("", b"") else None for value in row) for row in chosen]
        assert read(found, found.encoded(table.to_batches())) == expected


@given(st.text(st.sampled_from('ab,"\\ '), min_size=1, max_size=12))
def test_a_line_is_split_alike_by_arrow_and_by_hand(line: str) -> None:
    columns = [DataField(number, f"c{number}", VarCharType()) for number in range(3)]
    found = files(columns)
    values = [*split_line(line, found.options), None, None, None][:3] if line.strip() else [None] * 3
    assert read(found, line.encode() + b"\n") == [tuple(value or None for value in values)]

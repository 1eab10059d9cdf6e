"""JSON lines: Arrow and Python read the same rows, in blocks of any size."""

from __future__ import annotations

from io import BytesIO

import click
import pyarrow as pa
import pyarrow.types as pt
import pytest

from table_format.cli import json_lines
from table_format.cli.json_lines import read_json_lines
from table_format.cli.values import json_lines as written_lines
from table_format.types import arrow_schema
from tests.support.typed_rows import SCALARS, fields_of, rows_of

# Arrow reads no NaN and no infinity, which JSON does not have.
TYPED = {name: column for name, column in SCALARS.items() if name not in ("single", "double_")}


@pytest.mark.parametrize("by", ["Arrow", "Python"])
@pytest.mark.parametrize("size", [1, 7, 1000, 1 << 20])
def test_every_value_is_read_in_blocks_of_any_size(by: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if by == "Arrow":
        monkeypatch.delattr(json_lines, "_read_with_python")
    else:
        monkeypatch.delattr(json_lines, "_read_with_arrow")
        monkeypatch.setattr(json_lines, "_needs_python", lambda _: True)
    monkeypatch.setattr(json_lines, "_BLOCK_BYTES", size)
    rows = rows_of(TYPED, fields_of(TYPED))
    text = "\r\n\n".join(line for batch in rows.to_batches() for line in written_lines(batch))
    found = pa.Table.from_batches(read_json_lines(BytesIO(text.encode()), rows.schema))
    assert str(found.to_pylist()) == str(rows.to_pylist())


@pytest.mark.parametrize("needs_python", [False, True])
def test_a_column_that_is_missing_is_null_and_another_one_is_text(
    needs_python: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_lines, "_needs_python", lambda _: needs_python)
    monkeypatch.setattr(json_lines, "_BLOCK_BYTES", 1)
    lines = b'{"b": 1, "kind": "+I"}\n{"a": null, "b": 2}\n'
    wanted = pa.schema([("a", pa.string()), ("b", pa.int8())])
    found = pa.Table.from_batches(read_json_lines(BytesIO(lines), wanted)).to_pylist()
    assert found == [{"a": None, "b": 1, "kind": "+I"}, {"a": None, "b": 2, "kind": None}]
    with pytest.raises(click.ClickException, match="line 3: column 'c' is not in the first lines of the file"):
        list(read_json_lines(BytesIO(lines + b'{"c": 1}\n'), wanted))


VALUES = (
    *("1", "-1", "1.5", "1e3", "1e400", "1E-50", "99999999999999999999999", "true", "null", "NaN", "-Infinity"),
    *('""', '"a"', '"NaN"', '"Infinity"', '"1.50"', '"1e5"', '"AA=="', '"AAAA"', r'"\ud800"', r'"\u0000"'),
    *('"2020-01-01"', '"2020-01-01T00:00:00.123000Z"', '"12:00:00"', '"12:00:00.1234567891"', "[]", "{}", "[null]"),
    *("[1]", '["x"]', "[[1]]", '{"a": 1}', '{"a": 1, "a": 2}', '{"b": [{"c": "2020-01-01"}, null]}', '{"1": ["AA=="]}'),
)
NESTED = (
    *(pa.list_(pa.int32()), pa.list_(pa.timestamp("ms")), pa.map_(pa.string(), pa.decimal128(5, 1))),
    *(pa.map_(pa.int32(), pa.list_(pa.binary())), pa.map_(pa.bool_(), pa.float64())),
    pa.struct([("a", pa.int32()), ("b", pa.list_(pa.struct([("c", pa.date32())])))]),
)
TYPES = {str(t): t for t in (*arrow_schema(fields_of(SCALARS)).types, *NESTED)}


@pytest.mark.parametrize("data_type", TYPES.values(), ids=TYPES)
def test_any_json_value_is_read_or_refused_with_its_line(data_type: pa.DataType) -> None:
    for value in VALUES:
        lines = b'{"x": null}\n{"x": %s}\n' % value.encode()
        try:
            (column,) = pa.Table.from_batches(read_json_lines(BytesIO(lines), pa.schema([("x", data_type)]))).columns
        except click.ClickException as error:
            assert "line 2: " in error.message  # noqa: PT017 - either is right
        else:
            assert (column.type, len(column), column[0].is_valid) == (data_type, 2, False)


@pytest.mark.parametrize(
    ("texts", "data_type", "first"),
    [
        (["2026-01-01T12:00:00", "2026-01-01"], pa.timestamp("s"), "2026-01-01 12:00:00"),
        (["2026-01-01T12:00:00+01:00", "2026-01-01 11:00Z"], pa.timestamp("s", "UTC"), "2026-01-01 11:00:00+00:00"),
        (["2026-01-01T12:00:00+01:00", "2026-01-01T12:00:00"], pa.string(), "2026-01-01T12:00:00+01:00"),
    ],
)
def test_the_offset_of_a_time_counts_where_columns_are_inferred(
    texts: list[str], data_type: pa.DataType, first: str
) -> None:
    rows = "".join(f'{{"at": "{text}", "n": [{{"at": "{text}"}}]}}\n' for text in texts)
    batch, *_ = read_json_lines(BytesIO(rows.encode()), pa.schema([]))
    assert (batch.schema.field("at").type, str(batch.column("at")[0])) == (data_type, first)
    nested = batch.schema.field("n").type.value_type.field("at").type
    assert nested == (data_type if data_type.equals(pa.timestamp("s")) else pa.string())


@pytest.mark.parametrize("data_type", [pa.timestamp("ms"), pa.list_(pa.timestamp("us"))], ids=str)
def test_a_time_with_an_offset_is_no_value_of_a_column_without_a_zone(data_type: pa.DataType) -> None:
    text = '"2026-01-01T12:00:00+01:00"'
    line = '{"at": %s}\n' % (text if pt.is_timestamp(data_type) else f"[{text}]")
    with pytest.raises(click.ClickException, match=r"line 1: column 'at' is .*: it has an offset, so the column must"):
        list(read_json_lines(BytesIO(line.encode()), pa.schema([("at", data_type)])))

"""Files of any format return the written rows: every type, nested and null, in bounded batches, with bounds."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given, settings

from table_format.errors import BadEncoding, CorruptionError, InvalidData, UnsupportedFeature
from table_format.formats.registry import format_of
from table_format.kernels.bounds import ColumnBounds
from table_format.kernels.statistics import column_bounds
from table_format.model.arrow_types import arrow_schema
from table_format.model.types import NESTED, DataField, DataType, IntType, VarCharType
from table_format.options.file_formats import FILE_FORMATS
from table_format.options.files import FileOptions
from tests.formats.files import a_batch, format_bytes, read_format
from tests.support.json_rows import json_rows
from tests.support.typed_rows import columns, fields_of, rows_of
from tests.support.typed_values import columns_of_type

FORMATS = tuple(FILE_FORMATS)
TEXT = [DataField(0, "s", VarCharType())]


def one_column(data_type: DataType, array: pa.Array) -> tuple[list[DataField], pa.RecordBatch]:
    fields = [DataField(7, "v", data_type)]
    return fields, pa.RecordBatch.from_arrays([array], schema=arrow_schema(fields))


@pytest.mark.parametrize("file_format", FORMATS)
@settings(max_examples=100, deadline=None)
@given(column=columns_of_type())
def test_any_column_is_read_back_unchanged(file_format: str, column: tuple[DataType, pa.Array]) -> None:
    fields, batch = one_column(*column)
    data, written = format_bytes(file_format, fields, batch, batch.slice(1))
    table = read_format(file_format, data, fields, batch_rows=3)
    expected = pa.concat_arrays([batch.column(0), batch.column(0).slice(1)])
    assert table.column(0).to_pylist() == expected.to_pylist()
    assert (written.row_count, written.file_size) == (len(expected), len(data))


@pytest.mark.parametrize("strict", [False, True], ids=["nullable", "not null"])
@pytest.mark.parametrize("file_format", FORMATS)
def test_all_types_are_read_back_together_and_in_any_selection(file_format: str, strict: bool) -> None:
    wanted = columns(file_format, strict=strict)
    fields = fields_of(wanted)
    rows = rows_of(wanted, fields)
    data, _ = format_bytes(file_format, fields, *rows.to_batches())
    assert text(read_format(file_format, data, fields, batch_rows=3), fields) == text(rows, fields)
    some = [fields[5], fields[-1], fields[0]]
    assert text(read_format(file_format, data, some), some) == text(rows, some)


def text(rows: pa.Table, fields: Sequence[DataField]) -> str:
    # In which NaN equals NaN; and Python knows neither year 0 nor nanoseconds.
    return repr(json_rows(rows, fields))


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_file_without_rows_or_columns_is_valid(file_format: str) -> None:
    wanted = columns(file_format)
    fields = fields_of(wanted)
    empty, written = format_bytes(file_format, fields)
    assert (read_format(file_format, empty, fields).num_rows, written.row_count) == (0, 0)
    data, _ = format_bytes(file_format, TEXT, a_batch(TEXT, [{"s": None}] * 5))
    assert read_format(file_format, data, [], batch_rows=2).num_rows == 5


@pytest.mark.parametrize("file_format", ["orc", "avro"])
def test_bounds_are_those_of_the_values_and_nested_columns_count_their_nulls(file_format: str) -> None:
    wanted = columns(file_format)
    fields = fields_of(wanted)
    rows = rows_of(wanted, fields).combine_chunks()
    _, written = format_bytes(file_format, fields, *rows.slice(0, 3).to_batches(), *rows.slice(3).to_batches())
    for field, bounds in zip(fields, written.bounds, strict=True):
        column = rows.column(field.name)
        expected = column_bounds(column, field.type)
        if isinstance(field.type, NESTED):
            expected = ColumnBounds(None, None, column.null_count, len(column))
        assert (bounds.minimum, bounds.maximum) == (expected.minimum, expected.maximum), field
        assert bounds.null_count == expected.null_count == (0 if field.name == "id" else 1), field


@pytest.mark.parametrize("file_format", ["orc", "avro"])
def test_a_nan_leaves_a_column_without_bounds(file_format: str) -> None:
    wanted = columns(file_format)
    assert any(math.isnan(value) for value in wanted["double_"][1])
    fields = fields_of({"double_": wanted["double_"]})
    _, written = format_bytes(file_format, fields, *rows_of(wanted, fields).to_batches())
    assert written.bounds[1] == ColumnBounds(None, None, 1, 8)


@pytest.mark.parametrize(("file_format", "codec"), [(f.name, c) for f in FILE_FORMATS.values() for c in f.codecs])
def test_files_of_every_compression_are_read_back(file_format: str, codec: str) -> None:
    batch = a_batch(TEXT, [{"s": f"{i % 7}"} for i in range(500)])
    data, _ = format_bytes(file_format, TEXT, batch, options=FileOptions(compression=codec))
    assert read_format(file_format, data, TEXT).equals(pa.Table.from_batches([batch]))


@pytest.mark.parametrize(("file_format", "codec"), [("parquet", "zlib"), ("orc", "gzip"), ("avro", "lz4")])
def test_a_compression_of_another_format_is_refused_by_name(file_format: str, codec: str) -> None:
    with pytest.raises(UnsupportedFeature, match=f"compression '{codec}' of {file_format} files"):
        format_bytes(file_format, TEXT, a_batch(TEXT, [{"s": "a"}]), options=FileOptions(compression=codec))


@pytest.mark.parametrize("file_format", FORMATS)
def test_the_size_of_a_file_is_known_while_it_is_written(file_format: str) -> None:
    sink = pa.BufferOutputStream()
    writer = format_of(file_format).open_writer(sink, TEXT, FileOptions(block_size=20_000))
    chance = random.Random(7)
    written = 0
    while not writer.reaches(200_000):
        batch = a_batch(TEXT, [{"s": f"{chance.getrandbits(256):064x}"} for _ in range(1000)])
        writer.write(batch)
        written += batch.nbytes
    assert 150_000 < writer.close().file_size < written


@pytest.mark.parametrize("file_format", FORMATS)
def test_columns_of_other_types_are_refused_on_both_sides(file_format: str) -> None:
    numbers = [DataField(0, "s", IntType())]
    with pytest.raises(InvalidData, match="int32"):
        format_bytes(file_format, TEXT, a_batch(numbers, [{"s": 1}]))
    data, _ = format_bytes(file_format, TEXT, a_batch(TEXT, [{"s": "no number"}]))
    with pytest.raises(BadEncoding, match=f"/f.{file_format}"):
        read_format(file_format, data, numbers)


@pytest.mark.parametrize("file_format", ["orc", "avro"])
@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_a_damaged_file_is_an_error_with_its_path_or_yields_valid_columns(file_format: str, compression: str) -> None:
    # Neither format has checksums of its own: a damaged value may pass, nothing else may.
    wanted = columns(file_format)
    fields = fields_of(wanted)
    data, _ = format_bytes(
        file_format, fields, *rows_of(wanted, fields).to_batches(), options=FileOptions(compression=compression)
    )
    refused = 0
    for damaged in damages(data):
        try:
            read_format(file_format, damaged, fields, batch_rows=8)
        except CorruptionError as error:
            refused += 1
            named = str(error)
        except UnsupportedFeature:
            refused += 1  # a name of a codec with another letter
        except AssertionError:
            refused += 1  # another number of rows than recorded, which the reader of data files notices
    assert refused > 40
    assert named.startswith(f"/f.{file_format}")


def damages(data: bytes) -> list[bytes]:
    """The file truncated, with changed bytes everywhere, and with large numbers in place of sizes."""
    step = max(len(data) // 60, 1)
    cut = [data[:size] for size in (0, 1, 3, 100, len(data) // 2, len(data) - 1)]
    changed = [data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :] for at in range(0, len(data), step)]
    near_the_end = range(len(data) - 40, len(data) - 4)
    large = [data[:at] + b"\xff\xff\xff\x7f" + data[at + 4 :] for at in near_the_end]
    return cut + changed + large

"""Rows that the format of the options cannot hold go to a file of another format, and nothing is lost."""

from __future__ import annotations

import pyarrow as pa
import pytest

from table_format.errors import InvalidData
from table_format.formats import avro_writer
from table_format.formats.registry import format_of
from table_format.formats.storable import FormatChoice, options_for
from table_format.model.types import (
    ArrayType,
    BooleanType,
    CharType,
    DataField,
    DataType,
    IntType,
    MapType,
    RowType,
    TimestampType,
    VarCharType,
)
from table_format.options.files import FileOptions
from tests.formats.files import Bucket, a_batch, a_schema

FIRST = DataField(0, "i", IntType(nullable=False))
BEFORE_1970 = -1
IN_2020 = 1_577_836_800_000_001
TOO_FAR = (2**63 - 1) // 1000 + 1


def rows(data_type: DataType, *values: object) -> tuple[pa.RecordBatch, list[DataField]]:
    fields = [FIRST, DataField(1, "c", data_type)]
    return a_batch(fields, [{"i": i, "c": value} for i, value in enumerate(values)]), fields


def chosen(wanted: str, data_type: DataType, *values: object) -> str:
    batch, fields = rows(data_type, *values)
    return FormatChoice(a_schema(*fields), fields, format_of(wanted)).of(batch).identifier


def ticks(value: int, unit: str = "us") -> pa.Scalar:
    return pa.scalar(value, pa.int64()).cast(pa.timestamp(unit))


@pytest.mark.parametrize(
    ("wanted", "data_type", "value", "expected"),
    [
        ("orc", TimestampType(6), ticks(IN_2020), "orc"),
        ("orc", TimestampType(6), ticks(BEFORE_1970), "parquet"),
        ("orc", ArrayType(TimestampType(6)), [ticks(BEFORE_1970)], "parquet"),
        ("avro", TimestampType(6), ticks(BEFORE_1970), "avro"),
        ("parquet", TimestampType(0), ticks(TOO_FAR, "s"), "orc"),
        ("avro", TimestampType(0), ticks(-TOO_FAR, "s"), "orc"),
        ("orc", TimestampType(0), ticks(TOO_FAR, "s"), "orc"),
        ("orc", VarCharType(3), "中中中", "orc"),
        ("orc", VarCharType(3), "longer", "parquet"),
        ("orc", CharType(3), "longer", "parquet"),
        ("orc", ArrayType(VarCharType(3)), ["longer"], "parquet"),
        ("avro", VarCharType(3), "longer", "avro"),
    ],
)
def test_the_format_that_is_asked_for_is_left_only_for_values_it_cannot_hold(
    wanted: str, data_type: DataType, value: object, expected: str
) -> None:
    fields = [FIRST, DataField(1, "c", data_type)]
    column = pa.array([value, None], a_batch(fields, []).schema.types[1])
    batch = pa.RecordBatch.from_arrays([pa.array([1, 2], pa.int32()), column], names=["i", "c"])
    assert FormatChoice(a_schema(*fields), fields, format_of(wanted)).of(batch).identifier == expected


def test_a_char_key_with_spaces_leaves_orc_and_a_char_column_does_not() -> None:
    batch, fields = rows(CharType(3, nullable=False), "x ", "x")
    for keys, expected in ((["c"], "parquet"), (["i"], "orc")):
        schema = a_schema(*fields, keys=keys)
        assert FormatChoice(schema, fields, format_of("orc")).of(batch).identifier == expected


def test_a_row_larger_than_a_block_of_avro_leaves_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(avro_writer, "MAX_AVRO_BLOCK_BYTES", 1000)
    monkeypatch.setattr(avro_writer, "_ROWS_MAY_BE_LARGE_FROM", 1000 // 32)
    assert chosen("avro", VarCharType(), *["x" * 900] * 5) == "avro"
    assert chosen("avro", VarCharType(), "x" * 900, "x" * 1000) == "parquet"


@pytest.mark.parametrize(
    ("data_type", "value"),
    [
        (BooleanType(), True),
        (VarCharType(), "x" * 50),
        (ArrayType(VarCharType()), ["x" * 10] * 5),
        (MapType(VarCharType(nullable=False), IntType()), [("a", 1), ("b", 2)]),
        (RowType((DataField(0, "s", VarCharType()), DataField(1, "a", ArrayType(IntType())))), {"s": "x", "a": [1, 2]}),
    ],
    ids=["BOOLEAN", "STRING", "ARRAY", "MAP", "ROW"],
)
def test_small_rows_are_not_encoded_to_learn_their_size(
    monkeypatch: pytest.MonkeyPatch, data_type: DataType, value: object
) -> None:
    def encoded(*_: object) -> bytes:
        pytest.fail("a row that cannot be large was encoded")

    monkeypatch.setattr(avro_writer, "_ROWS_MAY_BE_LARGE_FROM", 1000)
    monkeypatch.setattr(avro_writer, "encoded_rows", encoded)
    assert chosen("avro", data_type, *[value] * 5000) == "avro"


def test_the_formats_do_not_take_turns() -> None:
    good, fields = rows(TimestampType(6), ticks(IN_2020).as_py())
    bad, _ = rows(TimestampType(6), ticks(BEFORE_1970).as_py())
    choice = FormatChoice(a_schema(*fields), fields, format_of("orc"))
    assert [choice.of(batch).identifier for batch in (good, bad, good, bad)] == ["orc", "parquet", "parquet", "parquet"]


def test_a_row_that_no_format_can_hold_is_refused_by_name() -> None:
    fields = [FIRST, DataField(1, "a", TimestampType(0)), DataField(2, "b", TimestampType(6))]
    types = a_batch(fields, []).schema.types
    columns = [pa.array([1], pa.int32()), pa.array([TOO_FAR]).cast(types[1]), pa.array([BEFORE_1970]).cast(types[2])]
    batch = pa.RecordBatch.from_arrays(columns, names=["i", "a", "b"])
    with pytest.raises(InvalidData, match=r"column 'b': 1969-12-31 23:59:59.999999"):
        FormatChoice(a_schema(*fields), fields, format_of("orc")).of(batch)


def test_another_format_gets_a_compression_that_it_has() -> None:
    orc = FileOptions(format="orc", compression="zlib")
    assert options_for(orc, format_of("orc")) is orc
    assert options_for(orc, format_of("parquet")).codec_of("parquet") == "zstd"
    assert options_for(FileOptions(format="orc", compression="snappy"), format_of("parquet")).compression == "snappy"
    assert options_for(FileOptions(orc_compression="gzip"), format_of("orc")).codec_of("orc") == "zstd"


def test_one_writer_closes_its_file_and_goes_on_in_the_other_format() -> None:
    good, fields = rows(TimestampType(6), *[ticks(IN_2020).as_py()] * 3)
    bad, _ = rows(TimestampType(6), ticks(BEFORE_1970).as_py())
    bucket = Bucket([a_schema(*fields)], {"file.format": "orc", "file.compression": "zlib"})
    files = bucket.write(good, bad, good)
    assert [(file.file_name.rpartition(".")[2], file.row_count) for file in files] == [("orc", 3), ("parquet", 4)]
    assert [(file.min_sequence_number, file.max_sequence_number) for file in files] == [(0, 2), (3, 6)]
    expected = pa.Table.from_batches([good, bad, good])["c"].combine_chunks()
    assert bucket.read(files)["c"].combine_chunks().equals(expected)

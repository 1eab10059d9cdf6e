"""Parquet files are the same as those of Java Paimon: same schema and values, also at the limits of every type."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from table_format.codecs.schema_json import decode_schema
from table_format.errors import InvalidData, UnsupportedFeature
from table_format.formats import parquet_reader
from table_format.formats.parquet_reader import ParquetFileReader
from table_format.formats.parquet_types import parquet_schema
from table_format.formats.protocol import RowGroupFilter
from table_format.formats.registry import format_of
from table_format.kernels.bounds import ColumnBounds
from table_format.model.arrow_types import arrow_schema, arrow_type
from table_format.model.types import (
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataField,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)
from table_format.options.files import FileOptions
from tests.formats.files import a_batch, parquet_bytes, read_parquet
from tests.support.golden import golden_case

NAN = float("nan")
UTC = datetime.UTC
TS9_MIN, TS9_MAX = -(2**63), 2**63 - 1
NESTED_ROW = RowType(fields=(DataField(51, "x", IntType()), DataField(52, "t", TimestampType(precision=9))))

VALUES: list[tuple[DataType, list[Any]]] = [
    (BooleanType(), [True, False]),
    (TinyIntType(), [-128, 127]),
    (SmallIntType(), [-(2**15), 2**15 - 1]),
    (IntType(), [-(2**31), 2**31 - 1]),
    (BigIntType(), [-(2**63), 2**63 - 1]),
    (FloatType(), [0.0, -0.0, 1.5, float("inf"), float("-inf")]),
    (DoubleType(), [5e-324, 1.7976931348623157e308]),
    (DecimalType(precision=9, scale=2), [Decimal("-9999999.99"), Decimal("0.01")]),
    (DecimalType(precision=18, scale=0), [Decimal(10**18 - 1)]),
    (DecimalType(precision=38, scale=38), [Decimal("-0." + "9" * 38), Decimal("0." + "9" * 38)]),
    (DecimalType(precision=19, scale=1), [Decimal("-999999999999999999.9")]),
    (CharType(length=3), ["ab ", ""]),
    (VarCharType(), ["", "é😀", "x" * 5000]),
    (BinaryType(length=2), [b"\x00\xff"]),
    (VarBinaryType(), [b"", b"\xff" * 5000]),
    (DateType(), [datetime.date(1, 1, 1), datetime.date(9999, 12, 31)]),
    (TimeType(precision=3), [datetime.time(0), datetime.time(23, 59, 59, 999000)]),
    (TimestampType(precision=0), [datetime.datetime(1960, 1, 1, 23, 59, 59)]),
    (TimestampType(precision=3), [datetime.datetime(1960, 1, 1, 1, 2, 3, 4000)]),
    (TimestampType(precision=6), [datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)]),
    (TimestampType(precision=9), [TS9_MIN, -1, 0, TS9_MAX]),
    (LocalZonedTimestampType(precision=3), [datetime.datetime(1960, 1, 1, tzinfo=UTC)]),
    (LocalZonedTimestampType(precision=7), [-100, 4102444800000000000]),
    (ArrayType(element=IntType()), [[], [1, None]]),
    (ArrayType(element=TimestampType(precision=9)), [[], [-1, None]]),
    (MapType(key=VarCharType(nullable=False), value=ArrayType(element=BigIntType())), [[], [("a", [1]), ("b", None)]]),
    (MapType(key=IntType(nullable=False), value=TimestampType(precision=9)), [[(1, 5), (2, None)]]),
    (MultisetType(element=VarCharType(nullable=False)), [[("a", 2)]]),
    (NESTED_ROW, [{"x": 1, "t": -1}, {"x": None, "t": None}]),
    (ArrayType(element=NESTED_ROW), [[{"x": 1, "t": 7}, None]]),
]


@pytest.mark.parametrize(("data_type", "values"), VALUES, ids=lambda v: str(v) if isinstance(v, DataType) else "")
def test_values_come_back_as_they_were_written(data_type: DataType, values: list[Any]) -> None:
    fields = [DataField(0, "v", data_type)]
    column = pa.array([None, *values, None], arrow_type(data_type))
    # Slices, as writers get them: neither the first value nor the offsets begin at zero.
    batch = pa.RecordBatch.from_arrays([pa.concat_arrays([column, column]).slice(1)], schema=arrow_schema(fields))
    data, written = parquet_bytes(fields, batch)
    table = read_parquet(data, fields, batch_rows=2)
    assert table.column(0).type == arrow_type(data_type)
    assert table.equals(pa.Table.from_batches([batch]))
    assert (written.row_count, written.file_size) == (batch.num_rows, len(data))


@pytest.mark.parametrize(("data_type", "values"), VALUES, ids=lambda v: str(v) if isinstance(v, DataType) else "")
def test_empty_and_all_null_columns_come_back(data_type: DataType, values: list[Any]) -> None:
    fields = [DataField(0, "v", data_type)]
    for rows in (0, 3):
        data, _ = parquet_bytes(fields, a_batch(fields, [{"v": None}] * rows))
        assert read_parquet(data, fields).column(0).to_pylist() == [None] * rows


def test_the_schema_of_a_primary_key_file_is_javas() -> None:
    fields = [
        DataField(1073741823, "_KEY_k", IntType(nullable=False)),
        DataField(2147483646, "_SEQUENCE_NUMBER", BigIntType(nullable=False)),
        DataField(2147483645, "_VALUE_KIND", TinyIntType(nullable=False)),
        DataField(0, "k", IntType(nullable=False)),
        DataField(1, "t", TimeType(precision=0)),
        DataField(2, "d", DecimalType(precision=30, scale=2)),
        DataField(3, "ts", TimestampType(precision=9)),
        DataField(
            31, "am", ArrayType(element=MapType(key=IntType(nullable=False), value=ArrayType(element=IntType())))
        ),
    ]
    data, _ = parquet_bytes(fields)
    assert schema_text(pq.read_metadata(pa.BufferReader(data))) == (
        "required group schema {"
        " required int32 field_id=1073741823 _KEY_k;"
        " required int64 field_id=2147483646 _SEQUENCE_NUMBER;"
        " required int32 field_id=2147483645 _VALUE_KIND (Int(bitWidth=8, isSigned=true));"
        " required int32 field_id=0 k;"
        " optional int32 field_id=1 t (Time(isAdjustedToUTC=true, timeUnit=milliseconds));"
        " optional fixed_len_byte_array(13) field_id=2 d (Decimal(precision=30, scale=2));"
        " optional int96 field_id=3 ts;"
        " optional group field_id=31 am (List) { repeated group list {"
        " optional group field_id=536902656 element (Map) { repeated group key_value {"
        " required int32 field_id=536839165 key;"
        " optional group field_id=536902657 value (List) { repeated group list {"
        " optional int32 field_id=536902658 element; } } } } } } }"
    )


@pytest.mark.parametrize("case", ["types_parquet", "types_parquet__1.4.2", "nested_parquet", "nested_parquet__1.4.2"])
def test_rewriting_a_file_of_java_changes_neither_schema_nor_rows(case: str) -> None:
    rewritten = 0
    for path in sorted(golden_case(case).warehouse.glob("*.db/*/bucket-*/*.parquet")):
        schema_file = path.parent.parent / "schema" / "schema-0"
        fields = decode_schema(schema_file.read_bytes(), path=str(schema_file)).physical_fields
        java = path.read_bytes()
        rows = read_parquet(java, fields)
        ours, _ = parquet_bytes(fields, *rows.to_batches())
        expected, found = (schema_text(pq.read_metadata(pa.BufferReader(data))) for data in (java, ours))
        if not case.endswith("1.4.2"):  # 0.9 writes no field ids
            found = re.sub(r" field_id=\d+", "", found)
        assert found == expected, path
        # As text, in which NaN equals NaN.
        assert repr(read_parquet(ours, fields).to_pylist()) == repr(rows.to_pylist()), path
        rewritten += 1
    assert rewritten > 5


def schema_text(metadata: pq.FileMetaData) -> str:
    """The Parquet schema in one line, without what has no meaning: the root's name, an obsolete annotation."""
    text = re.sub(
        r"<.*?>|field_id=-1 |, is_from_converted_type=false, force_set_converted_type=false", "", str(metadata.schema)
    )
    text = text.replace("paimon_schema", "schema").replace("key_value (Map)", "key_value")
    return " ".join(text.split())


def test_a_column_is_given_a_dictionary_when_few_values_repeat() -> None:
    fields = [DataField(0, "id", IntType()), DataField(1, "s", VarCharType())]
    data, _ = parquet_bytes(fields, a_batch(fields, [{"id": i, "s": f"group {i % 3}"} for i in range(1000)]))
    group = pq.read_metadata(pa.BufferReader(data)).row_group(0)
    assert [group.column(i).has_dictionary_page for i in range(2)] == [False, True]
    data, _ = parquet_bytes(
        fields, a_batch(fields, [{"id": 1, "s": "a"}] * 1000), options=FileOptions(parquet_dictionary=False)
    )
    group = pq.read_metadata(pa.BufferReader(data)).row_group(0)
    assert [group.column(i).has_dictionary_page for i in range(2)] == [False, False]


@pytest.mark.parametrize("compression", ["zstd", "snappy", "gzip", "lz4", "none"])
def test_files_of_every_compression_are_read_back(compression: str) -> None:
    fields = [DataField(0, "s", VarCharType())]
    batch = a_batch(fields, [{"s": f"{i % 7}"} for i in range(500)])
    data, _ = parquet_bytes(fields, batch, options=FileOptions(compression=compression))
    codec = pq.read_metadata(pa.BufferReader(data)).row_group(0).column(0).compression
    assert codec == {"none": "UNCOMPRESSED"}.get(compression, compression.upper())
    assert read_parquet(data, fields).equals(pa.Table.from_batches([batch]))


def test_only_encodings_that_every_java_version_reads_are_used() -> None:
    fields = [DataField(0, "id", BigIntType()), DataField(1, "b", BooleanType()), DataField(2, "s", VarCharType())]
    data, _ = parquet_bytes(fields, a_batch(fields, [{"id": i, "b": True, "s": "a"} for i in range(1000)]))
    metadata = pq.read_metadata(pa.BufferReader(data))
    encodings = {e for i in range(3) for e in metadata.row_group(0).column(i).encodings}
    assert encodings <= {"PLAIN", "RLE", "PLAIN_DICTIONARY", "BIT_PACKED"}


def test_bounds_are_exact_and_cover_all_row_groups() -> None:
    fields = [
        DataField(0, "i", IntType()),
        DataField(1, "s", VarCharType()),
        DataField(2, "d", DecimalType(precision=20, scale=2)),
        DataField(3, "f", DoubleType()),
        DataField(4, "t", TimestampType(precision=9)),
        DataField(5, "n", DateType()),
        DataField(6, "a", ArrayType(element=IntType())),
    ]
    rows = [
        {"i": i, "s": f"{i:03}" * 2000, "d": Decimal(-i), "f": NAN if i == 7 else float(i), "t": i, "n": None, "a": []}
        for i in range(1, 60)
    ]
    data, written = parquet_bytes(fields, a_batch(fields, rows), options=FileOptions(block_size=20_000))
    assert pq.read_metadata(pa.BufferReader(data)).num_row_groups > 5
    assert written.bounds == (
        ColumnBounds(1, 59, 0, 59),
        ColumnBounds("001" * 2000, "059" * 2000, 0, 59),
        ColumnBounds(Decimal("-59.00"), Decimal("-1.00"), 0, 59),
        ColumnBounds(None, None, 0, 59),
        ColumnBounds(1, 59, 0, 59),
        ColumnBounds(None, None, 59, 59),
        ColumnBounds(None, None, None, 59),
    )


def test_columns_with_nan_have_no_statistics_in_the_footer() -> None:
    fields = [DataField(0, "x", DoubleType()), DataField(1, "y", DoubleType())]
    data, _ = parquet_bytes(fields, a_batch(fields, [{"x": NAN, "y": 1.0}, {"x": 2.0, "y": 2.0}]))
    group = pq.read_metadata(pa.BufferReader(data)).row_group(0)
    assert group.column(0).statistics is None
    assert group.column(1).statistics.max == 2.0


def test_row_groups_outside_the_bounds_are_skipped() -> None:
    fields = (DataField(0, "i", IntType()), DataField(1, "a.b", VarCharType()))
    batch = a_batch(fields, [{"i": i, "a.b": "x" * 100} for i in range(1000)])
    data, _ = parquet_bytes(fields, batch, options=FileOptions(block_size=10_000))
    reader = ParquetFileReader(pa.BufferReader(data), "/f", use_threads=False)
    asked: list[ColumnBounds] = []

    def above_900(bounds: Any) -> bool:
        asked.append(bounds["i"])
        return bounds["i"].maximum > 900

    batches = list(reader.batches(fields, row_groups=RowGroupFilter(fields[:1], above_900), batch_rows=64))
    table = pa.Table.from_batches(batches)
    assert len(asked) > 5
    assert table.num_rows < 300
    assert set(range(901, 1000)) <= set(table["i"].to_pylist())
    assert max(b.num_rows for b in batches) <= 64


@pytest.mark.parametrize("columns", [["i"], ["t0"], ["i", "t0"]])
def test_a_few_columns_of_a_small_wide_file_are_read_without_a_walk_through_its_footer(
    columns: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = [DataField(0, "i", IntType()), *(DataField(i + 1, f"t{i}", VarCharType()) for i in range(40))]
    batch = a_batch(fields, [{"i": i} | {f"t{k}": f"text {i}" for k in range(40)} for i in range(1000)])
    data, _ = parquet_bytes(fields, batch)
    monkeypatch.setattr(parquet_reader, "size_statistics", lambda _footer: pytest.fail("the footer is walked through"))
    reader = ParquetFileReader(pa.BufferReader(data), "/f", use_threads=False)
    wanted = [f for f in fields if f.name in columns]
    everything = RowGroupFilter(fields[:1], lambda _bounds: True)
    found = pa.Table.from_batches(reader.batches(wanted, row_groups=everything, batch_rows=5000))
    assert found.equals(pa.Table.from_batches([batch]).select(columns))


def test_texts_whose_bytes_the_file_states_are_decoded_in_one_batch() -> None:
    fields = [DataField(i, f"t{i}", VarCharType()) for i in range(20)]
    batch = a_batch(fields, [{f"t{k}": f"text {i}" for k in range(20)} for i in range(1000)])
    data, _ = parquet_bytes(fields, batch)
    reader = ParquetFileReader(pa.BufferReader(data), "/f", use_threads=False)
    assert [b.num_rows for b in reader.batches(fields, row_groups=None, batch_rows=5000)] == [1000]


@pytest.mark.parametrize("others", [0, 40])
def test_batches_of_a_small_file_that_repeats_a_long_text_stay_small(others: int) -> None:
    fields = [DataField(i, f"t{i}", VarCharType()) for i in range(others + 1)]
    row = {"t0": "x" * 1_000_000} | {f"t{i + 1}": "short" for i in range(others)}
    data, _ = parquet_bytes(fields, a_batch(fields, [row] * 500))
    assert len(data) < 100_000
    reader = ParquetFileReader(pa.BufferReader(data), "/f", use_threads=False)
    sizes = [(b.num_rows, b.nbytes) for b in reader.batches(fields[:1], row_groups=None, batch_rows=5000)]
    assert sum(rows for rows, _ in sizes) == 500
    assert max(size for _, size in sizes) <= 130 * 1_000_000  # the first rows show how long the texts are


def test_columns_are_found_by_name_whatever_the_name_is() -> None:
    names = ["a", "a.b", "list", "a.b.c", "`", "ö 😀"]
    fields = [DataField(i, name, IntType()) for i, name in enumerate(names)]
    fields.append(DataField(9, "r", RowType(fields=(DataField(10, "b", IntType()),))))
    row: dict[str, Any] = {name: i for i, name in enumerate(names)} | {"r": {"b": 9}}
    data, _ = parquet_bytes(fields, a_batch(fields, [row]))
    for field in fields:
        assert read_parquet(data, [field]).to_pylist() == [{field.name: row[field.name]}]
    assert read_parquet(data, [fields[3], fields[0]]).to_pylist() == [{"a.b.c": 3, "a": 0}]


def test_reading_no_column_still_counts_rows() -> None:
    fields = [DataField(0, "i", IntType())]
    data, _ = parquet_bytes(fields, a_batch(fields, [{"i": i} for i in range(10)]))
    reader = ParquetFileReader(pa.BufferReader(data), "/f", use_threads=False)
    assert [b.num_rows for b in reader.batches([], row_groups=None, batch_rows=4)] == [4, 4, 2]


def test_a_null_in_a_not_null_column_is_refused() -> None:
    fields = [DataField(0, "i", IntType(nullable=False))]
    with pytest.raises(InvalidData, match="non-nullable"):
        parquet_bytes(fields, a_batch(fields, [{"i": None}]))


_WITH_PRECISE = RowType(fields=(DataField(3, "t", TimestampType(9, nullable=False)),))
_STRICT = RowType(
    fields=(
        DataField(1, "x", IntType(nullable=False)),
        DataField(2, "inner", _WITH_PRECISE.not_null()),
        DataField(4, "texts", ArrayType(VarCharType(nullable=False), nullable=False)),
        DataField(5, "map", MapType(VarCharType(nullable=False), BooleanType(nullable=False), nullable=False)),
        DataField(6, "free", IntType()),
    )
)
_STRICT_VALUE = {"x": 1, "inner": {"t": 5}, "texts": ["a", "b"], "map": [("k", True)], "free": None}


@pytest.mark.parametrize(
    ("data_type", "values"),
    [
        (_STRICT, [None, _STRICT_VALUE, None]),
        (ArrayType(_STRICT), [[None, _STRICT_VALUE], None, [], [_STRICT_VALUE, None]]),
        (MapType(VarCharType(nullable=False), _STRICT), [[("a", None), ("b", _STRICT_VALUE)], None]),
        (RowType(fields=(DataField(9, "below", _STRICT),)), [None, {"below": None}, {"below": _STRICT_VALUE}]),
    ],
    ids=["row", "array", "map", "row below row"],
)
@pytest.mark.parametrize("first", [0, 1])
def test_a_null_row_may_have_fields_that_are_not_null(data_type: DataType, values: list[Any], first: int) -> None:
    fields = [DataField(0, "c", data_type)]
    column = pa.array(values, arrow_type(data_type)).slice(first)
    data, written = parquet_bytes(fields, pa.RecordBatch.from_arrays([column], schema=arrow_schema(fields)))
    assert written.row_count == len(values) - first
    assert read_parquet(data, fields).column("c").to_pylist() == column.to_pylist()


def test_a_visible_null_in_a_not_null_field_is_refused() -> None:
    fields = [DataField(0, "c", RowType(fields=(DataField(1, "x", IntType(nullable=False)),)))]
    batch = pa.RecordBatch.from_arrays([pa.array([None, {"x": None}], arrow_type(fields[0].type))], ["c"])
    with pytest.raises(InvalidData, match="'x' is declared non-nullable but contains nulls"):
        parquet_bytes(fields, batch)


def test_columns_of_other_types_are_refused() -> None:
    fields = [DataField(0, "i", IntType())]
    with pytest.raises(InvalidData, match="int32"):
        parquet_bytes(fields, pa.record_batch({"i": [1]}))


def test_other_formats_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedFeature, match="'csv'"):
        format_of("data-1.csv")


def test_java_files_with_a_schema_of_ours_need_no_conversion(tmp_path: Path) -> None:
    # What Arrow calls the entries of a map depends on the file; the type of the array does not.
    fields = [DataField(0, "m", MapType(key=VarCharType(nullable=False), value=IntType()))]
    table = pa.table([pa.array([[("a", 1)]], arrow_type(fields[0].type))], schema=parquet_schema(fields))
    pq.write_table(table, tmp_path / "f.parquet", store_schema=False)
    found = read_parquet((tmp_path / "f.parquet").read_bytes(), fields)
    assert found.schema.equals(arrow_schema(fields))

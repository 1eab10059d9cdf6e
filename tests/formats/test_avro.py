"""Avro files are the same as those of Java Paimon: identical schema, same values, both forms of the root."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO
from pathlib import Path

import fastavro
import pyarrow as pa
import pytest

from table_format.codecs.schema_json import decode_schema
from table_format.errors import BadEncoding, CorruptionError, InvalidData, Truncated, UnsupportedFeature
from table_format.formats import avro_writer
from table_format.formats.avro_types import avro_schema
from table_format.formats.registry import format_of
from table_format.model.types import (
    ArrayType,
    DataField,
    DataType,
    DateType,
    DecimalType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
    VarCharType,
)
from table_format.options.files import FileOptions
from tests.formats.files import a_batch, format_bytes, read_format
from tests.support.golden import golden_case
from tests.support.json_rows import json_rows

FIELDS = [DataField(0, "i", IntType(nullable=False)), DataField(1, "s", VarCharType())]


def java_files(case: str) -> list[tuple[Path, list[DataField]]]:
    """The Avro files of a golden case with the columns of their tables."""
    found = []
    for path in sorted(golden_case(case).warehouse.glob("*.db/*/bucket-*/*.avro")):
        schema = path.parent.parent / "schema" / "schema-0"
        found.append((path, list(decode_schema(schema.read_bytes(), path=str(schema)).physical_fields)))
    return found


def schema_in(data: bytes) -> str:
    return str(fastavro.reader(BytesIO(data)).metadata["avro.schema"])


@pytest.mark.parametrize("case", ["types_avro__1.4.2", "nested_avro__1.4.2"])
def test_our_schemas_are_identical_to_those_of_java(case: str) -> None:
    files = java_files(case)
    for path, fields in files:
        ours, _ = format_bytes("avro", fields)
        assert schema_in(ours) == schema_in(path.read_bytes()), path
    assert len(files) > 3


@pytest.mark.parametrize("case", ["types_avro", "types_avro__1.4.2", "nested_avro", "nested_avro__1.4.2"])
def test_rows_of_java_files_are_the_same_in_files_of_ours(case: str) -> None:
    roots = set()
    for path, fields in java_files(case):
        java = path.read_bytes()
        roots.add(schema_in(java)[0])
        rows = read_format("avro", java, fields)
        ours, _ = format_bytes("avro", fields, *rows.to_batches())
        found = json_rows(read_format("avro", ours, fields), fields)
        assert repr(found) == repr(json_rows(rows, fields)), path
    assert roots == ({"{"} if case.endswith("1.4.2") else {"["})  # 0.9 wrote a union with null around the record


def test_our_bytes_are_those_that_any_avro_reader_expects() -> None:
    entry = MapType(DateType(nullable=False), DecimalType(5, 2))
    fields = [
        *FIELDS,
        DataField(2, "m", entry),
        DataField(3, "b", MultisetType(VarCharType(nullable=False))),
        DataField(4, "t", TimestampType(6)),
        DataField(5, "z", LocalZonedTimestampType(0)),
    ]
    rows = [
        {"i": -1, "s": None, "m": [(1, Decimal("-1.28")), (2, None)], "b": [("x", 2)], "t": 5, "z": 3},
        {"i": 2**31 - 1, "s": "é", "m": [], "b": None, "t": None, "z": None},
    ]
    data, _ = format_bytes("avro", fields, a_batch(fields, rows), options=FileOptions(avro_compression="deflate"))
    reader = fastavro.reader(BytesIO(data))
    first, second = reader
    assert reader.codec == "deflate"
    assert first == {
        "i": -1,
        "s": None,
        "m": [{"key": date(1970, 1, 2), "value": Decimal("-1.28")}, {"key": date(1970, 1, 3), "value": None}],
        "b": {"x": 2},
        # The logical types of timestamps are the other way round than in Avro's specification.
        "t": datetime(1970, 1, 1, 0, 0, 0, 5, tzinfo=UTC),
        "z": datetime(1970, 1, 1, 0, 0, 3),
    }
    assert second == {"i": 2**31 - 1, "s": "é", "m": [], "b": None, "t": None, "z": None}


def test_records_of_one_schema_have_different_names() -> None:
    row = RowType((DataField(1, "c", IntType()),))
    nested = RowType((DataField(2, "b", row),))
    fields = [DataField(0, "a", nested), DataField(3, "a_b", row)]
    data, _ = format_bytes("avro", fields, a_batch(fields, [{"a": {"b": {"c": 1}}, "a_b": {"c": 2}}]))
    assert read_format("avro", data, fields).to_pylist() == [{"a": {"b": {"c": 1}}, "a_b": {"c": 2}}]
    fastavro.parse_schema(avro_schema(fields))


@pytest.mark.parametrize("data_type", [TimestampType(7), LocalZonedTimestampType(9), TimeType(4)])
def test_types_that_avro_lacks_are_refused_by_name_when_a_file_is_opened(data_type: DataType) -> None:
    with pytest.raises(UnsupportedFeature) as refusal:
        format_bytes("avro", [DataField(0, "a", ArrayType(data_type.with_nullable(False)))])
    assert refusal.value.feature == f"{data_type} in Avro files"


def test_blocks_are_small_and_batches_bounded_by_rows_across_them() -> None:
    batch = a_batch(FIELDS, [{"i": i, "s": "x" * 100} for i in range(5000)])
    data, _ = format_bytes("avro", FIELDS, batch, options=FileOptions(compression="none"))
    assert data.count(avro_sync(data)) > 8
    reader = format_of("avro").open_reader(pa.BufferReader(data), "/f.avro", use_threads=False)
    sizes = [b.num_rows for b in reader.batches(FIELDS, row_groups=None, batch_rows=1000)]
    assert sum(sizes) == 5000
    assert max(sizes) <= 1000


def avro_sync(data: bytes) -> bytes:
    return data[-16:]


def test_equal_rows_make_equal_files() -> None:
    batch = a_batch(FIELDS, [{"i": 1, "s": "a"}])
    assert format_bytes("avro", FIELDS, batch) == format_bytes("avro", FIELDS, batch)


def test_a_row_larger_than_any_block_is_refused_and_a_block_of_large_rows_divided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(avro_writer, "MAX_AVRO_BLOCK_BYTES", 1000)
    batch = a_batch(FIELDS, [{"i": i, "s": "x" * 400} for i in range(9)])
    data, _ = format_bytes("avro", FIELDS, batch)
    assert read_format("avro", data, FIELDS).equals(pa.Table.from_batches([batch]))
    with pytest.raises(InvalidData, match="the maximum in an Avro file is 1000"):
        format_bytes("avro", FIELDS, a_batch(FIELDS, [{"i": 1, "s": "x" * 1000}]))


def test_a_row_that_compresses_well_can_be_read_again() -> None:
    batch = a_batch(FIELDS, [{"i": 1, "s": "x" * 5_000_000}])
    data, _ = format_bytes("avro", FIELDS, batch)
    assert len(data) < 50_000
    assert read_format("avro", data, FIELDS).equals(pa.Table.from_batches([batch]))


def test_a_header_longer_than_the_first_read_is_read_whole() -> None:
    fields = [DataField(i, f"column_with_a_rather_long_name_{i}", IntType()) for i in range(1500)]
    data, _ = format_bytes("avro", fields, a_batch(fields, [{f.name: f.id for f in fields}]))
    assert read_format("avro", data, fields).to_pylist() == [{f.name: f.id for f in fields}]


def test_every_truncation_is_detected() -> None:
    batch = a_batch(FIELDS, [{"i": i, "s": "x"} for i in range(10)])
    data, _ = format_bytes("avro", FIELDS, batch)
    for size in range(len(data)):
        try:
            rows = read_format("avro", data[:size], FIELDS).num_rows
        except CorruptionError as error:
            assert isinstance(error, Truncated | BadEncoding)  # noqa: PT017 - which one depends on the place
        else:
            # Between blocks a file may end: its size and rows are recorded elsewhere.
            assert rows == 0


def test_a_file_with_other_columns_is_refused() -> None:
    data, _ = format_bytes("avro", FIELDS, a_batch(FIELDS, [{"i": 1, "s": "x"}]))
    with pytest.raises(BadEncoding, match="lacks the field 'j'"):
        read_format("avro", data, [DataField(0, "j", IntType(nullable=False))])
    with pytest.raises(BadEncoding, match="field 's'"):
        read_format("avro", data, [DataField(0, "s", IntType())])

"""ORC files are the same as those of Java Paimon: same schema and values, also where Arrow's own reader fails."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import orc

from table_format.codecs.schema_json import decode_schema
from table_format.errors import BadEncoding, InvalidData, UnsupportedFeature
from table_format.formats.orc_runs import unsigned_values
from table_format.formats.orc_tail import StripeStreams, Tail
from table_format.model.arrow_types import arrow_schema, arrow_type
from table_format.model.types import (
    ArrayType,
    BigIntType,
    CharType,
    DataField,
    DataType,
    DateType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    RowType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarCharType,
)
from table_format.options.files import FileOptions
from tests.formats.files import a_batch, format_bytes, read_format
from tests.support.golden import golden_case
from tests.support.json_rows import json_rows

DAWN, DUSK = datetime(1, 1, 1, 1, 2, 3), datetime(9999, 12, 31, 23, 59, 59, 999_999)


def java_files(case: str) -> list[tuple[Path, list[DataField]]]:
    """The ORC files of a golden case with the columns of their tables."""
    found = []
    for path in sorted(golden_case(case).warehouse.glob("*.db/*/bucket-*/*.orc")):
        schema = path.parent.parent / "schema" / "schema-0"
        found.append((path, list(decode_schema(schema.read_bytes(), path=str(schema)).physical_fields)))
    return found


@pytest.mark.parametrize("case", ["types_orc__1.4.2", "nested_orc__1.4.2"])
def test_our_schemas_carry_the_types_and_ids_of_javas(case: str) -> None:
    files = java_files(case)
    for path, fields in files:
        ours, _ = format_bytes("orc", fields)
        expected, found = (orc.ORCFile(pa.BufferReader(data)).schema for data in (path.read_bytes(), ours))
        assert found.equals(expected, check_metadata=True), path
    assert len(files) > 3


@pytest.mark.parametrize("case", ["types_orc", "types_orc__1.4.2", "nested_orc", "nested_orc__1.4.2"])
def test_rows_of_java_files_are_the_same_in_files_of_ours(case: str) -> None:
    for path, fields in java_files(case):
        # Timestamps before 1970 with parts of milliseconds are among the others.
        fields = [f for f in fields if f.name not in {"f_ts6", "f_ltz6", "f_ts9", "f_ltz9", "f_ts7"}]
        rows = read_format("orc", path.read_bytes(), fields)
        ours, _ = format_bytes("orc", fields, *rows.to_batches())
        found = json_rows(read_format("orc", ours, fields), fields)
        assert repr(found) == repr(json_rows(rows, fields)), path


@pytest.mark.parametrize("zone", [False, True], ids=["timestamp", "local zone"])
@pytest.mark.parametrize("precision", [0, 3, 6])
def test_timestamps_beyond_the_nanoseconds_of_arrow_are_read_at_any_depth(precision: int, zone: bool) -> None:
    scalar: DataType = LocalZonedTimestampType(precision) if zone else TimestampType(precision)
    row = RowType((DataField(10, "n", IntType()), DataField(11, "t", scalar), DataField(12, "u", scalar)))
    types: list[DataType] = [
        scalar,
        ArrayType(ArrayType(scalar)),
        MapType(VarCharType(nullable=False), row),
        row,
        IntType(),
    ]
    fields = [DataField(i, f"c{i}", t) for i, t in enumerate(types)]
    step = {0: 1_000_000, 3: 1_000, 6: 1}[precision]
    moments = [m.replace(microsecond=m.microsecond // step * step) for m in (DUSK, datetime(2024, 1, 1, 1, 1, 1, 1))]
    a, b = (pa.scalar(m, pa.timestamp("us")).cast(arrow_type(TimestampType(precision))).as_py() for m in moments)
    dawn = DAWN
    rows = [
        {"c0": a, "c1": [[b, None], [], None, [dawn]], "c2": [("x", {"n": 1, "t": a, "u": None})], "c3": None, "c4": 1},
        {"c0": None, "c1": None, "c2": None, "c3": {"n": None, "t": None, "u": b}, "c4": None},
        {"c0": dawn, "c1": [], "c2": [("y", None), ("z", {"n": 2, "t": b, "u": dawn})], "c3": None, "c4": 3},
    ] * 300
    schema = arrow_schema([DataField(f.id, f.name, _without_zone(f.type)) for f in fields])
    plain = pa.RecordBatch.from_pylist(rows, schema=schema)
    batch = pa.RecordBatch.from_arrays(
        [c.cast(t) for c, t in zip(plain.columns, arrow_schema(fields).types, strict=True)], schema=arrow_schema(fields)
    )
    for codec in ("zstd", "zlib", "snappy", "lz4", "none"):
        data, _ = format_bytes("orc", fields, batch, options=FileOptions(compression=codec))
        assert read_format("orc", data, fields, batch_rows=200).equals(pa.Table.from_batches([batch]))
        assert read_format("orc", data, fields[3:]).equals(pa.Table.from_batches([batch.select(["c3", "c4"])]))


def _without_zone(data_type: DataType) -> DataType:
    match data_type:
        case LocalZonedTimestampType(precision=precision):
            return TimestampType(precision)
        case ArrayType(element=element):
            return ArrayType(_without_zone(element))
        case MapType(key=key, value=value):
            return MapType(key, _without_zone(value))
        case RowType(fields=fields):
            return RowType(tuple(DataField(f.id, f.name, _without_zone(f.type)) for f in fields))
    return data_type


def test_a_timestamp_that_nanoseconds_cannot_hold_is_refused_by_name() -> None:
    data, _ = format_bytes(
        "orc", [DataField(0, "t", TimestampType(6))], a_batch([DataField(0, "t", TimestampType(6))], [{"t": DUSK}])
    )
    with pytest.raises(UnsupportedFeature, match=r"timestamp\[ns\]"):
        read_format("orc", data, [DataField(0, "t", TimestampType(9))])


@pytest.mark.parametrize("nested", [False, True])
def test_parts_of_milliseconds_before_1970_are_refused_rather_than_stored_unreadably(nested: bool) -> None:
    scalar = TimestampType(6)
    fields = [DataField(0, "t", ArrayType(scalar) if nested else scalar)]
    good, bad = datetime(1969, 12, 31, 23, 59, 59, 999_000), datetime(1969, 12, 31, 23, 59, 59, 999_001)
    data, _ = format_bytes("orc", fields, a_batch(fields, [{"t": [good] if nested else good}]))
    assert read_format("orc", data, fields).num_rows == 1
    with pytest.raises(InvalidData, match=r"1969-12-31 23:59:59\.999001 as TIMESTAMP\(6\).*file.format = parquet"):
        format_bytes("orc", fields, a_batch(fields, [{"t": [bad] if nested else bad}]))


def test_fields_of_null_rows_and_elements_of_null_lists_are_not_stored() -> None:
    # Arrow may keep any value below a null; its ORC writer would store it.
    row = RowType((DataField(5, "x", TinyIntType(nullable=False)),))
    fields = [DataField(0, "r", row), DataField(1, "a", ArrayType(IntType()))]
    validity = pa.py_buffer(np.packbits([0, 1, 0, 1], bitorder="little"))
    schema = arrow_schema(fields)
    rows = pa.Array.from_buffers(schema.types[0], 4, [validity], children=[pa.array([7, 1, 8, 2], pa.int8())])
    offsets = pa.py_buffer(np.array([0, 2, 3, 5, 6], np.int32))
    lists = pa.Array.from_buffers(schema.types[1], 4, [validity, offsets], children=[pa.array(range(6), pa.int32())])
    batch = pa.RecordBatch.from_arrays([rows, lists], schema=schema)
    data, _ = format_bytes("orc", fields, batch, batch.slice(1))
    expected = [{"r": None, "a": None}, {"r": {"x": 1}, "a": [2]}, {"r": None, "a": None}, {"r": {"x": 2}, "a": [5]}]
    assert read_format("orc", data, fields).to_pylist() == expected + expected[1:]


def test_chars_lose_the_spaces_they_are_padded_with() -> None:
    fields = [DataField(0, "c", CharType(4)), DataField(1, "t", TimeType(3))]
    data, written = format_bytes("orc", fields, a_batch(fields, [{"c": "ab", "t": None}, {"c": "é  ", "t": None}]))
    stored = orc.ORCFile(pa.BufferReader(data)).read()
    assert stored.column("c").to_pylist() == ["ab  ", "é   "]
    assert stored.column("t").type == pa.int32()
    assert read_format("orc", data, fields).column("c").to_pylist() == ["ab", "é"]
    assert written.bounds[0].minimum == "ab"


def test_stripes_are_as_large_as_asked_and_read_in_small_batches() -> None:
    fields = [DataField(0, "i", BigIntType())]
    chance = random.Random(1)
    values = [chance.getrandbits(63) for _ in range(300_000)]
    batches = [a_batch(fields, [{"i": v} for v in values[at : at + 30_000]]) for at in range(0, len(values), 30_000)]
    data, _ = format_bytes("orc", fields, *batches, options=FileOptions(block_size=500_000))
    assert orc.ORCFile(pa.BufferReader(data)).nstripes > 2
    table = read_format("orc", data, fields, batch_rows=7000)
    assert table.column("i").to_pylist() == values


def test_settings_of_the_java_writer_have_their_effect() -> None:
    fields = [DataField(0, "s", VarCharType())]
    options = FileOptions(orc_compression_block_size=65_536, orc_row_index_stride=500, orc_compression="snappy")
    data, _ = format_bytes("orc", fields, a_batch(fields, [{"s": "x"}] * 2000), options=options)
    file = orc.ORCFile(pa.BufferReader(data))
    assert (file.compression, file.compression_size, file.row_index_stride) == ("SNAPPY", 65_536, 500)


@pytest.mark.parametrize(
    "values",
    [
        list(range(0, 8000, 8)),
        [5] * 700,
        [i * i % 1009 * 8 for i in range(1500)],
        [(i % 50) * 8 if i % 97 else 999_999_999 for i in range(1500)],
        [i * 1_000_003 % 999_999_999 for i in range(1000)],
        [],
    ],
    ids=["delta", "repeat", "direct", "patched", "wide", "none"],
)
def test_runs_of_numbers_are_those_arrow_writes(values: list[int]) -> None:
    ticks = pa.array([v + 10**9 for v in values], pa.timestamp("ns"))
    sink = pa.BufferOutputStream()
    with orc.ORCWriter(sink, compression="uncompressed") as writer:
        writer.write(pa.table({"t": ticks}))
    data = sink.getvalue().to_pybytes()
    tail = Tail.of(orc.ORCFile(pa.BufferReader(data)).reader.serialized_file_tail())
    if not values:
        assert unsigned_values(b"", 0).tolist() == []
        return
    (stripe,) = tail.stripes
    streams = StripeStreams.of(tail, stripe, data[stripe.offset : stripe.offset + stripe.length])
    found = unsigned_values(tail.plain(streams.stored(1, 5)), len(values))
    zeros = found & 7
    nanos = (found >> 3) * np.power(10, np.where(zeros > 0, zeros + 1, 0))
    assert nanos.tolist() == [v % 10**9 for v in values]


FAR = [datetime(1, 1, 1), datetime(1600, 2, 29), datetime(1677, 9, 21), datetime(1969, 12, 31), datetime(9999, 1, 1)]
RUNS: dict[str, Callable[[int], int]] = {
    "repeat": lambda _: 123,
    "rise": lambda i: i % 999,
    "fall": lambda i: 999 - i % 999,
    "scattered": lambda i: i * 7919 % 1000,
    "rarely large": lambda i: i % 7 if i % 97 else 999,
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("rows", [1, 2, 3, 10, 11, 513, 1100])
def test_fractions_of_seconds_are_preserved_in_all_centuries_and_runs(rows: int, run: str) -> None:
    fields = [DataField(0, "t", TimestampType(6))]
    for start in FAR:
        values = [start + timedelta(seconds=i % 9, milliseconds=RUNS[run](i)) for i in range(rows)]
        data, _ = format_bytes("orc", fields, a_batch(fields, [{"t": value} for value in values]))
        assert read_format("orc", data, fields).column("t").to_pylist() == values, start


def test_dates_before_the_gregorian_calendar_stay_the_days_they_are() -> None:
    fields = [DataField(0, "d", DateType())]
    days = [date(1, 1, 1), date(1582, 10, 4), date(9999, 12, 31)]
    data, _ = format_bytes("orc", fields, a_batch(fields, [{"d": d} for d in days]))
    assert read_format("orc", data, fields).column("d").to_pylist() == days


def test_another_file_is_refused_before_it_is_opened() -> None:
    for data in (b"", b"PAR1", b"ORC" + b"\xff" * 300):
        with pytest.raises(BadEncoding, match=r"^/f\.orc: not a valid ORC file"):
            read_format("orc", data, [])

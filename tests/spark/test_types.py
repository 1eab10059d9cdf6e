"""Values of every type go through Spark and back unchanged, and types stand for each other both ways."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as st

from table_format.errors import InvalidSchema, UnsupportedFeature
from table_format.model.arrow_types import fields_from_arrow
from table_format.spark.types import fields_of_spark, spark_schema
from tests.spark.lakes import TestLake, rows_of

pytestmark = pytest.mark.spark

UTC = dt.UTC
EPOCH = dt.datetime(1970, 1, 1, tzinfo=UTC)
GAP = dt.datetime(2026, 3, 29, 2, 30)
"""A time that does not exist in Berlin."""
COLUMNS: list[tuple[str, pa.DataType, list[Any]]] = [
    ("k", pa.int64(), [1, 2, 3]),
    ("bool", pa.bool_(), [True, None, False]),
    ("tiny", pa.int8(), [-128, None, 127]),
    ("small", pa.int16(), [-(2**15), None, 2**15 - 1]),
    ("int", pa.int32(), [-(2**31), None, 2**31 - 1]),
    ("big", pa.int64(), [-(2**63), None, 2**63 - 1]),
    ("float", pa.float32(), [1.5, None, float("-inf")]),
    ("double", pa.float64(), [-0.1, None, 1e300]),
    ("dec", pa.decimal128(9, 2), [Decimal("-1234567.89"), None, Decimal("0.01")]),
    ("wide", pa.decimal128(38, 10), [Decimal("1234567890123456789012345678.0123456789"), None, Decimal(0)]),
    ("text", pa.string(), ["", None, "Größe ☃ \x00"]),
    ("bytes", pa.binary(), [b"", None, bytes(range(256))]),
    ("day", pa.date32(), [dt.date(1, 1, 1), None, dt.date(9999, 12, 31)]),
    ("ntz3", pa.timestamp("ms"), [dt.datetime(1969, 12, 31, 23, 59, 59, 999000), None, GAP]),
    ("ntz6", pa.timestamp("us"), [dt.datetime(1600, 1, 1), None, GAP.replace(microsecond=123456)]),
    ("ltz3", pa.timestamp("ms", "UTC"), [EPOCH, None, dt.datetime(2026, 6, 1, tzinfo=UTC)]),
    ("ltz6", pa.timestamp("us", "UTC"), [EPOCH.replace(microsecond=1), None, dt.datetime(1900, 1, 1, tzinfo=UTC)]),
    ("arr", pa.list_(pa.int32()), [[1, None, 3], None, []]),
    ("map", pa.map_(pa.string(), pa.decimal128(9, 2)), [{"a": Decimal("1.50"), "b": None}, None, {}]),
    (
        "row",
        pa.struct([("x", pa.timestamp("us")), ("y", pa.list_(pa.struct([("z", pa.string())])))]),
        [{"x": dt.datetime(2026, 1, 1), "y": [{"z": "a"}, None]}, None, {"x": None, "y": None}],
    ),
]  # fmt: skip
SCHEMA = pa.schema([pa.field(name, type_, nullable=name != "k") for name, type_, _ in COLUMNS])


def _table() -> pa.Table:
    return pa.Table.from_arrays([pa.array(values, type_) for _, type_, values in COLUMNS], schema=SCHEMA)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_every_type_survives_write_merge_and_native_read_in_any_zone(lake: TestLake, zone: str) -> None:
    lake.create("source", SCHEMA, primary_keys=("k",), bucket="1")
    lake.create("copy", SCHEMA, primary_keys=("k",), bucket="1")
    lake.table("source").append(_table())
    lake.spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        # Level 0 is merged by the library and read natively after compaction.
        merged = lake.lake.table("s.source")
        lake.lake.write(merged, "s.copy")
        assert lake.table("copy").scan().to_arrow().equals(_table())
        lake.table("copy").compact(full=True)
        native = lake.lake.table("s.copy")
        assert "FileScan parquet" in native._jdf.queryExecution().toString()
        assert native.schema.simpleString() == spark_schema(lake.table("copy").schema.fields).simpleString()
        assert [f.nullable for f in native.schema] == [f.nullable for f in merged.schema]
        assert rows_of(merged) == rows_of(native)
        back = native.toArrow().cast(pa.schema([f.with_nullable(True) for f in SCHEMA]))
        assert back.sort_by("k").to_pylist() == _table().to_pylist()
    finally:
        lake.spark.conf.set("spark.sql.session.timeZone", "UTC")


CONDITIONS = [
    "bool", "NOT bool", "tiny = -128", "small > 0", "int < 0", "big >= 9223372036854775807", "float < 0", "double > 1",
    "dec = -1234567.89", "wide > 1", "text = ''", "text LIKE 'Gr%'", "day > DATE '2000-01-01'",
    "ntz3 = TIMESTAMP '2026-03-29 02:30:00'", "ntz6 >= TIMESTAMP '2026-03-29 02:30:00.123456'",
    "ltz6 > TIMESTAMP '2026-03-29 00:00:00'", "k IN (1, 3)", "arr IS NULL", "row IS NOT NULL",
    "k BETWEEN 2 AND 3 AND NOT (tiny IS NULL)", "int < 0 OR text IS NULL", "k = 1 AND k = 2",
]  # fmt: skip


def test_conditions_select_the_same_rows_with_both_readers(lake: TestLake) -> None:
    lake.create("t", SCHEMA, primary_keys=("k",), bucket="1")
    lake.table().append(_table())
    expected = {c: sorted(lake.table().scan(["k"], c).to_arrow()["k"].to_pylist()) for c in CONDITIONS}
    lake.table().compact(full=True)
    lake.spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        frames = [
            lake.lake.table("s.t", columns=["k"], filter=c).selectExpr(f"{n} as c", "k")
            for n, c in enumerate(CONDITIONS)
        ]
        union = frames[0]
        for frame in frames[1:]:
            union = union.unionAll(frame)
        found: dict[str, list[int]] = {c: [] for c in CONDITIONS}
        for number, key in union.collect():
            found[CONDITIONS[number]].append(key)
    finally:
        lake.spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert {c: sorted(keys) for c, keys in found.items()} == expected
    assert any(expected.values())


def test_spark_schemas_are_converted_to_columns_and_back() -> None:
    fields = fields_from_arrow(SCHEMA)
    assert spark_schema(fields_of_spark(spark_schema(fields))) == spark_schema(fields)
    limited = st.StructType(
        [st.StructField("c", st.CharType(3), False, {"comment": "code"}), st.StructField("v", st.VarcharType(9))]
    )
    found = fields_of_spark(limited)
    assert [(f.name, str(f.type), f.description) for f in found] == [
        ("c", "CHAR(3) NOT NULL", "code"),
        ("v", "VARCHAR(9)", None),
    ]
    with pytest.raises(InvalidSchema, match="column 'i': the Spark type interval"):
        fields_of_spark(st.StructType([st.StructField("i", st.CalendarIntervalType())]))


@pytest.mark.parametrize(("type_", "words"), [(pa.time32("ms"), "TIME"), (pa.timestamp("ns"), "microseconds")])
def test_the_error_names_a_column_with_a_type_that_spark_lacks(lake: TestLake, type_: pa.DataType, words: str) -> None:
    lake.create("t", pa.schema([pa.field("k", pa.int64(), nullable=False), ("odd", type_)]), primary_keys=("k",))
    with pytest.raises(UnsupportedFeature, match=f"column 'odd'.*{words}"):
        lake.lake.table("s.t")
    # The other columns can be read.
    assert lake.lake.table("s.t", columns=["k"]).count() == 0

"""Every type of the format through the public API, in each file format: ranges, lengths, nulls, filters, keys."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format import Schema, Table
from table_format.errors import InvalidData
from table_format.model.arrow_types import arrow_schema
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
from tests.support.tables import memory_warehouse

FORMATS = ("parquet", "orc", "avro")
ID = DataField(0, "id", IntType(nullable=False))
NAN, INF = float("nan"), float("inf")


def table_of(
    *types: DataType, file_format: str = "parquet", keys: tuple[str, ...] = (), partitions: tuple[str, ...] = ()
) -> Table:
    """A table with the columns ``id`` and ``c1``, ``c2``, ..."""
    fields = (ID, *(DataField(i, f"c{i}", t) for i, t in enumerate(types, 1)))
    options = {"file.format": file_format, **({"bucket": "1"} if keys else {})}
    table = memory_warehouse().catalog.create_table("db.t", Schema(fields, partitions, keys, options))
    assert isinstance(table, Table)
    return table


def append(table: Table, *rows: tuple[Any, ...]) -> None:
    schema = arrow_schema(table.schema.fields)
    columns = [pa.array([row[i] for row in rows], t) for i, t in enumerate(schema.types, -1) if i >= 0]
    table.append(pa.Table.from_arrays([pa.array(range(len(rows)), pa.int32()), *columns], schema=schema))


def values(table: Table, filter: str | None = None) -> list[Any]:
    found = table.scan(filter=filter).to_arrow().sort_by("id")
    return found.column("c1").to_pylist()


@pytest.mark.parametrize("file_format", FORMATS)
def test_booleans_have_three_values_in_conditions(file_format: str) -> None:
    table = table_of(BooleanType(), file_format=file_format)
    append(table, (True,), (False,), (None,))
    found = [values(table, text) for text in ("c1", "not c1", "c1 is null", "c1 = true or c1 = false")]
    assert found == [[True], [False], [None], [True, False]]


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize(
    ("data_type", "bits"), [(TinyIntType(), 8), (SmallIntType(), 16), (IntType(), 32), (BigIntType(), 64)], ids=str
)
def test_whole_numbers_reach_their_ends_as_values_and_as_keys(data_type: DataType, bits: int, file_format: str) -> None:
    lowest, highest = -(1 << bits - 1), (1 << bits - 1) - 1
    table = table_of(data_type.with_nullable(False), file_format=file_format, keys=("c1",))
    append(table, (lowest,), (highest,), (0,))
    assert values(table) == [lowest, highest, 0]
    assert values(table, f"c1 = {highest}") == [highest]
    assert values(table, f"c1 <= {lowest}") == [lowest]


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize(
    ("data_type", "fits", "too_long"),
    [
        (CharType(3), ["abc", "ab", "中é😀", ""], "abcd"),
        (VarCharType(5), ["hello", "", "中文字é😀"], "hello!"),
        (BinaryType(2), [b"ab"], b"abc"),
        (VarBinaryType(2), [b"", b"a", b"ab"], b"abc"),
    ],
    ids=str,
)
def test_texts_and_bytes_longer_than_their_type_are_refused(
    data_type: DataType, fits: list[Any], too_long: Any, file_format: str
) -> None:
    table = table_of(data_type, file_format=file_format)
    append(table, *((v,) for v in fits))
    assert values(table) == fits
    with pytest.raises(InvalidData, match=rf"column 'c1' is .*{len(too_long)}"):
        append(table, (too_long,))


def test_a_char_equals_what_was_written_whatever_pads_it() -> None:
    for file_format in FORMATS:
        table = table_of(CharType(4), file_format=file_format)
        append(table, ("ab",), ("cd",))
        assert values(table, "c1 = 'ab'") == ["ab"]
        assert values(table, "c1 > 'ab'") == ["cd"]


@pytest.mark.parametrize("file_format", FORMATS)
def test_decimals_hold_all_their_digits(file_format: str) -> None:
    table = table_of(DecimalType(38, 18), DecimalType(10, 0), file_format=file_format)
    largest = Decimal("9" * 20 + "." + "9" * 18)
    append(table, (largest, Decimal(1)), (largest.copy_negate(), Decimal(-9_999_999_999)))
    assert values(table) == [largest, largest.copy_negate()]
    assert values(table, f"c1 >= {largest}") == [largest]
    too_long = pa.array([Decimal(10**10)], pa.decimal128(11, 0))
    with pytest.raises(InvalidData, match="c2"):
        table.append(pa.table({"id": pa.array([0], pa.int32()), "c1": pa.array([largest]), "c2": too_long}))


@pytest.mark.parametrize("file_format", FORMATS)
def test_nan_zero_and_infinities_are_found_by_conditions(file_format: str) -> None:
    table = table_of(DoubleType(), file_format=file_format)
    append(table, (NAN,), (-0.0,), (INF,), (-INF,), (None,))
    append(table, (0.0,))
    assert values(table, "c1 = 0.0") == [0.0, -0.0]
    assert len(values(table, "c1 < 0")) == 1
    assert INF in values(table, "c1 > 1e300")


@pytest.mark.parametrize("file_format", FORMATS)
def test_dates_reach_both_ends_of_the_calendar_as_keys_and_partitions(file_format: str) -> None:
    days = [date(1, 1, 1), date(9999, 12, 31)]
    keyed = table_of(DateType(nullable=False), file_format=file_format, keys=("c1",))
    parted = table_of(DateType(), VarCharType(), file_format=file_format, partitions=("c1",))
    append(keyed, *((day,) for day in days))
    append(parted, *((day, "x") for day in days))
    for table in (keyed, parted):
        assert values(table) == days
        assert values(table, "c1 = DATE '9999-12-31'") == [date(9999, 12, 31)]


@pytest.mark.parametrize(("file_format", "precision"), [("parquet", 9), ("orc", 9), ("avro", 3), ("parquet", 3)])
def test_times_are_milliseconds_whatever_the_precision_says(file_format: str, precision: int) -> None:
    table = table_of(TimeType(precision), file_format=file_format)
    times = [time(0), time(12, 34, 56, 789_000), time(23, 59, 59, 999_000)]
    append(table, *((t,) for t in times))
    assert values(table) == times


@pytest.mark.parametrize(("file_format", "finest"), [("parquet", 9), ("orc", 9), ("avro", 6)])
def test_timestamps_keep_their_digits_and_zone(file_format: str, finest: int) -> None:
    for precision in (0, 3, 6, 9)[: 4 if finest == 9 else 3]:
        table = table_of(TimestampType(precision), LocalZonedTimestampType(precision), file_format=file_format)
        unit = {0: "s", 3: "ms", 6: "us", 9: "ns"}[precision]
        ticks = [1_704_164_645_123_456_789 // 10 ** (9 - precision), 0, -2 * 10**precision]
        plain = pa.array(ticks, pa.int64()).view(pa.timestamp(unit))
        zoned = pa.array(ticks, pa.int64()).view(pa.timestamp(unit, "UTC"))
        schema = arrow_schema(table.schema.fields)
        rows = pa.Table.from_arrays([pa.array([0, 1, 2], pa.int32()), plain, zoned], schema=schema)
        table.append(rows)
        assert table.scan().to_arrow().sort_by("id").equals(rows)


def test_an_instant_is_stored_in_utc_whatever_zone_it_came_in() -> None:
    for file_format in FORMATS:
        table = table_of(LocalZonedTimestampType(3), file_format=file_format)
        tokyo = pa.array([datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)], pa.timestamp("ms", "Asia/Tokyo"))
        table.append(pa.table({"id": pa.array([0], pa.int32()), "c1": tokyo}))
        assert values(table) == [datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)]


@pytest.mark.parametrize("file_format", FORMATS)
def test_containers_hold_nulls_and_each_other_and_rows_keep_their_descriptions(file_format: str) -> None:
    text = VarCharType(nullable=False)
    row = RowType((DataField(7, "n", IntType(), "a number"), DataField(8, "l", ArrayType(MapType(text, IntType())))))
    table = table_of(ArrayType(IntType()), MapType(text, row), file_format=file_format)
    lists = [[1, None], [], None]
    maps = [[("a", {"n": None, "l": [[("x", None)], None]}), ("b", None)], [], None]
    append(table, *zip(lists, maps, strict=True))
    found = table.scan().to_arrow().sort_by("id")
    assert (found.column("c1").to_pylist(), found.column("c2").to_pylist()) == (lists, maps)
    value = found.schema.field("c2").type.item_type
    assert value.field("n").metadata == {b"description": b"a number"}


@pytest.mark.parametrize("file_format", FORMATS)
def test_of_a_key_that_a_map_holds_twice_the_later_value_counts(file_format: str) -> None:
    text = VarCharType(nullable=False)
    inner = MapType(text, IntType())
    row = RowType((DataField(8, "m", inner), DataField(9, "n", MapType(IntType(nullable=False), inner))))
    table = table_of(inner, ArrayType(row), file_format=file_format)
    twice = [("a", 1), ("b", 2), ("a", None)]
    append(table, (twice, [{"m": twice, "n": [(1, twice), (2, None), (1, [("z", 0)])]}, None]), (None, None))
    found = table.scan().to_arrow().sort_by("id").slice(0, 1).to_pylist()[0]
    assert dict(found["c1"]) == {"a": None, "b": 2}
    assert len(found["c1"]) == len(found["c2"][0]["m"]) == 2
    assert dict(found["c2"][0]["n"]) == {1: [("z", 0)], 2: None}


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_multiset_is_a_map_from_value_to_count(file_format: str) -> None:
    table = table_of(
        MultisetType(VarCharType(nullable=False)), MultisetType(IntType(nullable=False)), file_format=file_format
    )
    bags = [[("a", 2), ("b", 1)], [], None]
    append(table, *((bag, [(7, 3)]) for bag in bags))
    found = table.scan().to_arrow().sort_by("id")
    assert found.schema.field("c1").type == pa.map_(pa.string(), pa.field("value", pa.int32(), nullable=False))
    assert (found.column("c1").to_pylist(), found.column("c2").to_pylist()[0]) == (bags, [(7, 3)])


@pytest.mark.parametrize("file_format", FORMATS)
def test_null_is_refused_in_columns_and_elements_that_are_not_null(file_format: str) -> None:
    table = table_of(ArrayType(IntType(nullable=False)), IntType(nullable=False), file_format=file_format)
    append(table, ([1, 2], 1), (None, 2))
    for row in (([1, None], 1), ([1], None)):
        with pytest.raises(InvalidData, match="null"):
            append(table, row)


def test_a_file_of_each_format_can_be_read_side_by_side(tmp_path: Path) -> None:
    table = table_of(VarCharType(), keys=("id",))
    for file_format in FORMATS:
        append(table.copy({"file.format": file_format}), (file_format,), ("x",))
    assert values(table) == ["avro", "x"]

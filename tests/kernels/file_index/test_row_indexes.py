"""Indexes that find rows: the bytes of Java, aggregates, unsupported values, and damage."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from table_format.errors import BadEncoding, CorruptionError
from table_format.kernels.file_index import INDEX_TYPES
from table_format.kernels.file_index.bitmap import BitmapReader
from table_format.kernels.file_index.bsi import BsiReader, NumberAggregates
from table_format.kernels.file_index.conditions import SoughtValues, condition_of
from table_format.kernels.file_index.payload import Payload
from table_format.kernels.values import array_of, values_of
from table_format.model.arrow_types import arrow_type
from table_format.model.predicate import Compare, CompareOp, IsNull
from table_format.model.types import (
    BigIntType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    SmallIntType,
    TimestampType,
    TinyIntType,
    VarCharType,
)
from tests.kernels.file_index.columns import ROW_INDEXES, SMALL, built, indexed_column, reader_of

LONG = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
WHOLE = [3, None, -3, 3, 7]
ROWS_0_3 = "3a30000001000000000001001000000000000300"
ROW_2 = "3a3000000100000000000000100000000200"


def index_of(index: str, data_type: DataType, values: list[Any], **settings: object) -> bytes:
    return built(index, data_type, pa.array(values, arrow_type(data_type)), settings)


def test_a_bitmap_index_is_the_bytes_of_java() -> None:
    assert index_of("bitmap", IntType(), WHOLE, version=1).hex() == (
        "01" "00000005" "00000003" "01" "fffffffe"
        "fffffffd" "fffffffd" "00000003" "00000000" "00000007" "fffffffb" + ROWS_0_3
    )  # fmt: skip
    assert index_of("bitmap", IntType(), WHOLE).hex() == (
        "02" "00000005" "00000003" "01" "fffffffe" "00000012" "00000001" "fffffffd" "00000000" "00000028"
        "00000003" "fffffffd" "fffffffd" "ffffffff" "00000003" "00000000" "00000014" "00000007" "fffffffb" "ffffffff"
        + ROWS_0_3
    )  # fmt: skip


def test_a_bit_slice_index_is_the_bytes_of_java() -> None:
    empty = "3a30000000000000"
    row = ROW_2.removesuffix("0200")
    assert index_of("bsi", IntType(), [3, None, -3, 5]).hex() == (
        "01" "00000004"
        "01" "01" "0000000000000000" "0000000000000005" + ROWS_0_3
        + "00000003" + ROWS_0_3 + row + "0000" + row + "0300"
        + "01" "01" "0000000000000000" "0000000000000003" + ROW_2 + "00000002" + ROW_2 + ROW_2
    )  # fmt: skip
    assert index_of("bsi", IntType(), [None]).hex() == "01" "00000001" "00" "00"  # fmt: skip
    assert index_of("bsi", IntType(), [0]).endswith(b"\0\0\0\0" + b"\0")
    assert empty in index_of("bsi", IntType(), [4]).hex()


def test_a_range_bitmap_of_nulls_has_64_empty_slices_as_java_makes_them() -> None:
    payload = index_of("range-bitmap", IntType(), [None, None])
    assert payload[:17].hex() == "0000000d" "01" "00000002" "00000000" "00000011"  # fmt: skip
    assert payload.count(bytes.fromhex("3a30000000000000")) == 65
    assert index_of("range-bitmap", IntType(), []).count(bytes.fromhex("3a30000000000000")) == 65


@pytest.mark.parametrize(
    ("data_type", "accepted"),
    [
        (BooleanType(), {"bitmap", "range-bitmap"}),
        (TinyIntType(), {"bitmap", "bsi", "range-bitmap"}),
        (FloatType(), {"bitmap", "range-bitmap"}),
        (VarCharType(), {"bitmap", "range-bitmap"}),
        (DecimalType(18, 2), {"bsi", "range-bitmap"}),
        (DecimalType(19, 2), {"bsi"}),
        (TimestampType(6), {"bitmap", "bsi", "range-bitmap"}),
        (TimestampType(7), {"bitmap", "bsi"}),
    ],
)
def test_types_are_those_that_java_takes(data_type: DataType, accepted: set[str]) -> None:
    assert {name for name in ROW_INDEXES if INDEX_TYPES[name].declaration.supports(data_type)} == accepted


@pytest.mark.parametrize(
    ("data_type", "value"),
    [(BigIntType(), -(2**63)), (DecimalType(20, 0), Decimal(2**63)), (DecimalType(38, 0), -(10**30))],
)
def test_bit_slices_that_cannot_hold_a_value_are_not_made(data_type: DataType, value: Any) -> None:
    builder = INDEX_TYPES["bsi"].builder(data_type, {})
    builder.add(pa.array([1, value], arrow_type(data_type)))
    assert builder.finish() is None


def test_the_largest_numbers_have_slices() -> None:
    column = pa.array([2**63 - 1, -(2**63) + 1, 0], pa.int64())
    reader = reader_of("bsi", BigIntType(), built("bsi", BigIntType(), column), 3)
    for value, rows in ((2**63 - 1, [0]), (-(2**63) + 1, [1]), (0, [2])):
        condition = condition_of(Compare("a", CompareOp.EQ, value), BigIntType())
        assert condition is not None
        assert list(reader.evaluate(condition).positions) == rows  # type: ignore[union-attr]
    lowest = condition_of(Compare("a", CompareOp.GE, -(2**63)), BigIntType())
    assert lowest is not None
    assert list(reader.evaluate(lowest).positions) == [0, 1, 2]  # type: ignore[union-attr]


# --- lazily ----------------------------------------------------------------------------------------------------------


class Watched:
    """A payload whose reads are counted."""

    def __init__(self, data: bytes) -> None:
        self.bytes_read = 0
        self._data = data

    def payload(self) -> Payload:
        def fetch(start: int, length: int) -> bytes:
            self.bytes_read += length
            return self._data[start : start + length]

        return Payload(len(self._data), fetch, "f")


@pytest.mark.parametrize(("index", "share"), [("bitmap", 0.12), ("range-bitmap", 0.6)])
@pytest.mark.parametrize("data_type", [BigIntType(), VarCharType()])
def test_a_look_up_reads_a_part_of_a_large_index(index: str, share: float, data_type: DataType) -> None:
    numbers = np.random.default_rng(1).integers(0, 50_000, 300_000)
    column = pa.array(numbers) if data_type == BigIntType() else pa.array(numbers).cast(pa.string())
    data = built(index, data_type, column)
    watched = Watched(data)
    reader = INDEX_TYPES[index].reader(watched.payload(), data_type, len(column))
    assert reader is not None
    sought = column[7].as_py()
    condition = condition_of(Compare("a", CompareOp.EQ, sought), data_type)
    assert condition is not None
    answer = reader.evaluate(condition)
    assert list(answer.positions) == np.flatnonzero(numbers == numbers[7]).tolist()  # type: ignore[union-attr]
    assert watched.bytes_read < share * len(data) or index == "range-bitmap"
    once = watched.bytes_read
    assert reader.evaluate(condition) == answer
    assert watched.bytes_read - once < 1000


# --- aggregates ------------------------------------------------------------------------------------------------------


@LONG
@given(st.lists(st.none() | st.integers(-(10**15), 10**15) | st.integers(-3, 3), max_size=30), st.data())
def test_numbers_are_added_up_from_their_slices(values: list[int | None], data: st.DataObject) -> None:
    reader = reader_of("bsi", BigIntType(), index_of("bsi", BigIntType(), values), len(values))
    assert isinstance(reader, BsiReader)
    rows = data.draw(st.none() | st.sets(st.integers(0, max(len(values) - 1, 0))))
    chosen = [v for row, v in enumerate(values) if v is not None and (rows is None or row in rows)]
    expected = NumberAggregates(len(chosen), sum(chosen), min(chosen, default=None), max(chosen, default=None))
    assert reader.aggregate(None if rows is None else BitMap(rows)) == expected


@LONG
@given(
    st.lists(st.none() | st.sampled_from(["", "a", "ä", "b" * 30]), max_size=40),
    st.data(),
    st.sampled_from(SMALL["bitmap"]),
)
def test_rows_are_counted_by_value(values: list[str | None], data: st.DataObject, settings: dict[str, object]) -> None:
    reader = reader_of("bitmap", VarCharType(), index_of("bitmap", VarCharType(), values, **settings), len(values))
    assert isinstance(reader, BitmapReader)
    rows = data.draw(st.none() | st.sets(st.integers(0, len(values) - 1)) if values else st.none())
    counts = Counter(v for row, v in enumerate(values) if rows is None or row in rows)
    groups, nulls = reader.group_counts(None if rows is None else BitMap(rows))
    assert nulls == counts.pop(None, 0)
    assert groups == sorted((key.encode(), count) for key, count in counts.items() if key is not None)


# --- damage ----------------------------------------------------------------------------------------------------------

CONDITIONS = (
    lambda value: Compare("a", CompareOp.EQ, value),
    lambda value: Compare("a", CompareOp.NE, value),
    lambda value: Compare("a", CompareOp.LE, value),
    lambda value: Compare("a", CompareOp.GT, value),
    lambda value: IsNull("a"),
)


def use(index: str, data_type: DataType, payload: bytes, row_count: int, value: Any) -> None:
    """Use every method of a reader, and check that its rows are rows of the file."""
    reader = INDEX_TYPES[index].reader(Payload.of(payload, path="f"), data_type, row_count)
    if reader is None:
        return
    for made in CONDITIONS:
        condition = condition_of(made(value), data_type)
        if condition is None:
            continue  # fractions of a microsecond
        with suppress(CorruptionError):
            answer = reader.evaluate(condition)
            positions = getattr(answer, "positions", BitMap())
            assert not positions or positions.max() < row_count
    with suppress(CorruptionError):
        reader.may_equal(SoughtValues(data_type, array_of([value], data_type)))
    with suppress(CorruptionError):
        if isinstance(reader, BitmapReader):
            reader.group_counts()
        if isinstance(reader, BsiReader):
            reader.aggregate()


def flipped(payload: bytes, data: st.DataObject) -> bytes:
    changed = bytearray(payload)
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(0, len(changed) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    return bytes(changed)


def overwritten(payload: bytes, data: st.DataObject) -> bytes:
    at = data.draw(st.integers(0, len(payload) - 1))
    lies = [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\0\0\0\0", b"\0\0\xff\xff", b"\x3a\x30"]
    lie = data.draw(st.sampled_from(lies))
    return payload[:at] + lie + payload[at + len(lie) :]


def cut(payload: bytes, data: st.DataObject) -> bytes:
    return payload[: data.draw(st.integers(0, len(payload) - 1))]


def lengthened(payload: bytes, data: st.DataObject) -> bytes:
    return payload + data.draw(st.binary(min_size=1, max_size=20))


@pytest.mark.parametrize("damage", [flipped, overwritten, cut, lengthened])
@pytest.mark.parametrize("index", ROW_INDEXES)
@LONG
@given(data=st.data())
def test_a_damaged_index_is_refused_or_returns_rows_of_the_file(
    index: str, damage: Callable[[bytes, st.DataObject], bytes], data: st.DataObject
) -> None:
    data_type, column, payload = data.draw(indexed_column(index).filter(lambda c: c[1].null_count < len(c[1])))
    damaged = damage(payload, data)
    value = data.draw(st.sampled_from([v for v in values_of(column, data_type) if v is not None]))
    with suppress(CorruptionError):
        use(index, data_type, damaged, len(column), value)


@pytest.mark.parametrize("index", ROW_INDEXES)
def test_an_index_of_another_number_of_rows_is_refused(index: str) -> None:
    payload = index_of(index, SmallIntType(), [1, 2, 2])
    with pytest.raises(BadEncoding, match=r"f: file index: .*3"):
        INDEX_TYPES[index].reader(Payload.of(payload, path="f"), SmallIntType(), 4)


@pytest.mark.parametrize("index", ROW_INDEXES)
@pytest.mark.parametrize("settings_", [0, -1])
def test_an_index_that_is_cut_short_is_refused_when_its_end_is_needed(index: str, settings_: int) -> None:
    payload = index_of(index, IntType(), [1, 2, 2, None, None], **SMALL[index][settings_])
    for end in range(len(payload)):
        with pytest.raises(CorruptionError):
            evaluate_all(index, payload[:end])


def evaluate_all(index: str, payload: bytes) -> None:
    reader = reader_of(index, IntType(), payload, 5)
    for value in (1, 2):
        for made in CONDITIONS:
            condition = condition_of(made(value), IntType())
            assert condition is not None
            reader.evaluate(condition)


def test_a_bitmap_index_that_lost_a_key_or_its_blocks_is_refused() -> None:
    payload = index_of("bitmap", IntType(), [7, 8, 9], version=1)
    with pytest.raises(BadEncoding, match=r"f: file index: its keys end at byte 26 of 34, but no bitmap follows"):
        reader_of("bitmap", IntType(), payload[:5] + b"\0\0\0\2" + payload[9:], 3)
    payload = index_of("bitmap", IntType(), [9, 9, 8, 8, 7], version=1)
    with pytest.raises(BadEncoding, match="expected a bitmap at byte"):
        reader_of("bitmap", IntType(), payload[:5] + b"\0\0\0\2" + payload[9:], 5)
    payload = index_of("bitmap", BooleanType(), [False, False, None])
    assert payload[18:22] == b"\0\0\0\1"
    with pytest.raises(BadEncoding, match="it states 0 blocks for 1 key"):
        reader_of("bitmap", BooleanType(), payload[:18] + b"\0\0\0\0" + payload[22:], 3)


def test_nans_are_one_value_and_zeros_are_two_keys_of_one() -> None:
    other_nan = np.array([0x7FF8000000000001], np.int64).view(np.float64)[0]
    values = [math.nan, 0.0, -0.0, 1.0, None, other_nan]
    column = pa.array(values, pa.float64(), from_pandas=False)
    for index in ("bitmap", "range-bitmap"):
        reader = reader_of(index, DoubleType(), built(index, DoubleType(), column), 6)
        for op, value, rows in (
            (CompareOp.EQ, math.nan, [0, 5]),
            (CompareOp.GE, math.nan, [0, 5]),
            (CompareOp.GT, 1.0, [0, 5]),
            (CompareOp.EQ, 0.0, [1, 2]),
            (CompareOp.LT, 1.0, [1, 2]),
            (CompareOp.NE, -0.0, [0, 3, 5]),
        ):
            condition = condition_of(Compare("a", op, value), DoubleType())
            assert condition is not None
            assert list(reader.evaluate(condition).positions) == rows  # type: ignore[union-attr]

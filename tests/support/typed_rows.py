"""Columns of every type of the format, scalar and nested, with rows at the edges of each type.

``columns`` leaves out what a file format cannot hold. Values are those of Arrow; ``ROWS`` are typical, lowest, highest,
empty and null.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

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

NAN, INF = float("nan"), float("inf")
TEXT = VarCharType()
KEY = VarCharType(nullable=False)
DAWN, DUSK = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_000)
NOON = datetime(2024, 2, 29, 12, 34, 56)
BEFORE = datetime(1969, 12, 31, 23, 59, 58, 500_000)
NANOS: Final = pa.scalar(1_704_164_645_123_456_789, pa.timestamp("ns"))


def utc(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC)


def decimal(precision: int, scale: int) -> tuple[DataType, list[Any]]:
    digits = (9,) * precision
    return DecimalType(precision, scale), [
        Decimal((sign, d, -scale)) for sign, d in ((0, (7,)), (1, digits), (0, digits))
    ]


SCALARS: Final[dict[str, tuple[DataType, list[Any]]]] = {
    "flag": (BooleanType(), [True, False, True]),
    "tiny": (TinyIntType(), [1, -(2**7), 2**7 - 1]),
    "small": (SmallIntType(), [2, -(2**15), 2**15 - 1]),
    "whole": (IntType(), [3, -(2**31), 2**31 - 1]),
    "big": (BigIntType(), [4, -(2**63), 2**63 - 1]),
    "single": (FloatType(), [1.5, -3.4028234663852886e38, INF, NAN, 1.401298464324817e-45]),
    "double_": (DoubleType(), [-0.0, -INF, 1.7976931348623157e308, NAN, 5e-324]),
    "d9": decimal(9, 2),
    "d18": decimal(18, 6),
    "d38": decimal(38, 18),
    "d38_38": decimal(38, 38),
    "d5_0": decimal(5, 0),
    "chars": (CharType(3), ["abc", "", "中é😀", "ab"]),
    "short_text": (VarCharType(5), ["hello", "", "中文字é😀", "  x"]),
    "text": (TEXT, ["text", "", "\U0001f600\n\t'\"\\", "x" * 3000]),
    "fixed": (BinaryType(4), [b"\0\xff\x10\xa0", b"\0\0\0\0", b"\xff\xff\xff\xff"]),
    "short_bytes": (VarBinaryType(12), [b"\1\2", b"", b"\xff" * 12]),
    "bytes_": (VarBinaryType(), [b"\xca\xfe", b"", b"\0" * 100]),
    "day": (DateType(), [date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31), date(1969, 12, 31)]),
    "t0": (TimeType(0), [time(12, 34, 56), time(0), time(23, 59, 59)]),
    "t3": (TimeType(3), [time(12, 34, 56, 789_000), time(0), time(23, 59, 59, 999_000)]),
    "t9": (TimeType(9), [time(12, 34, 56, 789_000), time(0), time(23, 59, 59, 999_000)]),
    "ts0": (TimestampType(0), [NOON, DAWN, datetime(9999, 12, 31, 23, 59, 59), datetime(1969, 12, 31, 23, 59, 59)]),
    "ts3": (TimestampType(3), [NOON, DAWN, DUSK, BEFORE]),
    "ts6": (TimestampType(6), [NOON.replace(microsecond=123_456), DAWN, DUSK, BEFORE]),
    "ts9": (TimestampType(9), [NANOS, datetime(1900, 1, 1), datetime(2100, 1, 1), BEFORE]),
    "ltz0": (LocalZonedTimestampType(0), [utc(NOON), utc(DAWN), utc(datetime(9999, 12, 31, 23, 59, 59))]),
    "ltz3": (LocalZonedTimestampType(3), [utc(NOON), utc(DAWN), utc(DUSK), utc(BEFORE)]),
    "ltz6": (LocalZonedTimestampType(6), [utc(NOON.replace(microsecond=123_456)), utc(DAWN), utc(DUSK)]),
    "ltz9": (LocalZonedTimestampType(9), [NANOS, utc(datetime(1900, 1, 1)), utc(datetime(2100, 1, 1))]),
}

_INNER = RowType(fields=(DataField(101, "p", DoubleType()), DataField(102, "q", DecimalType(10, 2))))
_ROW = RowType(
    fields=(
        DataField(103, "x", IntType()),
        DataField(104, "y", TEXT),
        DataField(105, "z", _INNER),
        DataField(106, "a", ArrayType(TimestampType(3))),
    )
)
_STRICT = RowType(fields=(DataField(109, "must", IntType(nullable=False)), DataField(110, "may", TEXT)))
_PAIR = RowType(fields=(DataField(107, "k", IntType()), DataField(108, "v", TEXT)))

NESTED: Final[dict[str, tuple[DataType, list[Any]]]] = {
    "a_int": (ArrayType(IntType()), [[1, None, -3], [], [None]]),
    "a_strict": (ArrayType(IntType(nullable=False)), [[1, 2], [], [3]]),
    "a_text": (ArrayType(TEXT), [["a", None, ""], [], ["x" * 100]]),
    "a_char": (ArrayType(CharType(3)), [["abc", None, "z"], [], [""]]),
    "a_bytes": (ArrayType(VarBinaryType()), [[b"\0", None], [], [b""]]),
    "a_dec": (ArrayType(DecimalType(20, 3)), [[Decimal("1.500"), None], [], [Decimal("-9.999")]]),
    "a_time": (ArrayType(TimeType(3)), [[time(1, 2, 3, 4000), None], [], [time(0)]]),
    "a_ts": (ArrayType(TimestampType(6)), [[NOON, None, DUSK], [], [DAWN]]),
    "a_a": (ArrayType(ArrayType(IntType())), [[[1], None, [], [None, 2]], [], [[]]]),
    "a_r": (ArrayType(_PAIR), [[{"k": 1, "v": "one"}, None, {"k": None, "v": None}], [], [{"k": 2, "v": ""}]]),
    "m_text": (MapType(KEY, IntType()), [[("a", 1), ("b", None)], [], [("", 0)]]),
    "m_int": (MapType(IntType(nullable=False), TEXT), [[(1, "a"), (-2, None)], [], [(0, "")]]),
    "m_day": (
        MapType(DateType(nullable=False), DecimalType(10, 2)),
        [[(date(2024, 2, 29), Decimal("1.50")), (date(1, 1, 1), None)], [], [(date(9999, 12, 31), Decimal("0.01"))]],
    ),
    "m_a": (MapType(KEY, ArrayType(BigIntType())), [[("a", [1, None]), ("b", None), ("c", [])], [], [("d", [2])]]),
    "m_m": (MapType(KEY, MapType(KEY, IntType())), [[("a", [("b", 1)]), ("c", None)], [], [("d", [])]]),
    "m_r": (MapType(KEY, _PAIR), [[("a", {"k": 1, "v": "x"}), ("b", None)], [], [("c", {"k": None, "v": None})]]),
    "r_strict": (_STRICT, [{"must": 1, "may": "a"}, {"must": -1, "may": None}, {"must": 0, "may": ""}]),
    "a_r_strict": (ArrayType(_STRICT), [[{"must": 1, "may": "a"}, None], [], [{"must": -1, "may": None}]]),
    "bag": (MultisetType(KEY), [[("a", 2), ("b", 1)], [], [("", 7)]]),
    "bag_of_numbers": (MultisetType(IntType(nullable=False)), [[(1, 2)], [], [(-5, 1), (6, 3)]]),
    "r": (
        _ROW,
        [
            {"x": 1, "y": "text", "z": {"p": 0.5, "q": Decimal("1.25")}, "a": [NOON, None]},
            {"x": None, "y": None, "z": None, "a": None},
            {"x": -1, "y": "", "z": {"p": None, "q": None}, "a": []},
        ],
    ),
}

NOT_IN_AVRO: Final = frozenset({"t9", "ts9", "ltz9"})


def columns(
    file_format: str, *, strict: bool = False, without: frozenset[str] = frozenset()
) -> dict[str, tuple[DataType, list[Any]]]:
    """The columns a format can hold; all of them NOT NULL when ``strict``."""
    left_out = without | (NOT_IN_AVRO if file_format == "avro" else frozenset())
    found = {name: column for name, column in {**SCALARS, **NESTED}.items() if name not in left_out}
    return {name: (t.with_nullable(not strict), values) for name, (t, values) in found.items()}


def fields_of(wanted: dict[str, tuple[DataType, list[Any]]]) -> list[DataField]:
    """The columns with an ``id`` before them."""
    first = DataField(0, "id", IntType(nullable=False))
    return [first, *(DataField(i, name, t) for i, (name, (t, _)) in enumerate(wanted.items(), 1))]


def rows_of(wanted: dict[str, tuple[DataType, list[Any]]], fields: Sequence[DataField], count: int = 8) -> pa.Table:
    """Rows with ids from 0: the values of each column in turn, the last row null where it may be."""
    arrays: list[pa.Array] = [pa.array(range(count), pa.int32())]
    schema = arrow_schema(fields)
    for field in fields[1:]:
        _, values = wanted[field.name]
        taken = [values[row % len(values)] for row in range(count - 1)]
        last = None if field.type.nullable else values[0]
        arrays.append(_array([*taken, last], schema.field(field.name).type))
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(values: list[Any], arrow: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(arrow) and arrow.unit == "ns":
        plain = [v.value if isinstance(v, pa.Scalar) else _nanos(v) for v in values]
        return pa.array(plain, pa.int64()).view(arrow)
    return pa.array(values, arrow)


def _nanos(value: datetime | None) -> int | None:
    if value is None:
        return None
    since = value.replace(tzinfo=None) - datetime(1970, 1, 1)
    return (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1000

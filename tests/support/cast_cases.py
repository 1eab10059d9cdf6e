"""Values of one type and what Java Paimon reads of them as another; the answers are those of Paimon 1.4."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from table_format.model.types import (
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)

INF = float("inf")
MAX_LONG, MIN_LONG = 2**63 - 1, -(2**63)
S, MS, US = 10**9, 10**6, 10**3


def dec(precision: int, scale: int) -> DecimalType:
    return DecimalType(precision=precision, scale=scale)


def ts(precision: int) -> TimestampType:
    return TimestampType(precision=precision)


def numbers(*texts: str) -> list[Decimal]:
    return [Decimal(t) for t in texts]


STRING = VarCharType()
DOUBLES = [1.5, -1.5, 0.5, 1e10, -1e10, float("nan"), INF, -INF, 300.7, 70000.2]
LONGS = [0, 127, 128, -129, 32768, 2147483648, MAX_LONG, MIN_LONG]
CENTS = numbers("0.00", "0.50", "-0.50", "1.49", "-1.50", "99999999.99", "12.34")
DATE_2024 = 19782  # 2024-02-29
DAY = 86_400 * S

CASES: list[tuple[DataType, DataType, list[Any], list[Any]]] = [
    (DoubleType(), TinyIntType(), DOUBLES, [1, -1, 0, -1, 0, 0, -1, 0, 44, 112]),
    (DoubleType(), SmallIntType(), DOUBLES, [1, -1, 0, -1, 0, 0, -1, 0, 300, 4464]),
    (DoubleType(), IntType(), DOUBLES, [1, -1, 0, 2**31 - 1, -(2**31), 0, 2**31 - 1, -(2**31), 300, 70000]),
    (DoubleType(), BigIntType(), DOUBLES, [1, -1, 0, 10**10, -(10**10), 0, MAX_LONG, MIN_LONG, 300, 70000]),
    (DoubleType(), FloatType(), [1.1, 1e300, -1e300, 4.9e-324], [1.100000023841858, INF, -INF, 0.0]),
    (
        DoubleType(),
        dec(10, 2),
        [1.005, -1.5, 1e10, 0.001, 1e300, -1e300, 1e-300],
        [*numbers("1.01", "-1.50"), None, Decimal("0.00"), None, None, Decimal("0.00")],
    ),
    (FloatType(), DoubleType(), [1.100000023841858], [1.100000023841858]),
    (
        DoubleType(),
        STRING,
        [1.0, 1e20, 1e-5, 0.001, 1e7, 9999999.0, 5e-324, -0.0, 2e-323, INF, float("nan")],
        ["1.0", "1.0E20", "1.0E-5", "0.001", "1.0E7", "9999999.0", "4.9E-324", "-0.0", "2.0E-323", "Infinity", "NaN"],
    ),
    (FloatType(), STRING, [1.5, 0.10000000149011612, 1.401298464324817e-45], ["1.5", "0.1", "1.4E-45"]),
    (BigIntType(), TinyIntType(), LONGS, [0, 127, -128, 127, 0, 0, -1, 0]),
    (BigIntType(), IntType(), LONGS, [0, 127, 128, -129, 32768, -(2**31), -1, 0]),
    (BigIntType(), BooleanType(), [0, 2, -1], [False, True, True]),
    (BigIntType(), dec(10, 2), [1, MAX_LONG, None], [Decimal("1.00"), None, None]),
    (IntType(), dec(12, 2), [1, -77], numbers("1.00", "-77.00")),
    (IntType(), dec(38, 28), [2**31 - 1], numbers("2147483647." + "0" * 28)),
    (SmallIntType(), BigIntType(), [-32768], [-32768]),
    (IntType(), DoubleType(), [-5], [-5.0]),
    (IntType(), STRING, [-5], ["-5"]),
    (BigIntType(), VarCharType(length=2), [128], ["12"]),
    (BigIntType(), CharType(length=4), [1], ["1   "]),
    (IntType(), ts(6), [1, -1], [S, -S]),
    (BigIntType(), LocalZonedTimestampType(precision=3), [1_700_000_000], [1_700_000_000 * S]),
    (dec(10, 2), TinyIntType(), CENTS, [0, 0, 0, 1, -1, -1, 12]),
    (dec(10, 2), BigIntType(), CENTS, [0, 0, 0, 1, -1, 99999999, 12]),
    (dec(10, 2), DoubleType(), CENTS, [0.0, 0.5, -0.5, 1.49, -1.5, 99999999.99, 12.34]),
    (dec(38, 18), FloatType(), numbers("300.9"), [300.8999938964844]),
    (dec(10, 2), dec(8, 1), CENTS, [*numbers("0.0", "0.5", "-0.5", "1.5", "-1.5"), None, Decimal("12.3")]),
    (dec(10, 2), dec(12, 4), CENTS[:2], numbers("0.0000", "0.5000")),
    (dec(10, 2), dec(5, 2), numbers("999.99", "1000.00"), [Decimal("999.99"), None]),
    (dec(10, 2), STRING, CENTS[:3], ["0.00", "0.50", "-0.50"]),
    (BooleanType(), BigIntType(), [True, False], [1, 0]),
    (BooleanType(), dec(5, 2), [True, False], numbers("1.00", "0.00")),
    (BooleanType(), dec(2, 2), [True], [None]),
    (BooleanType(), STRING, [True, False], ["true", "false"]),
    (DateType(), ts(3), [-3653, 0], [-3653 * DAY, 0]),
    (DateType(), LocalZonedTimestampType(precision=6), [1], [DAY]),
    (DateType(), STRING, [DATE_2024, -719162], ["2024-02-29", "0001-01-01"]),
    (TimeType(precision=3), ts(6), [3_723_004], [3_723_004 * MS]),
    (TimeType(precision=3), STRING, [3_723_004, 0], ["01:02:03.004", "00:00:00.0"]),
    (TimeType(precision=2), STRING, [3_723_004], ["01:02:03.00"]),
    (ts(3), ts(6), [MS, -MS], [MS, -MS]),
    (ts(6), ts(3), [1_999_000, -1_000], [MS, -MS]),
    (ts(3), ts(0), [1_999 * MS, -1_999 * MS], [S, -S]),
    (ts(3), ts(1), [1_999 * MS, -1_999 * MS], [1_900 * MS, -1_900 * MS]),
    (ts(6), ts(4), [123_456_000, -US], [123_400_000, -100_000]),
    (ts(9), ts(7), [199, -1], [100, -100]),
    (ts(6), DateType(), [0, -US], [0, 0]),
    (ts(3), TimeType(precision=3), [DAY + 5 * MS, -MS], [5, 86_399_999]),
    (ts(3), STRING, [DATE_2024 * DAY + 45_296_780 * MS], ["2024-02-29 12:34:56.780"]),
    (
        ts(4),
        STRING,
        [DATE_2024 * DAY + 100 * MS, 123_456_000],
        ["2024-02-29 00:00:00.1000", "1970-01-01 00:00:00.123456"],
    ),
    (LocalZonedTimestampType(precision=3), STRING, [0], ["1970-01-01 00:00:00.000"]),
    (ts(0), STRING, [0], ["1970-01-01 00:00:00"]),
    (ts(3), BigIntType(), [1_999 * MS, -1_999 * MS], [1, -1]),
    (ts(3), LocalZonedTimestampType(precision=3), [-MS], [-MS]),
    (STRING, IntType(), ["1", "-5", "+7", "12.9", "00012", ".5", "."], [1, -5, 7, 12, 12, 0, 0]),
    (STRING, BooleanType(), ["T", "yes", "0", "No"], [True, True, False, False]),
    (STRING, DoubleType(), ["1.5", "1e10", "0x1p3", " 1d ", "-Infinity"], [1.5, 1e10, 8.0, 1.0, -INF]),
    (STRING, dec(8, 2), ["1.255", "-1.255", "1e2", "99999999"], [*numbers("1.26", "-1.26", "100.00"), None]),
    (STRING, DateType(), ["2024-2-29", "2024", " 1970 - 1 - 2", "1970-01-02 10:11", "7"], [DATE_2024, 2024, 1, 1, 7]),
    (STRING, TimeType(precision=3), ["01:02:03.0045", "1:2", "12", "0:0+1:30"], [3_723_005, 3_720_000, 12, 5_400_000]),
    (STRING, ts(3), ["1970-1-1 0:0:5.6789", "1970-01-02", "1970-01-01T00:01", "7"], [5_678 * MS, DAY, 60 * S, 7 * MS]),
    (STRING, BinaryType(length=2), ["abc", "a"], [b"ab", b"a\0"]),
    (STRING, VarBinaryType(), ["é"], [b"\xc3\xa9"]),
    (STRING, CharType(length=3), ["a", "😀😀😀😀"], ["a  ", "😀😀😀"]),
    (VarCharType(length=10), VarCharType(length=3), ["abcd", "ab"], ["abc", "ab"]),
    (VarBinaryType(), BinaryType(length=3), [b"\1", b"\1\2\3\4"], [b"\1\0\0", b"\1\2\3"]),
    (BinaryType(length=3), VarBinaryType(length=2), [b"\1\2\3"], [b"\1\2"]),
    (BinaryType(length=3), VarCharType(length=2), [b"abc"], ["abc"]),
]

"""Rows of every type that Paimon 0.9.0 and Spark-free readers share, made from a seed."""

from __future__ import annotations

import random
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import pyarrow as pa

ALL_TYPES = pa.schema(
    [
        pa.field("k", pa.int32(), nullable=False),
        pa.field("b", pa.bool_()),
        pa.field("i8", pa.int8()),
        pa.field("i16", pa.int16()),
        pa.field("i64", pa.int64()),
        pa.field("f32", pa.float32()),
        pa.field("f64", pa.float64()),
        pa.field("d9", pa.decimal128(9, 2)),
        pa.field("d18", pa.decimal128(18, 4)),
        pa.field("d38", pa.decimal128(38, 10)),
        pa.field("s", pa.string()),
        pa.field("bin", pa.binary()),
        pa.field("day", pa.date32()),
        pa.field("clock", pa.time32("ms")),
        pa.field("ts3", pa.timestamp("ms")),
        pa.field("ts6", pa.timestamp("us")),
        pa.field("ltz", pa.timestamp("us", tz="UTC")),
        pa.field("arr", pa.list_(pa.field("element", pa.int32()))),
        pa.field("m", pa.map_(pa.string(), pa.int64())),
        pa.field("r", pa.struct([pa.field("x", pa.int32()), pa.field("y", pa.string())])),
    ]
)

_TEXTS = ("", "a", "seven77", "eight888", "a longer text than sixteen characters", "中文字", "\U0001f600 smile", "%/=:")


def all_types(seed: int, keys: list[int]) -> pa.Table:
    """One row for each key, about one value in six null."""
    chance = random.Random(seed)
    rows = [_row(chance, key) for key in keys]
    return pa.Table.from_pylist(rows, schema=ALL_TYPES)


def _row(chance: random.Random, key: int) -> dict[str, object]:
    moment = datetime(1965, 1, 1) + timedelta(
        seconds=chance.randrange(3_000_000_000), microseconds=chance.randrange(10**6)
    )
    values: dict[str, object] = {
        "b": chance.random() < 0.5,
        "i8": chance.randrange(-128, 128),
        "i16": chance.randrange(-(2**15), 2**15),
        "i64": chance.randrange(-(2**63), 2**63),
        "f32": float(chance.randrange(-1000, 1000)) / 8,
        "f64": chance.uniform(-1e9, 1e9),
        "d9": Decimal(chance.randrange(-(10**9) + 1, 10**9)).scaleb(-2),
        "d18": Decimal(chance.randrange(-(10**18) + 1, 10**18)).scaleb(-4),
        "d38": Decimal(chance.randrange(-(10**27), 10**27)).scaleb(-10),
        "s": chance.choice(_TEXTS),
        "bin": bytes(chance.randrange(256) for _ in range(chance.randrange(12))),
        "day": date(1960, 1, 1) + timedelta(days=chance.randrange(40_000)),
        "clock": time(chance.randrange(24), chance.randrange(60), chance.randrange(60), 1000 * chance.randrange(1000)),
        "ts3": moment.replace(microsecond=moment.microsecond // 1000 * 1000),
        "ts6": moment,
        "ltz": moment,
        "arr": [chance.choice((None, chance.randrange(100))) for _ in range(chance.randrange(4))],
        "m": [(f"key{i}", chance.choice((None, i))) for i in range(chance.randrange(3))],
        "r": {"x": chance.choice((None, 5)), "y": chance.choice(_TEXTS)},
    }
    return {"k": key, **{name: None if chance.random() < 1 / 6 else value for name, value in values.items()}}

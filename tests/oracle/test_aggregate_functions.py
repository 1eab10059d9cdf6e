"""Every aggregate function over every type it takes: what we write and merge, and what the real Paimon does.

A column holds what one function makes of one type. The same commits go to a table of ours, to one of Paimon's and to
one that both write by turns; with rows that take back where the function allows it. Each side reads all three before
and after compaction.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyroaring import BitMap

from table_format import load_catalog
from table_format.kernels.aggregates.functions import FUNCTIONS
from table_format.kernels.aggregates.roaring import Container, Kind
from table_format.kernels.aggregates.roaring64 import Bitmap64, encode_bitmap64
from tests.oracle.peer import PaimonPeer
from tests.oracle.test_merge_engines import Case, Trio, create, newest

__all__ = ["newest"]

datasketches = pytest.importorskip("datasketches", reason="it has no wheels for this Python")

KEYS = 25
COMMITS = 4
EPOCH = datetime(2020, 1, 1)

Make = Callable[[random.Random], Any]
Columns = dict[str, tuple[pa.DataType, Make]]

NUMBERS: Columns = {
    "tiny": (pa.int8(), lambda chance: chance.randrange(-128, 128)),
    "small": (pa.int16(), lambda chance: chance.choice([-(2**15), 7, 300])),
    "int": (pa.int32(), lambda chance: chance.choice([2**31 - 1, 5, -9])),
    "big": (pa.int64(), lambda chance: chance.choice([2**63 - 1, 5, -9])),
    "float": (pa.float32(), lambda chance: chance.choice([0.1, 1e8, -3.7, 0.0])),
    "double": (pa.float64(), lambda chance: chance.choice([0.1, 1e17, -3.7, 0.0])),
    "dec": (pa.decimal128(10, 2), lambda chance: Decimal(chance.randrange(-500, 500)).scaleb(-2)),
    "long_dec": (pa.decimal128(25, 3), lambda chance: Decimal(chance.randrange(-(10**24), 10**24)).scaleb(-3)),
}
FACTORS: Columns = {
    name: (t, lambda chance: chance.choice([1, 2, -2, 4]))
    for name, (t, _) in NUMBERS.items()
    if not pa.types.is_decimal(t)
} | {name: (NUMBERS[name][0], lambda chance: Decimal(chance.choice([1, 2, -2, 4]))) for name in ("dec", "long_dec")}
TEXTS: Columns = {"text": (pa.string(), lambda chance: chance.choice(["", "a", "b,c", "a,b", " ", "中", "\U0001f600"]))}
MOMENTS: Columns = {
    "day": (pa.date32(), lambda chance: date(1969, 12, 30) + timedelta(days=chance.randrange(5))),
    "clock": (pa.time32("ms"), lambda chance: time(chance.randrange(24), 5, 6, 1000 * chance.randrange(1000))),
    "ts3": (pa.timestamp("ms"), lambda chance: EPOCH + timedelta(milliseconds=chance.randrange(-5, 5))),
    "ts6": (pa.timestamp("us"), lambda chance: EPOCH + timedelta(microseconds=chance.randrange(-5, 5))),
    "ltz": (pa.timestamp("us", "UTC"), lambda chance: EPOCH + timedelta(microseconds=chance.randrange(-5, 5))),
}
COMPARABLE: Columns = {**NUMBERS, **TEXTS, **MOMENTS}
BOOLEANS: Columns = {"flag": (pa.bool_(), lambda chance: chance.random() < 0.5)}


def listed(t: pa.DataType, make: Make) -> tuple[pa.DataType, Make]:
    arrow = pa.list_(pa.field("element", t))
    return arrow, lambda chance: [make(chance) if chance.random() < 0.9 else None for _ in range(chance.randrange(5))]


ARRAYS: Columns = {
    "ints": listed(pa.int32(), lambda chance: chance.randrange(40)),
    "longs": listed(pa.int64(), lambda chance: chance.choice([1, 5, 17, 2**40, -3])),
    "texts": listed(pa.string(), lambda chance: chance.choice("abcdefgh")),
    "days": listed(pa.date32(), lambda chance: date(2020, 1, 1 + chance.randrange(20))),
    "decs": listed(pa.decimal128(10, 2), lambda chance: Decimal(chance.randrange(9)).scaleb(-1)),
}
MAPS: Columns = {
    "named": (
        pa.map_(pa.string(), pa.int64()),
        lambda chance: {c: chance.randrange(9) for c in chance.sample("abcd", 2)},
    ),
    "numbered": (pa.map_(pa.int32(), pa.string()), lambda chance: {i: "x" * i for i in chance.sample(range(30), 3)}),
}
TABLE = pa.list_(pa.field("element", pa.struct([("id", pa.int32()), ("sub", pa.string()), ("n", pa.int64())])))


def table_rows(chance: random.Random) -> list[dict[str, Any]]:
    return [
        {"id": chance.randrange(4), "sub": chance.choice("ab"), "n": chance.choice([None, 1, 2])}
        for _ in range(chance.randrange(4))
    ]


TIMED: Columns = {
    "timed": (
        pa.map_(pa.int32(), pa.struct([("v", pa.int32()), ("at", pa.string())])),
        lambda chance: {
            i: chance.choice([None, {"v": chance.randrange(9), "at": chance.choice(["1", "2", "3", None])}])
            for i in chance.sample(range(9), 3)
        },
    )
}
TABLES: Columns = {"table": (TABLE, table_rows)}
EVERYTHING: Columns = {**COMPARABLE, **BOOLEANS, **ARRAYS, **MAPS, **TABLES}


def bitmap32(chance: random.Random) -> bytes:
    values = BitMap(chance.sample(range(200_000), 20) + list(range(chance.choice([0, 9, 5000]))))
    values.run_optimize()
    return bytes(values.serialize())


def bitmap64(chance: random.Random) -> bytes:
    bitmap = Bitmap64()
    for key in sorted(chance.sample(range(400), chance.choice([1, 3, 20, 60]))):
        lows = BitMap(chance.sample(range(1 << 16), 5))
        bitmap.put((key << chance.choice([0, 0, 24])).to_bytes(6, "big"), Container(Kind.ARRAY, lows))
    return encode_bitmap64(bitmap)


def theta(chance: random.Random) -> bytes:
    sketch = datasketches.update_theta_sketch()
    for value in range(chance.choice([0, 1, 5, 3000])):
        sketch.update(chance.randrange(100_000) + value)
    return bytes(sketch.compact().serialize())


def hll(chance: random.Random) -> bytes:
    sketch = datasketches.hll_sketch(12, datasketches.HLL_4)
    for _ in range(chance.choice([1, 5, 30])):
        sketch.update(chance.randrange(1000))
    return bytes(sketch.serialize_compact())


def bytes_of(make: Make) -> Columns:
    return {"set": (pa.binary(), make)}


CASES: dict[str, tuple[str, Columns, bool, dict[str, str]]] = {
    "sum": ("sum", NUMBERS, True, {}),
    "product": ("product", FACTORS, False, {}),
    "product and back": ("product", {name: FACTORS[name] for name in ("float", "double")}, True, {}),
    "max": ("max", COMPARABLE, False, {}),
    "min": ("min", COMPARABLE, False, {}),
    "max, retracts ignored": ("max", COMPARABLE, True, {"ignore-retract": "true"}),
    "last_value": ("last_value", EVERYTHING, True, {}),
    "last_non_null_value": ("last_non_null_value", EVERYTHING, True, {}),
    "first_value": ("first_value", EVERYTHING, False, {}),
    "first_non_null_value": ("first_non_null_value", EVERYTHING, False, {}),
    "first_not_null_value": ("first_not_null_value", EVERYTHING, False, {}),
    "listagg": ("listagg", TEXTS, False, {"list-agg-delimiter": ";"}),
    "listagg distinct": ("listagg", TEXTS, False, {"distinct": "true"}),
    "bool_and": ("bool_and", BOOLEANS, False, {}),
    "bool_or": ("bool_or", BOOLEANS, False, {}),
    "collect": ("collect", ARRAYS, True, {}),
    "collect distinct": ("collect", ARRAYS, True, {"distinct": "true"}),
    "merge_map": ("merge_map", MAPS, True, {}),
    "merge_map_with_keytime": ("merge_map_with_keytime", TIMED, False, {"ts-field": "at"}),
    "nested_update": ("nested_update", TABLES, True, {}),
    "nested_update by key": ("nested_update", TABLES, True, {"nested-key": "id,sub"}),
    "nested_update, limited": ("nested_update", TABLES, False, {"nested-key": "id", "count-limit": "3"}),
    "nested_partial_update": ("nested_partial_update", TABLES, False, {"nested-key": "id"}),
    "rbm32": ("rbm32", bytes_of(bitmap32), False, {}),
    "rbm64": ("rbm64", bytes_of(bitmap64), False, {}),
    "theta_sketch": ("theta_sketch", bytes_of(theta), False, {}),
    "hll_sketch": ("hll_sketch", bytes_of(hll), False, {}),
}


def case_of(function: str, columns: Columns, retracts: bool, options: dict[str, str]) -> Case:
    given = {"merge-engine": "aggregation", "write-only": "true"}
    for name in columns:
        given[f"fields.{name}.aggregate-function"] = function
        given |= {f"fields.{name}.{key}": value for key, value in options.items()}
    return Case(given, retracts, columns)


def some_rows(case: Case, chance: random.Random) -> tuple[list[str], pa.Table]:
    """A batch in which some keys have several rows."""
    keys = [key for key in range(KEYS) for _ in range(chance.choice([0, 1, 1, 2, 3]))]
    rows = [{n: make(chance) if chance.random() > 0.2 else None for n, (_, make) in case.columns.items()} for _ in keys]
    for key, row in zip(keys, rows, strict=True):
        row["k"] = key
    kinds = ["+I", "+I", "+U", "-U", "-D"] if case.retracts else ["+I", "+U"]
    return [chance.choice(kinds) for _ in keys], pa.Table.from_pylist(rows, schema=case.schema)


@pytest.mark.parametrize("name", CASES)
def test_a_function_gives_what_paimon_gives(newest: PaimonPeer, tmp_path: Path, name: str) -> None:
    case = case_of(*CASES[name])
    chance = random.Random(name)
    catalog = load_catalog({"warehouse": str(tmp_path)})
    tables = ("ours", "theirs", "mixed")
    for table in tables:
        create(catalog, table, case)
    trio = Trio(newest, tmp_path, case)
    for _ in range(COMMITS):
        kinds, rows = some_rows(case, chance)
        for table, by_us in {"ours": True, "theirs": False, "mixed": chance.random() < 0.5}.items():
            trio.write(table, kinds, rows, by_us=by_us)
    for compacted in (False, True):
        if compacted:
            for table, by_us in {"ours": True, "theirs": False, "mixed": chance.random() < 0.5}.items():
                trio.compact(table, by_us=by_us)
        ours, of_ours = trio.read("ours")
        assert ours
        assert of_ours == ours
        for table in tables[1:]:
            read, theirs = trio.read(table)
            assert theirs == ours, table
            assert read == ours, table


def test_every_function_has_its_case() -> None:
    # Paimon knows no count since 0.9.
    assert {function for function, *_ in CASES.values()} == set(FUNCTIONS) - {"count"}

"""Values in rows, filters, expressions and options that no file can hold, or that no number of bits can."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from table_format import Table
from table_format.errors import InvalidData
from table_format.model.predicate import And, Compare, CompareOp, In, Like, Not
from table_format.table.changes.merge_into import Update
from tests.support.odd_arguments import ROWS, outcome_of
from tests.support.tables import memory_warehouse

HALF = "\ud800"
FOREVER = "9999999999999999999"
ACTIONS: dict[str, Callable[[Table], object]] = {
    "a text to set": lambda t: t.update({"dt": f"'{HALF}'"}, "id = 1"),
    "a condition of an update": lambda t: t.update({"v": "1"}, f"dt = '{HALF}'"),
    "a number to set": lambda t: t.update({"v": 10**400}, "id = 1"),
    "not a number to set": lambda t: t.update({"v": float("nan")}, "id = 1"),
    "an object to set": lambda t: t.update({"v": object()}, "id = 1"),
    "a condition of a delete": lambda t: t.delete(f"dt = '{HALF}'"),
    "a number of 5,000 digits": lambda t: t.delete("id = " + "9" * 5000),
    "a fraction of 5,000 digits": lambda t: t.delete("id < 1." + "0" * 5000 + "1"),
    "a deep condition": lambda t: t.delete("(" * 3000 + "id = 1" + ")" * 3000),
    "a text for a number": lambda t: t.delete(Compare("id", CompareOp.EQ, "x")),
    "a large number": lambda t: t.delete(Compare("id", CompareOp.EQ, 10**400)),
    "a large decimal": lambda t: t.delete(Compare("id", CompareOp.LT, Decimal("-1e5000"))),
    "half a pair to compare with": lambda t: t.delete(In("dt", (HALF, 5))),
    "no predicate in a predicate": lambda t: t.delete(And((Not(5),))),  # type: ignore[arg-type]
    "no pattern": lambda t: t.delete(Like("dt", 5)),  # type: ignore[arg-type]
    "half a pair in pandas": lambda t: t.append(pd.DataFrame({"id": [1], "dt": [HALF], "v": [1]})),
    "an object in pandas": lambda t: t.append(pd.DataFrame({"id": [1], "dt": [object()], "v": [1]})),
    "a large number in pandas": lambda t: t.append(pd.DataFrame({"id": [10**30], "dt": ["a"], "v": [1]})),
    "two types in pandas": lambda t: t.append(pd.DataFrame({"id": [1, "x"], "dt": ["a", "b"], "v": [1, 2]})),
    "half a pair as partition": lambda t: t.overwrite(ROWS, partition={"dt": HALF}),
    "a number as partition": lambda t: t.drop_partitions([{"dt": 10**400}]),
    "a condition of a clause": lambda t: t.merge(
        ROWS, "id", when_matched=Update(condition=f"source.dt = '{HALF}'", set={"v": "1"})
    ),
    **{
        f"{key} = {value[:30]!r}": lambda t, key=key, value=value: t.copy({key: value}).append(ROWS)
        for key, value in {
            "snapshot.time-retained": f"{FOREVER} d",
            "commit.timeout": "P" + "9" * 400 + "D",
            "commit.user-prefix": "a/\0" + "x" * 9000,
            "target-file-size": f"{FOREVER} tb",
            "write-buffer-size": f"{FOREVER} tb",
            "parquet.block.size": f"{FOREVER} tb",
            "file.compression.zstd-level": "99999",
            "data-file.prefix": "a/b",
            "scan.snapshot-id": "9" * 5000,
        }.items()
    },
    "a long prefix of files": lambda t: t.copy({"data-file.prefix": "x" * 300}).append(ROWS),
    "a tag for ever": lambda t: t.copy({"tag.default-time-retained": f"{FOREVER} d"}).create_tag("x"),
}


@pytest.mark.parametrize("kind", ["append, partitioned", "keyed"])
@pytest.mark.parametrize("action", ACTIONS)
def test_an_odd_value_is_refused_or_leaves_a_sound_table(action: str, kind: str):
    outcome_of(lambda _catalog, table: ACTIONS[action](table), kind)


def _not_utf8() -> pa.Array:
    offsets, data = pa.py_buffer(np.array([0, 1, 2], np.int32).tobytes()), pa.py_buffer(b"a\xff")
    return pa.Array.from_buffers(pa.string(), 2, [None, offsets, data])


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("keys", [(), ("id",)])
def test_text_that_is_no_utf8_is_refused_by_its_column(keys: tuple[str, ...], nested: bool):
    texts = pa.ListArray.from_arrays([0, 1, 2], _not_utf8()) if nested else _not_utf8()
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("s", texts.type)])
    table = memory_warehouse().table("t", schema, primary_keys=keys)
    with pytest.raises(InvalidData, match=r"column 's'.*UTF8"):
        table.append(pa.table({"id": [1, 2], "s": texts}, schema=schema))
    assert table.latest_snapshot() is None


EXTREMES: dict[str, Any] = {
    "double": pa.array([float("nan"), float("inf"), -0.0, 5e-324, None]),
    "float": pa.array([float("nan"), float("-inf"), -0.0, 1e-45, None], pa.float32()),
    "decimal": pa.array([Decimal("9" * 38), Decimal("-" + "9" * 38), None, None, Decimal(0)], pa.decimal128(38)),
    "fraction": pa.array([Decimal("0." + "9" * 38), None, None, None, None], pa.decimal128(38, 38)),
    "date": pa.array([2**31 - 1, -(2**31), 0, None, 1], pa.int32()).cast(pa.date32()),
    **{
        f"timestamp in {unit}": pa.array([2**63 - 1, -(2**63) + 1, 0, None, 1], pa.int64()).cast(pa.timestamp(unit))
        for unit in ("ms", "us", "ns")
    },
    "bytes": pa.array([b"\xff\xfe", b"", None, b"\0" * 5, b"x" * 100_000]),
    "text": pa.array(["\U0010ffff" * 50, "\0", "", None, "x" * 100_000]),
    "bigint": pa.array([-(2**63), 2**63 - 1, 0, None, 1]),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_statistics_of_extreme_values_are_written_and_read(name: str):
    values = EXTREMES[name]
    warehouse = memory_warehouse()
    schema = pa.schema([("id", pa.int64()), ("v", values.type)])
    table = warehouse.table("t", schema)
    table.append(pa.table({"id": range(5), "v": values}, schema=schema))
    table.analyze(["id", "v"])
    assert warehouse.catalog.load_table("db.t$statistics").scan().to_arrow().num_rows == 1
    assert warehouse.reopened(table).scan().to_arrow().num_rows == 5


@pytest.mark.parametrize(
    "options",
    [
        {"file.format": "orc", "file.format.per.level": "0:avro"},
        {"file.format.per.level": "5:orc", "num-levels": "6"},
        {"changelog-file.format": "orc", "changelog-producer": "full-compaction"},
        {"file.format": "orc", "bucket": "-2"},
    ],
    ids=str,
)
def test_a_value_that_a_later_file_cannot_hold_is_refused_when_it_is_written(options: dict[str, str]) -> None:
    # Otherwise the row is accepted, and the compaction that writes the later file stops every write from then on.
    finer = pa.timestamp("us")
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("t", finer), ("l", pa.list_(finer))])
    table = memory_warehouse().table(schema=schema, primary_keys=["id"], options=options)
    rows = pa.table({"id": [1, 2], "t": pa.array([0, -1], finer), "l": pa.array([None, []], pa.list_(finer))})
    with pytest.raises(InvalidData, match=r"column 't': 1969-12-31 23:59:59\.999999 .* cannot be stored in ORC"):
        table.append(rows)
    table.append(rows.slice(0, 1))
    with pytest.raises(InvalidData, match=r"column 'l': .* cannot be stored in ORC"):
        table.append(pa.table({"id": [1], "t": pa.array([None], finer), "l": pa.array([[0, -1]], pa.list_(finer))}))
    if table.options.bucket.count != -2:  # of which a statement sees no row before its compaction
        with pytest.raises(InvalidData, match=r"column 't': .* cannot be stored in ORC"):
            table.update({"t": "TIMESTAMP '1969-12-31 23:59:59.999999'"}, "id = 1")
    table.compact(full=True)
    assert table.scan().to_arrow()["id"].to_pylist() == [1]

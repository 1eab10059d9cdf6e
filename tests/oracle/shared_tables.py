"""Tables with the columns ``k``, ``pt`` and ``v`` in a warehouse of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from table_format import Schema, Table
from tests.oracle.compare import assert_same_at_every_snapshot
from tests.oracle.conftest import SharedLake

COLUMNS = [["k", "BIGINT NOT NULL"], ["pt", "STRING NOT NULL"], ["v", "INT"]]
SCHEMA = pa.schema(
    [pa.field("k", pa.int64(), nullable=False), pa.field("pt", pa.string(), nullable=False), ("v", pa.int32())]
)
KEYS = ["k", "pt"]
Row = tuple[int, str, int]


def make(lake: SharedLake, options: dict[str, str], *, by_us: bool, keys: list[str] = KEYS, name: str = "db.t") -> None:
    """Create a table of ``db``, partitioned by ``pt``; Paimon creates the database with it."""
    if by_us:
        if "db" not in lake.ours.list_databases():
            lake.ours.create_database("db")
        lake.ours.create_table(name, Schema.from_arrow(SCHEMA, keys, ["pt"], options))
    else:
        lake.theirs.create_table(
            lake.uri, name, columns=COLUMNS, primary_keys=keys, partition_keys=["pt"], options=options
        )


def write(lake: SharedLake, rows: list[Row], *, by_us: bool, name: str = "db.t") -> None:
    """Commit rows."""
    if by_us:
        columns = zip(*rows, strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
        opened(lake, name).append(pa.Table.from_arrays(arrays, schema=SCHEMA))
    else:
        lake.theirs.write(lake.uri, name, [["+I", list(row)] for row in rows])


def opened(lake: SharedLake, name: str = "db.t") -> Table:
    """Our handle of a table."""
    found = lake.ours.load_table(name)
    assert isinstance(found, Table)
    return found


def read(lake: SharedLake, name: str = "db.t") -> list[tuple[Any, ...]]:
    """The rows in their order, which both read."""
    ours = sorted(tuple(row.values()) for row in opened(lake, name).scan().to_arrow().to_pylist())
    assert ours == sorted(map(tuple, lake.theirs.read(lake.uri, name)["rows"]))
    return ours


def write_in_turn(lake: SharedLake, options: dict[str, str], partitions: Sequence[str], *, by_us: bool) -> None:
    """Both go on with a table with a primary key that one of them has created, and read the same of every snapshot."""
    make(lake, {"bucket": "1", "num-sorted-run.compaction-trigger": "3", **options}, by_us=by_us)
    expected = {}
    for step in range(4):
        rows = [(key, pt, step * 100 + key) for key, pt in enumerate(partitions[step // 2 :])]
        expected.update(((k, pt), v) for k, pt, v in rows)
        write(lake, rows, by_us=(step % 2 == 0) == by_us)
    if by_us:
        opened(lake).compact(full=True)
    else:
        lake.theirs.compact(lake.uri, "db.t")
    assert read(lake) == sorted((*key, v) for key, v in expected.items())
    assert_same_at_every_snapshot(lake.theirs, lake.uri, "db.t", lake.ours)

"""Conditions of users are never evaluated on superseded or deleted rows, where they may fail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType

from tests.spark.lakes import TestLake

pytestmark = pytest.mark.spark

KEYS = (pa.field("p", pa.int32(), nullable=False), pa.field("id", pa.int64(), nullable=False))
SCHEMA = pa.schema([*KEYS, ("i", pa.int32()), ("s", pa.string())])
MANY = 230
"""Partitions with one file each: more than one scan may have with deletion vectors."""
MARKED = {"deletion-vectors.enabled": "true"}
KINDS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "append, marked": ((), MARKED),
    "keyed, marked": (("p", "id"), {"bucket": "1", **MARKED}),
    "keyed, merged": (("p", "id"), {"bucket": "1", "write-only": "true"}),
    "first row": (("p", "id"), {"bucket": "1", "merge-engine": "first-row", "changelog-producer": "lookup"}),
}
CONDITIONS = (
    "10 / i > 1",
    "10 % i = 0",
    "cast(s as int) >= 1",
    "cast(s as int) >= 1 AND i > 0",
    "if(i = 0, raise_error('a row that is not there'), i) >= 1",
)


def rows(parts: int, ids: range, i: int, s: str) -> pa.Table:
    count = parts * len(ids)
    columns = {"p": [p for p in range(parts) for _ in ids], "id": list(ids) * parts, "i": [i] * count, "s": [s] * count}
    return pa.table(columns, schema=SCHEMA)


def made(lake: TestLake, kind: str, parts: int) -> int:
    """Create a table with deleted or superseded rows with 0 in each file. Return the number of live rows."""
    keys, options = KINDS[kind]
    schema = SCHEMA if keys else pa.schema([f.with_nullable(True) for f in SCHEMA])
    table = lake.create("t", schema, primary_keys=keys, partition_keys=("p",), **options)
    if kind == "first row":
        table.append(rows(parts, range(2), 5, "7"))
        table.append(rows(parts, range(4), 5, "7"))
        return parts * 4
    table.append(rows(parts, range(4), 0, "x"))
    if not keys:
        table.append(rows(parts, range(2), 5, "7"))
        table.delete("i = 0")
        return parts * 2
    table.append(rows(parts, range(2), 5, "7"))
    table.append(rows(parts, range(2, 4), 0, "y").append_column("_row_kind", pa.array(["-D"] * parts * 2)))
    return parts * 2


@pytest.fixture(params=["true", "false"], ids=["ANSI", "not ANSI"])
def ansi(lake: TestLake, request: pytest.FixtureRequest) -> Iterator[str]:
    lake.spark.conf.set("spark.sql.ansi.enabled", request.param)
    yield request.param
    lake.spark.conf.set("spark.sql.ansi.enabled", "true")


def frames_of(lake: TestLake) -> dict[str, Any]:
    path = lake.table().store.paths.root
    return {"lake": lake.lake.table("s.t"), "format": lake.spark.read.format("paimon").load(path)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_condition_is_not_evaluated_on_deleted_or_superseded_rows(lake: TestLake, kind: str, ansi: str) -> None:
    live = made(lake, kind, 2)
    for way, frame in frames_of(lake).items():
        strict = F.udf(lambda value: 10 // value > 1, BooleanType())
        parts = [frame.where(condition).groupBy().count() for condition in CONDITIONS]
        parts.append(frame.where(strict("i")).groupBy().count())
        parts.append(frame.groupBy().agg(F.count(F.expr("10 / i"))))
        union = parts[0]
        for part in parts[1:]:
            union = union.unionAll(part)
        assert [row[0] for row in union.collect()] == [live] * len(parts), (way, ansi)


@pytest.mark.parametrize("kind", ["append, marked", "keyed, marked", "keyed, merged"])
def test_a_condition_is_not_evaluated_on_deleted_rows_of_many_small_files(lake: TestLake, kind: str) -> None:
    live = made(lake, kind, MANY)
    frame = lake.lake.table("s.t")
    assert len(lake.files()) > MANY
    parts = [frame.where(condition).groupBy().count() for condition in CONDITIONS[:3]]
    assert [row[0] for row in parts[0].unionAll(parts[1]).unionAll(parts[2]).collect()] == [live] * 3

"""The row count from metadata equals the row count of a scan."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format.table.table import Table
from tests.queries.sessions import settings_of
from tests.spark.lakes import DATED, TestLake, plan_of, rows_of
from tests.support.spark_session import INTERPRETED

pytestmark = pytest.mark.spark

KINDS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "append": ((), {}),
    "append with vectors": ((), {"deletion-vectors.enabled": "true"}),
    "compacted": (("id",), {"bucket": "2", "full-compaction.delta-commits": "1"}),
    "vectors": (("id",), {"bucket": "2", "deletion-vectors.enabled": "true"}),
    "merged": (("id",), {"bucket": "2", "write-only": "true"}),
    "computed": (("id",), {"bucket": "2", "write-only": "true", "merge-engine": "partial-update"}),
}
KNOWN = ("append", "append with vectors", "compacted", "vectors")
"""Cases for which metadata is sufficient and no data file is opened."""


def delete_files(table: Table) -> None:
    for path in Path(table.store.paths.root).rglob("data-*"):
        path.unlink()


def counts(lake: TestLake) -> list[int]:
    frame: Any = lake.lake.table("s.t")
    sql = lake.lake.sql
    return [
        frame.count(),
        frame.select("id").count(),
        sql("SELECT count(*) AS n FROM s.t").collect()[0].n,
        sql("SELECT count(1) AS n FROM s.t").collect()[0].n,
        lake.lake.aggregate("s.t", {"n": ("count", "*")}).rows[0]["n"],
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_count_from_metadata_equals_the_count_of_a_scan(lake: TestLake, kind: str) -> None:
    keys, options = KINDS[kind]
    table = lake.create(primary_keys=keys, **options)
    for first in (0, 30, 40):
        ids = list(range(first, first + 50))
        table.append(pa.table({"id": pa.array(ids, pa.int64()), "v": [str(first)] * 50}))
        if kind in ("append with vectors", "vectors", "compacted", "merged"):
            lake.table().delete(f"id IN ({first + 1}, {first + 8}) OR id = 45")
    read = len(lake.table().scan().to_arrow())
    assert read == len(lake.lake.table("s.t").collect())
    assert lake.lake.table("s.t").where("v = '40'").count() == len(lake.table().scan(filter="v = '40'").to_arrow())
    if kind in KNOWN:
        delete_files(table)
    assert counts(lake) == [read] * 5


BY_PARTITION = (
    "SELECT count(*) FROM s.t WHERE dt = 'b'",
    "SELECT count(*), count(dt), min(dt), max(dt) FROM s.t WHERE dt <> 'c' OR dt LIKE 'c%'",
    "SELECT dt, count(*) FROM s.t GROUP BY dt HAVING count(*) > 5",
    "SELECT DISTINCT concat(dt, '!') FROM s.t WHERE dt > 'a'",
    "SELECT count(*) FROM s.t WHERE dt = 'z'",
    "SELECT count(*) FROM s.t a JOIN s.t b ON a.dt = b.dt",
)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_which_only_partition_columns_are_needed_are_counted_by_metadata(lake: TestLake, kind: str) -> None:
    keys, options = KINDS[kind]
    table = lake.create(schema=DATED, primary_keys=("dt", *keys) if keys else (), partition_keys=("dt",), **options)
    for first, dt in ((0, "a"), (0, "b"), (3, "b"), (5, "c"), (0, "d e")):
        ids = pa.array(range(first, first + 5), pa.int64())
        table.append(pa.table({"dt": [dt] * 5, "id": ids, "v": [str(first)] * 5}, schema=DATED))
        if kind in ("append with vectors", "vectors", "compacted", "merged"):
            lake.table().delete("id IN (1, 6) OR dt = 'a' AND id < 3")
    everything = lake.spark.createDataFrame(lake.table().scan().to_arrow())
    everything.createOrReplaceTempView("plain")
    frame: Any = lake.lake.table("s.t", filter="dt >= 'b'")
    with settings_of(lake.spark, INTERPRETED):
        expected = {query: rows_of(lake.spark.sql(query.replace("s.t", "plain"))) for query in BY_PARTITION}
        count = everything.where("dt >= 'b'").count()
        of_a_value = rows_of(everything.where("v = '5'").groupBy("dt").count())
    assert rows_of(frame.where("v = '5'").groupBy("dt").count()) == of_a_value
    if kind != "computed":
        assert "FileScan" not in plan_of(lake.lake.table("s.t").where("dt = 'b'").groupBy().count())
    if kind in KNOWN:
        delete_files(table)
    assert all(rows_of(lake.lake.sql(query)) == rows for query, rows in expected.items())
    assert (frame.count(), frame.where("dt <> '?'").select("dt").count()) == (count, count)


def test_partition_columns_of_every_type_have_the_values_of_the_files(lake: TestLake) -> None:
    early, late = datetime.datetime(1500, 3, 1, 1, 2, 3, 4000), datetime.datetime(2026, 10, 25, 1, 30)
    columns: dict[str, tuple[pa.DataType, list[Any]]] = {
        "day": (pa.date32(), [early.date(), late.date(), None]),
        "at": (pa.timestamp("ms"), [early, late, None]),
        "fine": (pa.timestamp("us"), [late, early, None]),
        "seen": (pa.timestamp("ms", "UTC"), [late, datetime.datetime(1960, 1, 1), None]),
        "price": (pa.decimal128(20, 3), [Decimal("-0.001"), Decimal(10) ** 16, None]),
        "flag": (pa.bool_(), [True, False, None]),
        "tiny": (pa.int8(), [-128, 127, None]),
        "size": (pa.float64(), [-0.5, math.inf, None]),
        "raw": (pa.binary(), [b"\x00a", b"", None]),
        "n (#1)": (pa.string(), [" é", "", None]),
    }
    rows = pa.table({name: pa.array(values, of) for name, (of, values) in columns.items()} | {"v": [1, 2, 3]})
    options = {"partition.legacy-name": "false"}
    table = lake.create(schema=rows.schema, primary_keys=(), partition_keys=tuple(columns), **options)
    table.append(rows)
    table.append(rows)
    shown = rows_of(lake.lake.table("s.t").drop("v"))
    assert shown == sorted((tuple(row)[:-1] for row in lake.lake.table("s.t").collect()), key=repr)
    assert len(shown) == 6
    delete_files(table)
    assert rows_of(lake.lake.table("s.t").drop("v")) == shown
    assert rows_of(lake.lake.table("s.t", columns=["tiny"], filter="day < DATE '1600-01-01'")) == [(-128,), (-128,)]

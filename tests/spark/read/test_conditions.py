"""Conditions of ``filter=`` on Spark select the same rows as in a single process."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from tests.queries.unions import united
from tests.spark.lakes import TestLake
from tests.support.matrix import MATRIX

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

DAYS = [
    *(dt.date(1582, 10, day) for day in (4, 5, 10, 14, 15)),
    *(dt.date(1, 1, 1), dt.date(999, 12, 31), dt.date(1500, 2, 28), dt.date(1970, 1, 1), dt.date(9999, 12, 31)),
]
DATED = pa.schema(
    [("id", pa.int64()), ("d", pa.date32()), ("ts", pa.timestamp("us")), ("tz", pa.timestamp("us", "UTC"))]
)


def dated_rows() -> pa.Table:
    noons = [dt.datetime.combine(day, dt.time(12)) for day in DAYS]
    return pa.Table.from_arrays(
        [pa.array(values, f.type) for values, f in zip((range(len(DAYS)), DAYS, noons, noons), DATED, strict=True)],
        schema=DATED,
    )


def ids_by_condition(frames: dict[str, Any]) -> dict[str, list[int]]:
    """Return the ids of the rows of each DataFrame, in one job."""
    spark = next(iter(frames.values())).sparkSession
    tagged = [frame.select(F.lit(name).alias("c"), "id") for name, frame in frames.items()]
    found: dict[str, list[int]] = {name: [] for name in frames}
    for name, number in united(spark, tagged).collect():
        found[name].append(number)
    return {name: sorted(ids) for name, ids in found.items()}


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_dates_and_timestamps_before_the_gregorian_calendar_are_the_same_in_spark(lake: TestLake, zone: str) -> None:
    table = lake.create("d", DATED, primary_keys=())
    table.append(dated_rows())
    conditions = [
        f"{column} {op} {literal} '{day}{'' if column == 'd' else ' 12:00:00'}'"
        for day in DAYS
        for column, literal in (("d", "DATE"), ("ts", "TIMESTAMP"), ("tz", "TIMESTAMP"))
        for op in (("=", "<") if zone != "UTC" or MATRIX else ("=",))
    ]
    expected = {c: sorted(table.scan(["id"], c).to_arrow()["id"].to_pylist()) for c in conditions}
    lake.spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        frames = {c: lake.lake.table("s.d", columns=["id"], filter=c) for c in conditions}
        assert ids_by_condition(frames) == expected
    finally:
        lake.spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert expected["d = DATE '1582-10-10'"] == [2]


@pytest.mark.parametrize("day", [dt.date(999, 1, 1), dt.date(1582, 10, 10), dt.date(9999, 12, 31)])
def test_a_partition_with_an_early_date_is_overwritten(lake: TestLake, day: dt.date) -> None:
    schema = pa.schema([("d", pa.date32()), ("id", pa.int64())])
    lake.create("p", schema, primary_keys=(), partition_keys=("d",))
    for count in (3, 2):
        lake.lake.write(lake.spark.range(count), "s.p", mode="overwrite", partition={"d": day})
    assert lake.table("p").scan().to_arrow().sort_by("id").to_pylist() == [{"d": day, "id": n} for n in range(2)]

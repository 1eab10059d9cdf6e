"""ORDER BY and LIMIT of a query prune the files of a table and return the right rows."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from table_format.spark.read.catalyst import needs_of
from table_format.spark.read.classic_frames import TableFrame
from tests.spark.lakes import TestLake

pytestmark = pytest.mark.spark

SCHEMA = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), ("price", pa.int32()), ("kind", pa.string()), ("share", pa.float64())]
)
FILES = 6
ROWS = 50
INDEXES = {
    "file-index.range-bitmap.columns": "price",
    "file-index.bitmap.columns": "kind",
    "file-index.in-manifest-threshold": "1 mb",
}


def rows(number: int, chance: random.Random) -> pa.Table:
    """Return rows of file n with prices around 100 * n; some are null."""
    columns = [
        [number * ROWS + i for i in range(ROWS)],
        [None if chance.random() < 0.04 else 100 * number + chance.randrange(150) for _ in range(ROWS)],
        [chance.choice("abc") for _ in range(ROWS)],
        [chance.choice([0.0, -2.0, 1.5, float("nan"), None]) for _ in range(ROWS)],
    ]
    return pa.table(columns, schema=SCHEMA)


def table_of(lake: TestLake, name: str, **options: str) -> None:
    keys = () if options.pop("append", "") else ("id",)
    table = lake.create(name, SCHEMA, primary_keys=keys, **{**INDEXES, **options})
    chance = random.Random(3)
    for number in range(FILES):
        table.append(rows(number, chance))


def limits(frame: Any) -> list[str]:
    """Return the limit that the query needs of each table; an empty text for all rows."""
    assert isinstance(frame, TableFrame)
    needs = [need for _, need in needs_of(frame._session, frame._plain._jdf, frame._scans)]
    return ["" if need.limit is None else str(need.limit) for need in needs]


def notes(frame: Any) -> list[str]:
    return [line.partition(": ")[2] for line in frame._resolved[1] if "LIMIT" in line]


def test_a_query_with_a_limit_reads_only_files_that_may_have_the_first_rows(lake: TestLake) -> None:
    table_of(lake, "a", append="1")
    sql = lake.lake.sql
    for text, limit, note in (
        (
            "SELECT id, price FROM s.a ORDER BY price DESC LIMIT 3",
            "ORDER BY price DESC NULLS LAST LIMIT 3",
            "ORDER BY price DESC NULLS LAST LIMIT 3 reads 1 of 6 files",
        ),
        (
            "SELECT price AS p, upper(kind) k FROM s.a WHERE kind = 'b' ORDER BY p DESC, id LIMIT 2 OFFSET 1",
            "ORDER BY price DESC NULLS LAST, id ASC NULLS FIRST LIMIT 3",
            "ORDER BY price DESC NULLS LAST, id ASC NULLS FIRST LIMIT 3 reads 1 of 6 files",
        ),
        ("SELECT * FROM s.a LIMIT 3", "LIMIT 3", "LIMIT 3 reads 1 of 6 files"),
        (
            "SELECT id FROM s.a WHERE id BETWEEN 60 AND 200 ORDER BY id LIMIT 3",
            "ORDER BY id ASC NULLS FIRST LIMIT 3",
            None,
        ),
    ):
        found = sql(text)
        assert limits(found) == [limit], text
        if note is not None:
            assert notes(found) == [note], text
        assert len(found.collect()) == 3 - ("OFFSET" in text)
    frame = lake.lake.table("s.a")
    assert limits(frame.orderBy(F.col("price").asc_nulls_last()).limit(4)) == ["ORDER BY price ASC NULLS LAST LIMIT 4"]


def test_queries_that_may_need_more_than_the_first_rows_are_not_limited(lake: TestLake) -> None:
    table_of(lake, "a", append="1")
    for text in (
        "SELECT id FROM s.a ORDER BY price",
        "SELECT id FROM s.a WHERE share > 1 ORDER BY price LIMIT 3",
        "SELECT id FROM s.a WHERE upper(kind) = 'A' LIMIT 3",
        "SELECT id FROM s.a ORDER BY price + id LIMIT 3",
        "SELECT kind, count(*) FROM s.a GROUP BY kind LIMIT 3",
        "SELECT DISTINCT kind FROM s.a LIMIT 3",
        "SELECT a.id FROM s.a JOIN (SELECT 1 id) b ON a.id = b.id ORDER BY a.price LIMIT 3",
        "SELECT id FROM s.a WHERE current_date() > date '2020-01-01' AND kind = 'a' AND rand() < 2 LIMIT 3",
    ):
        assert limits(lake.lake.sql(text)) == [""], text


CONDITIONS = ("kind = 'b'", "id BETWEEN 40 AND 170", "price > 120 OR kind = 'a'")
KINDS: dict[str, dict[str, str]] = {
    "append": {"append": "1"},
    "merged": {"write-only": "true"},
    "marked": {"deletion-vectors.enabled": "true", "bucket": "1"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_limited_read_returns_the_same_first_rows_as_a_full_read(lake: TestLake, kind: str) -> None:
    table_of(lake, "t", **KINDS[kind])
    if kind != "append":
        lake.table().append(rows(2, random.Random(11)))
        lake.lake.sql("DELETE FROM s.t WHERE id % 17 = 0 OR price > 600")
    everything = lake.spark.createDataFrame(lake.lake.table("s.t").collect(), lake.lake.table("s.t").schema)
    everything.createOrReplaceTempView("all_rows_of_t")
    chance = random.Random(kind)
    # Python tasks read rows to merge, which is slower.
    for _ in range(2 if kind == "merged" else 5):
        where = chance.choice(
            ["", "WHERE kind = 'b'", "WHERE id BETWEEN 40 AND 170", "WHERE price > 120 OR kind = 'a'"]
        )
        columns = chance.sample(["price", "kind", "share", "id"], chance.randrange(1, 4))
        order = ", ".join(f"{c} {chance.choice(['', 'DESC', 'NULLS LAST', 'DESC NULLS FIRST'])}" for c in columns)
        end = f"LIMIT {chance.choice([1, 5, 30])} {chance.choice(['', 'OFFSET 2'])}"
        text = f"SELECT {', '.join(columns)} FROM {{}} {where} ORDER BY {order} {end}"  # noqa: S608
        found, expected = lake.lake.sql(text.format("s.t")), lake.spark.sql(text.format("all_rows_of_t"))
        assert limits(found) != [""], text
        assert str(found.collect()) == str(expected.collect()), text

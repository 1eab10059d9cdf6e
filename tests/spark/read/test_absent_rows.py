"""Conditions of users are never evaluated on superseded or deleted rows, where they may fail."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType

from tests.queries.sessions import settings_of
from tests.spark.lakes import TestLake

pytestmark = pytest.mark.spark

KEYS = (pa.field("p", pa.int32(), nullable=False), pa.field("id", pa.int64(), nullable=False))
SCHEMA = pa.schema([*KEYS, ("i", pa.int32()), ("s", pa.string()), ("five", pa.int32())])
MANY = 230
"""Partitions with one file each: more than one scan may have with deletion vectors."""
MARKED = {"deletion-vectors.enabled": "true"}
KINDS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "append, marked": ((), MARKED),
    "keyed, marked": (("p", "id"), {"bucket": "1", **MARKED}),
    "keyed, merged": (("p", "id"), {"bucket": "1", "write-only": "true"}),
    "first row": (("p", "id"), {"bucket": "1", "merge-engine": "first-row", "changelog-producer": "lookup"}),
}
POSITIONS = {"spark.read.merged-rows": "positions"}
CONDITIONS = (
    "10 / i > 1",
    "10 % i = 0",
    "cast(s as int) >= 1",
    "cast(s as int) >= 1 AND i > 0",
    "if(i = 0, raise_error('a row that is not there'), i) >= 1",
)
RULES = ("CombineFilters", "PushDownPredicates", "InferFiltersFromConstraints", "ColumnPruning", "CollapseProject")
INFERRED = {
    "of one table": "SELECT count(*) FROM {t} WHERE i = five AND 10 / five > 1",
    "of aggregates": "SELECT sum(n) FROM (SELECT i, five, count(*) AS n FROM {t} GROUP BY i, five) "
    "WHERE i = five AND 10 / five > 1",
    "of a window": "SELECT count(*) FROM (SELECT i, five, count(*) OVER (PARTITION BY i, five) AS n FROM {t}) "
    "WHERE i = five AND 10 / five > 1",
    "of a union": "SELECT count(*) DIV 2 FROM (SELECT i, five FROM {t} UNION ALL SELECT i, five FROM {t}) "
    "WHERE i = five AND 10 / five > 1",
    "of generated rows": "SELECT count(*) FROM {t} LATERAL VIEW explode(array(s)) e AS one "
    "WHERE i = five AND 10 / five > 1",
    "of a join": "SELECT count(*) FROM {t} AS a JOIN {t} AS b ON a.i = b.five AND a.p = b.p AND a.id = b.id "
    "WHERE 10 / b.five > 1 AND a.i = a.five AND b.i = a.i",
    "of an outer join": "SELECT count(b.id) FROM {t} AS a LEFT JOIN {t} AS b ON a.i = b.i AND a.p = b.p "
    "AND a.id = b.id AND b.i = b.five WHERE 10 / a.five > 1 AND a.i = a.five",
    "of a subquery": "SELECT count(*) FROM {t} AS a WHERE 10 / a.five > 1 AND a.i = a.five AND EXISTS "
    "(SELECT 1 FROM {t} AS b WHERE b.i = a.five AND b.i = b.five)",
}


def rows(parts: int, ids: range, i: int, s: str) -> pa.Table:
    count = parts * len(ids)
    keys = {"p": [p for p in range(parts) for _ in ids], "id": list(ids) * parts}
    return pa.table({**keys, "i": [i] * count, "s": [s] * count, "five": [5] * count}, schema=SCHEMA)


def made(lake: TestLake, kind: str, parts: int) -> int:
    """Create a table with deleted or superseded rows with 0 in each file. Return the number of live rows."""
    keys, options = KINDS[kind]
    schema = SCHEMA if keys else pa.schema([f.with_nullable(True) for f in SCHEMA])
    table = lake.create("t", schema, primary_keys=keys, partition_keys=("p",), **options)
    if kind == "first row":
        table.append(rows(parts, range(2), 5, "7"))
        table.append(rows(parts, range(4), 5, "7"))
        return parts * 4
    table.append(pa.concat_tables([rows(parts, range(4), 0, "x"), rows(parts, range(4, 5), 5, "7")]))
    table.append(rows(parts, range(2), 5, "7"))
    if not keys:
        table.delete("i = 0")
        return parts * 3
    table.append(rows(parts, range(2, 4), 0, "y").append_column("_row_kind", pa.array(["-D"] * parts * 2)))
    return parts * 3


@pytest.fixture(params=["true", "false"], ids=["ANSI", "not ANSI"])
def ansi(lake: TestLake, request: pytest.FixtureRequest) -> Iterator[str]:
    lake.spark.conf.set("spark.sql.ansi.enabled", request.param)
    yield request.param
    lake.spark.conf.set("spark.sql.ansi.enabled", "true")


def frames_of(lake: TestLake) -> dict[str, Any]:
    table = lake.table()
    frames = {
        "lake": lake.lake.table("s.t"),
        "format": lake.spark.read.format("paimon").load(table.store.paths.root),
    }
    if table.schema.is_primary_key_table:
        frames["positions"] = lake.lake.table("s.t", **POSITIONS)
    return frames


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


@pytest.mark.parametrize("query", INFERRED.values(), ids=INFERRED)
@pytest.mark.parametrize("kind", KINDS)
def test_a_condition_that_spark_infers_is_not_evaluated_on_deleted_rows(lake: TestLake, kind: str, query: str) -> None:
    live = made(lake, kind, 2)
    for frame in frames_of(lake).values():
        assert [tuple(row) for row in lake.spark.sql(query, t=frame).collect()] == [(live,)]
    assert [tuple(row) for row in lake.lake.sql(query.replace("{t}", "s.t")).collect()] == [(live,)]


@pytest.mark.parametrize("kind", ["append, marked", "keyed, merged"])
def test_no_excluded_rule_makes_spark_evaluate_a_condition_on_deleted_rows(lake: TestLake, kind: str) -> None:
    live = made(lake, kind, 2)
    names = [f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in RULES]
    for excluded in (*names[:3], ",".join(names)):
        with settings_of(lake.spark, {"spark.sql.optimizer.excludedRules": excluded}):
            parts = [lake.lake.table("s.t").where(text).groupBy().count() for text in CONDITIONS]
            parts += [lake.lake.sql(query.replace("{t}", "s.t")) for query in INFERRED.values()]
            counts = reduce(lambda left, right: left.unionAll(right), parts).collect()
            assert [row[0] for row in counts] == [live] * len(parts), excluded


def test_a_condition_is_not_evaluated_on_rows_whose_newer_versions_a_condition_on_the_key_skips(
    lake: TestLake,
) -> None:
    table = lake.create("t", SCHEMA, primary_keys=("p", "id"), **{"bucket": "1", "write-only": "true"})
    table.append(pa.concat_tables([rows(1, range(3), 5, "7"), rows(1, range(3, 6), 0, "x")]))
    table.append(rows(1, range(3, 6), 5, "7"))
    frame = lake.lake.table("s.t", **POSITIONS)
    for condition in (*CONDITIONS, "i = five AND 10 / five > 1"):
        for key, count in (("id < 3", 3), ("id = 2", 1), ("id IN (0, 1, 9)", 2), ("id >= 3", 3)):
            assert frame.where(condition).where(key).count() == count, (condition, key)

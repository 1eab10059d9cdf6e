"""Conditions of users are never evaluated on superseded or deleted rows, where they may fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType

from table_format.spark.read import spark_parquet
from table_format.spark.read.deletion_vectors import MAX_FILES_OF_SCAN, scans_of
from tests.queries.sessions import settings_of
from tests.queries.unions import united
from tests.spark.lakes import TestLake, a_lake
from tests.support.matrix import MATRIX
from tests.support.spark_session import INTERPRETED

pytestmark = pytest.mark.spark

KEYS = (pa.field("p", pa.int32(), nullable=False), pa.field("id", pa.int64(), nullable=False))
SCHEMA = pa.schema([*KEYS, ("i", pa.int32()), ("s", pa.string()), ("five", pa.int32())])
MANY = 40
"""Partitions with one file each: so many small files Python merges, and Spark lists by a job."""
FILES_OF_SCAN = 15
"""The limit of files in a scan. ``make matrix`` and ``test_deletion_vectors.py`` exceed the real one."""
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
FAILING_WITHOUT_ANSI: tuple[str, ...] = CONDITIONS[-1:]
RULES = ("CombineFilters", "PushDownPredicates", "InferFiltersFromConstraints", "ColumnPruning", "CollapseProject")
EXCLUDED: dict[str, tuple[tuple[str, ...], ...]] = {
    "append, marked": (RULES[0:1], RULES[2:3]),
    "keyed, merged": (RULES[1:2], RULES),
}
"""Each of three rules with one kind of table, and all rules with the kind of which Python merges rows."""
WAYS = ("lake", "format", "positions", "sql")
COMPILED: frozenset[tuple[str, str]] = frozenset((kind, "lake") for kind in EXCLUDED)
"""Tables and ways whose queries Spark compiles and plans again while they run. It interprets those of the others."""
WAYS_WITHOUT_ANSI: dict[str, tuple[str, ...]] = {
    "append, marked": ("lake",),
    "keyed, marked": ("format",),
    "keyed, merged": ("lake",),
    "first row": ("positions",),
}
if MATRIX:
    MANY, FILES_OF_SCAN = MAX_FILES_OF_SCAN + 30, MAX_FILES_OF_SCAN
    WAYS_WITHOUT_ANSI, COMPILED = dict.fromkeys(KINDS, WAYS), frozenset(product(KINDS, WAYS))
    FAILING_WITHOUT_ANSI = CONDITIONS
    EXCLUDED = dict.fromkeys(EXCLUDED, (RULES[0:1], RULES[1:2], RULES[2:3], RULES))
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


def name_of(kind: str) -> str:
    return kind.replace(",", "").replace(" ", "_")


def made(lake: TestLake, kind: str, parts: int) -> int:
    """Create a table with deleted or superseded rows with 0 in each file. Return the number of live rows."""
    keys, options = KINDS[kind]
    schema = SCHEMA if keys else pa.schema([f.with_nullable(True) for f in SCHEMA])
    table = lake.create(name_of(kind), schema, primary_keys=keys, partition_keys=("p",), **options)
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


@pytest.fixture(scope="module")
def tables(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[TestLake, dict[str, int]]:
    """A table of each kind with two partitions, which tests only read, and their live rows."""
    lake = a_lake(spark, tmp_path_factory.mktemp("warehouse"))
    return lake, {kind: made(lake, kind, 2) for kind in KINDS}


@pytest.fixture(params=["true", "false"], ids=["ANSI", "not ANSI"])
def ansi(spark: Any, request: pytest.FixtureRequest) -> Iterator[str]:
    with settings_of(spark, {"spark.sql.ansi.enabled": request.param}):
        yield request.param


def frames_of(lake: TestLake, name: str) -> dict[str, Any]:
    table = lake.table(name)
    frames = {
        "lake": lake.lake.table(f"s.{name}"),
        "format": lake.spark.read.format("paimon").load(table.store.paths.root),
    }
    if table.schema.is_primary_key_table:
        frames["positions"] = lake.lake.table(f"s.{name}", **POSITIONS)
    return frames


def counts_of(parts: Sequence[Any]) -> list[int]:
    """The counts that frames of one row hold, by one job."""
    return [row[0] for row in united(parts[0].sparkSession, parts).collect()]


@pytest.mark.parametrize("kind", KINDS)
def test_a_condition_is_not_evaluated_on_deleted_or_superseded_rows(
    tables: tuple[TestLake, dict[str, int]], kind: str, ansi: str
) -> None:
    lake, live = tables
    frames = frames_of(lake, name_of(kind))
    for way in frames if ansi == "true" else frames.keys() & set(WAYS_WITHOUT_ANSI[kind]):
        frame = frames[way]
        strict = F.udf(lambda value: 10 // value > 1, BooleanType())
        conditions = CONDITIONS if ansi == "true" else FAILING_WITHOUT_ANSI
        parts = [frame.where(condition).groupBy().count() for condition in conditions]
        parts.append(frame.where(strict("i")).groupBy().count())
        parts.append(frame.groupBy().agg(F.count(F.expr("10 / i"))))
        with settings_of(lake.spark, {} if (kind, way) in COMPILED else INTERPRETED):
            assert counts_of(parts) == [live[kind]] * len(parts), (way, ansi)


@pytest.mark.parametrize("kind", ["append, marked", "keyed, marked", "keyed, merged"])
def test_a_condition_is_not_evaluated_on_deleted_rows_of_many_small_files(
    lake: TestLake, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(spark_parquet, "scans_of", partial(scans_of, count=FILES_OF_SCAN))
    live = made(lake, kind, MANY)
    frame = lake.lake.table(f"s.{name_of(kind)}")
    assert len(lake.files(name_of(kind))) > MANY
    assert counts_of([frame.where(condition).groupBy().count() for condition in CONDITIONS[:3]]) == [live] * 3


@pytest.mark.parametrize("kind", KINDS)
def test_a_condition_that_spark_infers_is_not_evaluated_on_deleted_rows(
    tables: tuple[TestLake, dict[str, int]], kind: str
) -> None:
    lake, live = tables
    name = name_of(kind)

    def in_sql(query: str) -> Any:
        return lake.lake.sql(query.replace("{t}", f"s.{name}"))

    ways = {way: partial(lake.spark.sql, t=frame) for way, frame in frames_of(lake, name).items()} | {"sql": in_sql}
    for way, asked in ways.items():
        with settings_of(lake.spark, {} if (kind, way) in COMPILED else INTERPRETED):
            assert counts_of([asked(query) for query in INFERRED.values()]) == [live[kind]] * len(INFERRED), way


@pytest.mark.parametrize("kind", EXCLUDED)
def test_no_excluded_rule_makes_spark_evaluate_a_condition_on_deleted_rows(
    tables: tuple[TestLake, dict[str, int]], kind: str
) -> None:
    lake, live = tables
    name = f"s.{name_of(kind)}"
    for rules in EXCLUDED[kind]:
        excluded = ",".join(f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in rules)
        with settings_of(lake.spark, {**INTERPRETED, "spark.sql.optimizer.excludedRules": excluded}):
            parts = [lake.lake.table(name).where(text).groupBy().count() for text in CONDITIONS]
            parts += [lake.lake.sql(query.replace("{t}", name)) for query in INFERRED.values()]
            assert counts_of(parts) == [live[kind]] * len(parts), excluded


def test_a_condition_is_not_evaluated_on_rows_whose_newer_versions_a_condition_on_the_key_skips(
    lake: TestLake,
) -> None:
    table = lake.create("t", SCHEMA, primary_keys=("p", "id"), **{"bucket": "1", "write-only": "true"})
    table.append(pa.concat_tables([rows(1, range(3), 5, "7"), rows(1, range(3, 6), 0, "x")]))
    table.append(rows(1, range(3, 6), 5, "7"))
    frame = lake.lake.table("s.t", **POSITIONS)
    counts = {"id < 3": 3, "id = 2": 1, "id IN (0, 1, 9)": 2, "id >= 3": 3}
    conditions = (*CONDITIONS, "i = five AND 10 / five > 1")
    for some in (conditions[::2], conditions[1::2]):
        parts = [frame.where(condition).where(key).groupBy().count() for condition in some for key in counts]
        assert counts_of(parts) == [*counts.values()] * len(some), some

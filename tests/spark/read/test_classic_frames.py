"""Operations on a DataFrame are pushed down to the files, and the rows are those that Spark finds itself."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from table_format.model.predicate import And, Compare, CompareOp, In, IsNull, Not, Or, Predicate, conjuncts
from table_format.spark.read.catalyst import Need, needs_of
from table_format.spark.read.classic_frames import TableFrame
from tests.queries.sessions import settings_of
from tests.queries.unions import united
from tests.spark.lakes import TestLake, plan_of, rows_of
from tests.support.matrix import MATRIX
from tests.support.spark_session import INTERPRETED

pytestmark = pytest.mark.spark

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("v", pa.string()),
        ("n", pa.int32()),
        ("b", pa.bool_()),
        ("d", pa.date32()),
        ("m", pa.decimal128(8, 2)),
        ("t", pa.timestamp("us")),
        ("z", pa.timestamp("us", tz="UTC")),
        ("f", pa.float64()),
    ]
)


def a_row(number: int, chance: random.Random) -> dict[str, Any]:
    day = date.fromordinal(577_000 + 7 * number)
    row = {
        "v": chance.choice(["", "a", "A", "ab", "b%", "ä", "null", "x" * 20]),
        "n": chance.randrange(-3, 4),
        "b": chance.random() < 0.5,
        "d": day,
        "m": Decimal(chance.randrange(-300, 300)).scaleb(-2),
        "t": datetime(day.year, 3, 28, 2, 30, number % 60, number),
        "z": datetime(day.year, 10, 25, number % 3, 30, 0, number),
        "f": chance.choice([0.0, -0.0, float("nan"), 1.5, -2.0]),
    }
    return {"id": number, **{name: None if chance.random() < 0.15 else value for name, value in row.items()}}


def rows(numbers: Any, chance: random.Random) -> pa.Table:
    return pa.Table.from_pylist([a_row(number, chance) for number in numbers], schema=SCHEMA)


def merged_table(lake: TestLake, **options: str) -> TestLake:
    """Create a table whose rows must be merged."""
    table = lake.create(schema=SCHEMA, **options)
    chance = random.Random(1)
    table.append(rows(range(60), chance))
    table.append(rows(range(20, 80, 2), chance))
    return lake


def needs(frame: Any) -> list[Need]:
    """Return the needs of the query from each of its scans."""
    assert isinstance(frame, TableFrame)
    return [need for _, need in needs_of(frame._session, frame._plain._jdf, frame._scans)]


def pushed(frame: Any) -> Predicate | None:
    (need,) = needs(frame)
    # Spark adds the condition that compared columns are not null.
    tests = [p for p in conjuncts(need.condition) if not (isinstance(p, Not) and isinstance(p.part, IsNull))]
    return And(tuple(tests)) if len(tests) > 1 else (tests[0] if tests else None)


def test_columns_and_conditions_on_a_frame_are_pushed_down_to_merged_rows(lake: TestLake) -> None:
    frame = merged_table(lake).lake.table("s.t")
    assert isinstance(frame, DataFrame)
    found = frame.where("id = 20").select("v", "n")
    assert needs(found) == [
        Need(frozenset({"id", "v", "n"}), And((Not(IsNull("id")), Compare("id", CompareOp.EQ, 20))))
    ]
    assert rows_of(found) == lake.rows(columns=["v", "n"], filter="id = 20")
    assert "MapInArrow" in plan_of(found)
    assert needs(frame.groupBy("v").agg(F.sum("n")))[0].columns == {"v", "n"}
    assert needs(frame.select(F.col("n") + 1, "id").drop("id").where("n is null or 1 = 1"))[0].columns == {"n"}
    assert needs(frame.withColumn("w", F.upper("v")).withColumnRenamed("n", "k").select("w", "k"))[0].columns == {
        "v",
        "n",
    }
    assert needs(frame)[0] == needs(frame.limit(3))[0] == Need()
    assert frame.count() == 70
    assert not frame.isEmpty()
    assert frame.where("id < 0").isEmpty()


CONDITIONS: list[tuple[str, Predicate | None]] = [
    ("n = 3", Compare("n", CompareOp.EQ, 3)),
    ("3 > n", Compare("n", CompareOp.LT, 3)),
    ("n >= 2.0", Compare("n", CompareOp.GE, 2)),
    ("n = 5000000000", None),
    ("v in ('a', 'b')", In("v", ("a", "b"))),
    ("v in ('a', 'b', null)", In("v", ("a", "b"))),
    ("not (v in ('a', 'b', null))", None),
    ("v = 'a' or upper(v) = 'B'", None),
    ("v = 'a' or (n = 1 and upper(v) = 'B')", Or((Compare("v", CompareOp.EQ, "a"), Compare("n", CompareOp.EQ, 1)))),
    ("v like 'a%'", Compare("v", CompareOp.STARTS_WITH, "a")),
    ("v like 'a_'", None),
    ("v is null", IsNull("v")),
    ("b", Compare("b", CompareOp.EQ, True)),
    ("v <=> 'a'", Compare("v", CompareOp.EQ, "a")),
    ("d >= date '1582-10-10'", Compare("d", CompareOp.GE, -141432)),
    ("m < 1.5", Compare("m", CompareOp.LT, Decimal("1.50"))),
    ("t < timestamp_ntz '1970-01-01 00:00:01'", Compare("t", CompareOp.LT, 1_000_000_000)),
    ("z < timestamp '1970-01-01 00:00:01Z'", Compare("z", CompareOp.LT, 1_000_000_000)),
    ("z < current_timestamp()", None),
    ("z < current_timestamp() and n = 1", None),
    ("f > 1", None),
    ("rand() < 2", None),
]


def test_only_equivalent_conditions_are_pushed_down(lake: TestLake) -> None:
    frame = merged_table(lake).lake.table("s.t")
    found = [(condition, pushed(frame.where(condition))) for condition, _ in CONDITIONS]
    assert found == CONDITIONS


@pytest.mark.parametrize("policy", ["CORRECTED", "LEGACY"])
def test_dates_in_conditions_do_not_depend_on_how_spark_writes_them(lake: TestLake, policy: str) -> None:
    """With LEGACY, Spark writes early dates in another calendar; it computes with the same days."""
    days = (
        "0001-01-03",
        "1000-01-01",
        "1582-10-04",
        "1582-10-10",
        "1582-10-15",
        "1582-10-16",
        "1969-12-31",
        "9999-12-31",
    )
    with settings_of(lake.spark, {"spark.sql.legacy.timeParserPolicy": policy}):
        frame = merged_table(lake).lake.table("s.t")
        found = [pushed(frame.where(f"d >= date '{day}'")) for day in days]
        several = pushed(frame.where(f"d IN (date '{days[0]}', date '{days[3]}')"))
    numbers = [(date.fromisoformat(day) - date(1970, 1, 1)).days for day in days]
    assert found == [Compare("d", CompareOp.GE, number) for number in numbers]
    assert several == In("d", (numbers[0], numbers[3]))


def test_a_long_in_is_pushed_down(lake: TestLake) -> None:
    frame = merged_table(lake).lake.table("s.t")
    found = pushed(frame.where(F.col("id").isin(*range(15))))
    assert isinstance(found, In)
    assert sorted(found.values, key=repr) == sorted(range(15), key=repr)
    texts = [*map(str, range(15)), "null"]
    found = pushed(frame.where(F.col("v").isin(*texts, None)))
    assert isinstance(found, In)
    assert sorted(found.values, key=repr) == sorted(texts, key=repr)
    assert pushed(frame.where(F.col("id").isin(*range(2_000)))) is None


def test_a_column_in_a_condition_that_spark_simplifies_only_for_columns_is_read(lake: TestLake) -> None:
    """Spark removes a contradiction between columns and literals, but not between other expressions and literals."""
    frame = (
        merged_table(lake).lake.table("s.t").where("(d IN (date '1900-01-01') AND d IN (date '1900-01-02')) OR n < 2")
    )
    found = frame.groupBy("v").agg(F.countDistinct("d"), F.sum("m")).select("v")
    assert needs(found)[0].columns == {"v", "n"}
    assert set(rows_of(found)) == {(row[0],) for row in lake.rows(columns=["v"], filter="n < 2")}


def test_days_that_the_calendar_of_java_lacks_are_found(lake: TestLake) -> None:
    """Spark passes these literals to its Parquet reader as values of other days."""
    days = [date(1582, 10, day) for day in (4, 5, 10, 14, 15)]
    times = [datetime(1582, 10, day.day, 12, tzinfo=UTC) for day in days]
    schema = pa.schema(
        [pa.field("id", pa.int64(), nullable=False), ("d", pa.date32()), ("z", pa.timestamp("us", tz="UTC"))]
    )
    table = lake.create(schema=schema, bucket="1")
    for number, (day, time) in enumerate(zip(days, times, strict=True)):
        table.append(pa.table({"id": [number], "d": [day], "z": [time]}, schema=schema))
    assert lake.spark.conf.get("spark.sql.datetime.java8API.enabled") == "false"
    frame = lake.lake.table("s.t")
    found: list[Any] = []
    for day in days:
        noon = f"TIMESTAMP '{day} 12:00:00Z'"
        tests = (f"d = DATE '{day}'", f"d IN (DATE '{day}', DATE '2000-01-01')", f"z = {noon}")
        between = f"z BETWEEN {noon} AND {noon}"
        selected = [*(lake.lake.table("s.t", filter=test) for test in tests), *map(frame.where, (*tests, between))]
        listed = [part.select(F.lit(number).alias("part"), "id") for number, part in enumerate(selected)]
        found.append(sorted(map(tuple, united(lake.spark, listed).collect())))
    assert found == [[(part, number) for part in range(7)] for number in range(len(days))]


def test_derived_frames_read_the_same_snapshot(lake: TestLake) -> None:
    frame = merged_table(lake).lake.table("s.t")
    before = frame.where("id >= 0").select("id")
    lake.table().delete("id >= 5")
    assert frame.count() == before.count() == frame.select("n").count() == 70
    assert lake.lake.table("s.t").count() == 5


def test_columns_of_a_frame_are_valid_in_derived_frames(lake: TestLake) -> None:
    frame = merged_table(lake).lake.table("s.t")
    few = frame.where(frame.id < 3)
    assert rows_of(few.select(frame.id, frame["v"])) == lake.rows(columns=["id", "v"], filter="id < 3")
    assert len(few.join(frame, few.id == frame.id).collect()) == 3
    both = frame.alias("l").join(few.alias("r"), F.col("l.id") == F.col("r.id")).select("l.v", "r.n")
    assert [need.columns for need in needs(both)] == [{"id", "v"}, {"id", "n"}]
    assert len(both.collect()) == 3
    assert rows_of(frame.select("id").orderBy("n", "id").limit(1)) == [
        (min((r[2] is not None, r[2] or 0, r[0]) for r in frame.collect())[2],)
    ]
    assert rows_of(frame.select(frame.columns[0], frame[1]).where(frame.n == 3).select("id")) == lake.rows(
        columns=["id"], filter="n = 3"
    )
    united = few.select("id", "n").unionByName(frame.where("id = 70").select("n", "id")).where("id > 1").select("id")
    assert rows_of(united) == [(2,), (70,)]
    with pytest.raises(AnalysisException, match="nothing"):
        frame.select("nothing")


def test_an_ambiguous_column_of_a_join_is_refused_as_in_spark(lake: TestLake) -> None:
    frame = merged_table(lake).lake.table("s.t")
    plain = lake.spark.createDataFrame(frame.toArrow())
    shapes: list[Callable[[Any], Any]] = [
        lambda f: f,
        lambda f: f.where("id < 3"),
        lambda f: F.broadcast(f.where("id < 3")),
    ]
    tests: list[Callable[[Any, Any], Any]] = [lambda x, y: x.id > y.id, lambda x, y: x.id == y.id]

    def outcome(left: Any, right: Any, test: Callable[[Any, Any], Any]) -> int | str | None:
        try:
            return len(left.join(right, test(left, right)).collect())
        except AnalysisException as error:
            return error.getCondition()

    with settings_of(lake.spark, INTERPRETED):
        for left, right, test in product(shapes, shapes, tests):
            expected = outcome(left(plain), right(plain), test)
            assert outcome(left(frame), right(frame), test) == expected


def test_operations_that_pass_a_frame_to_spark_pass_its_rows(lake: TestLake) -> None:
    frame = merged_table(lake).lake.table("s.t").where("id < 5").select("id", "n")
    expected = lake.rows(columns=["id", "n"], filter="id < 5")
    frame.createOrReplaceTempView("few")
    assert rows_of(lake.spark.sql("SELECT * FROM few")) == expected
    assert rows_of(lake.spark.sql("SELECT * FROM {f}", f=frame)) == expected
    assert rows_of(F.broadcast(frame)) == rows_of(lake.spark.createDataFrame(frame.rdd, frame.schema)) == expected
    assert sorted(map(tuple, frame.toPandas().astype(object).itertuples(index=False)))[0][0] == 0
    other = lake.spark.range(3)
    assert rows_of(other.join(frame, "id").select("id")) == [(0,), (1,), (2,)]
    assert other.where(F.col("id").isin(frame.select("id"))).count() == 3
    grouped = frame.groupBy("id").applyInPandas(lambda group: group[["id"]], "id long")
    assert rows_of(grouped) == [(row[0],) for row in expected]
    assert rows_of(frame.groupBy("id").pivot("n", [1, 2]).count().select("id")) == [(row[0],) for row in expected]
    lake.create("copy", schema=SCHEMA.empty_table().select(["id", "n"]).schema)
    lake.lake.write(frame, "s.copy")
    assert lake.rows("copy") == expected


def test_a_cached_frame_is_used(lake: TestLake) -> None:
    frame = merged_table(lake).lake.table("s.t").where("id < 10")
    kept = frame.select("id", "n").cache()
    try:
        assert kept.count() == 10
        found = kept.where("id = 3")
        assert "InMemoryTableScan" in plan_of(found)
        assert rows_of(found.select("id")) == [(3,)]
        assert rows_of(kept.join(frame, kept.id == frame.id).select(kept.id)) == [(i,) for i in range(10)]
    finally:
        kept.unpersist()
    assert "InMemoryTableScan" not in plan_of(kept.where("id = 3"))


def conditions(chance: random.Random) -> Iterator[str]:
    leaves = [
        "id >= 40",
        "id in (1, 30, 99)",
        "n > 0",
        "n = 1.0",
        "n + 1 = 2",
        "not b",
        "b is not null",
        "v = 'a'",
        "v <> 'ab'",
        "v like 'a%'",
        "v in ('', 'ä', null)",
        "upper(v) = 'A'",
        "d < date '1582-10-15'",
        "d <> date '1582-10-04'",
        "m between -1 and 1.255",
        "m = 0.5",
        "t > timestamp_ntz '1581-03-28 02:30:00.000020'",
        "z <= timestamp '1582-10-25 01:30:00.00003'",
        "f > 0",
        "f = 0",
        "n <=> null",
        "v <=> 'b%'",
        "n = '1'",
    ]
    while True:
        first, second, third = chance.sample(leaves, 3)
        yield chance.choice(
            [
                f"{first} and {second}",
                f"{first} or {second}",
                f"not ({first} or {second}) and {third}",
                f"not ({first} and {second})",
                f"({first} and {second}) or {third}",
                f"not (not ({first}) and {second} or {third})",
            ]
        )


@pytest.mark.parametrize(("ansi", "zone"), [("true", "Europe/Berlin"), ("false", "UTC")])
def test_random_conditions_select_the_same_rows_as_in_spark(lake: TestLake, ansi: str, zone: str) -> None:
    chance = random.Random(f"{ansi} {zone}")
    merged_table(lake, bucket="1")
    with settings_of(lake.spark, {"spark.sql.ansi.enabled": ansi, "spark.sql.session.timeZone": zone}):
        frame = lake.lake.table("s.t")
        plain = lake.spark.createDataFrame(lake.table().scan().to_arrow(), frame.schema).cache()
        understood = 0
        for _, condition in zip(range(12 if MATRIX else 6), conditions(chance), strict=False):
            columns = chance.sample(SCHEMA.names, 3)
            found = frame.where(condition).select(*columns)
            understood += needs(found)[0].condition is not None
            with settings_of(lake.spark, INTERPRETED):
                expected = rows_of(plain.where(condition).select(*columns))
            # As texts, since NaN does not equal itself.
            assert repr(rows_of(found)) == repr(expected), condition
        assert understood > 1
        plain.unpersist()

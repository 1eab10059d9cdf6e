"""Batches for Python tasks that Spark bounds by rows alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DecimalType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from table_format.spark.write.unmeasured import (
    MAX_BYTES,
    MAX_ROWS,
    ROWS_WITH_STRINGS,
    UNMEASURED,
    bound_of,
    in_unmeasured_batches,
    with_test_of_width,
)
from tests.spark.lakes import TestLake

NUMBERS = StructType([StructField("id", LongType()), StructField("d", DecimalType(12, 2))])
STRINGS = StructType([*NUMBERS.fields, StructField("s", StringType())])


def test_rows_of_fixed_width_keep_the_row_limit_of_the_session() -> None:
    bound = bound_of(NUMBERS, {})
    assert bound is not None
    assert (bound.rows, bound.strings) == (None, ())


def test_the_maximum_width_of_strings_depends_on_the_row_limit() -> None:
    bound = bound_of(STRINGS, {})
    assert bound is not None
    assert (bound.rows, bound.strings) == (ROWS_WITH_STRINGS, ("s",))
    given = bound_of(STRINGS, {MAX_ROWS: "20000"})
    assert given is not None
    assert given.rows is None
    assert given.width < bound.width


@pytest.mark.parametrize(
    "settings", [{MAX_BYTES: "67108864"}, {MAX_BYTES: UNMEASURED}, {MAX_ROWS: "0"}, {MAX_ROWS: "1000000"}]
)
def test_a_limit_of_the_user_stays(settings: dict[str, str]) -> None:
    assert bound_of(STRINGS, settings) is None


@pytest.mark.parametrize("kind", [BinaryType(), ArrayType(IntegerType()), StructType([StructField("a", LongType())])])
def test_rows_with_wide_values_other_than_strings_are_measured(kind: Any) -> None:
    assert bound_of(StructType([*NUMBERS.fields, StructField("x", kind)]), {}) is None


def _row_counts(frame: Any) -> list[int]:
    def counts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.record_batch([pa.array([batch.num_rows])], names=["n"])

    return [row.n for row in frame.mapInArrow(counts, "n long").collect()]


@pytest.mark.spark
def test_batches_are_limited_by_rows_only_in_this_thread(spark: Any) -> None:
    frame = spark.range(0, 5000, 1, 1).selectExpr("id", "repeat('x', 10) AS s")
    seen: list[object] = []

    def work(rows: Any) -> list[int]:
        assert spark.sparkContext.getLocalProperty(MAX_BYTES) == UNMEASURED
        other = threading.Thread(target=lambda: seen.append(spark.sparkContext.getLocalProperty(MAX_BYTES)))
        other.start()
        other.join()
        return _row_counts(rows)

    assert in_unmeasured_batches(frame, work) == [2000, 2000, 1000]
    assert seen == [None]
    assert spark.sparkContext.getLocalProperty(MAX_BYTES) is None
    assert MAX_BYTES not in spark.conf.getAll
    assert _row_counts(frame) == [5000]


@pytest.mark.spark
def test_a_limit_that_the_user_sets_later_takes_precedence(spark: Any) -> None:
    frame = spark.range(0, 2000, 1, 1).selectExpr("id", "repeat('x', 1000) AS s")

    def work(rows: Any) -> list[int]:
        spark.conf.set(MAX_BYTES, "100000")
        try:
            return _row_counts(rows)
        finally:
            spark.conf.unset(MAX_BYTES)

    assert max(in_unmeasured_batches(frame, work)) < 110


@pytest.mark.spark
def test_the_property_is_restored_when_the_work_fails(spark: Any) -> None:
    def work(rows: Any) -> None:
        raise KeyError(rows.columns)

    with pytest.raises(KeyError):
        in_unmeasured_batches(spark.range(1), work)
    assert spark.sparkContext.getLocalProperty(MAX_BYTES) is None


@pytest.mark.spark
def test_a_wide_row_repeats_the_job_with_measured_batches(spark: Any) -> None:
    wide = spark.range(0, 30, 1, 1).selectExpr("id", "repeat('x', 300000) AS s")
    seen: list[object] = []

    def work(rows: Any) -> int:
        seen.append(spark.sparkContext.getLocalProperty(MAX_BYTES))
        return sum(_row_counts(rows))

    assert in_unmeasured_batches(wide, work) == 30
    assert seen == [UNMEASURED, None]


def _calls_to_java(monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]) -> int:
    from py4j.java_gateway import GatewayClient  # type: ignore[import-untyped]

    sent: list[str] = []
    send = GatewayClient.send_command

    def counted(client: Any, command: str, *arguments: Any, **named: Any) -> Any:
        # Python frees its references to Java objects at any time.
        sent.extend([] if command.startswith("m") else [command])
        return send(client, command, *arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(GatewayClient, "send_command", counted)
        work()
    return len(sent)


@pytest.mark.spark
def test_the_test_of_width_costs_the_same_calls_for_any_number_of_strings(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def calls(strings: int) -> int:
        kinds = ["string"] * strings + ["int"] * (8 - strings)
        frame = spark.createDataFrame([], ", ".join(f"c{at} {kind}" for at, kind in enumerate(kinds)))
        bound = bound_of(frame.schema, {})
        assert bound is not None
        return _calls_to_java(monkeypatch, lambda: with_test_of_width(frame, bound))

    assert calls(2) == calls(7) < 40


@pytest.mark.spark
def test_the_width_of_a_row_is_that_of_all_its_strings(spark: Any) -> None:
    values = [f"repeat('x', 700) AS `s.{at}`" for at in range(200)]
    wide = spark.range(1).selectExpr("CAST(NULL AS string) AS `S.1`", *values)
    seen: list[object] = []

    def work(rows: Any) -> list[int]:
        seen.append(spark.sparkContext.getLocalProperty(MAX_BYTES))
        return [len(value or "") for value in rows.collect()[0]]

    assert in_unmeasured_batches(wide, work) == [0] + [700] * 200
    assert seen == [UNMEASURED, None]


@pytest.mark.spark
def test_python_functions_of_the_user_get_measured_batches(spark: Any) -> None:
    frame = spark.range(3).mapInArrow(lambda batches: batches, "id long")
    found = in_unmeasured_batches(frame, lambda _: spark.sparkContext.getLocalProperty(MAX_BYTES))
    assert found is None


@pytest.mark.spark
@pytest.mark.parametrize("buckets", ["2", "-1"])
def test_rows_of_300_kilobytes_are_loaded(lake: TestLake, buckets: str) -> None:
    lake.create(bucket=buckets)
    wide = lake.spark.range(0, 40, 1, 2).selectExpr("id", "repeat(cast(id % 10 AS string), 300000) AS v")
    assert len(lake.lake.write(wide, "s.t", parallelism=2)) == 1
    assert [(row[0], row[1][:2], len(row[1])) for row in sorted(lake.rows())] == [
        (number, str(number % 10) * 2, 300000) for number in range(40)
    ]


@pytest.mark.spark
def test_a_table_is_copied_in_unmeasured_batches(lake: TestLake) -> None:
    lake.create("a")
    lake.create("b")
    lake.append([(number, "x") for number in range(50)], name="a")
    lake.append([(number, "y") for number in range(25)], name="a")
    copied = lake.lake.table("s.a")
    found = in_unmeasured_batches(copied, lambda _: lake.spark.sparkContext.getLocalProperty(MAX_BYTES))
    assert found == UNMEASURED
    lake.lake.write(copied, "s.b")
    assert lake.rows("b") == lake.rows("a")

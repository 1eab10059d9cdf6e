"""Tests through Spark Connect, in a separate process, because a process has only one kind of session."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from table_format import Insert, Schema, Update
from table_format.errors import InvalidData, TableFormatError
from table_format.options.spark_read import MERGED_READ, MergedRead
from table_format.spark import Lake, paimon
from table_format.spark.write.unmeasured import MAX_BYTES, in_unmeasured_batches
from tests.queries.bounds import bounds_of
from tests.spark.sql.connect_session import run_statements
from tests.support.spark_session import INTERPRETED, SETTINGS, prepare_environment, workers_without_archives

STATEMENTS_FOLLOW = "--- statements ---"
"""The line between what tables and what statements print."""

ASSETS_FOLLOW = "--- assets ---"
"""The line between what statements and what assets print."""


def absent_rows(lake: Lake) -> list[int]:
    """Return how many rows meet conditions that would fail on deleted or superseded rows."""
    counts = []
    for name, keys, options in (
        ("marked", [], {"deletion-vectors.enabled": "true"}),
        ("merged", ["id"], {"bucket": "1", "write-only": "true"}),
    ):
        schema = pa.schema([pa.field("id", pa.int64(), nullable=not keys), ("i", pa.int32()), ("s", pa.string())])
        lake.catalog.create_table(f"s.{name}", Schema.from_arrow(schema, keys, options=options))
        table = lake.catalog.load_table(f"s.{name}")
        table.append(pa.table({"id": range(4), "i": [0] * 4, "s": ["x"] * 4}, schema=schema))
        table.append(pa.table({"id": range(2), "i": [5] * 2, "s": ["7"] * 2}, schema=schema))
        table.delete("i = 0")
        frame = lake.table(f"s.{name}")
        counts += [frame.where("10 / i > 1").count(), frame.where("cast(s as int) >= 1").count()]
        counts.append(lake.table(f"s.{name}", columns=["i"], filter="id < 9").where("10 % i = 0").count())
    return counts


def rows_of_many_to_compare(lake: Lake) -> Iterator[list[Any]]:
    """Yield the merged rows of each reader, with more rows to compare than the client compares itself."""
    with bounds_of({"MAX_ROWS_IN_DRIVER": 10, "max_bytes": 0}):
        for way in MergedRead:
            frame = lake.table("s.t", **{MERGED_READ.key: way.value})
            yield frame.where("id >= 10").groupBy("v").count().collect()


def lost_reads(lake: Lake) -> Iterator[str]:
    """Yield the errors of frames whose snapshot or table is gone: of a reader of Spark, then of this library."""
    for keys in ([], ["id"]):
        schema = pa.schema([pa.field("id", pa.int64(), nullable=not keys), ("v", pa.string())])
        wanted = Schema.from_arrow(schema, keys, options={"bucket": "1", "write-only": "true"} if keys else {})
        lake.catalog.create_table("s.lost", wanted)
        table = lake.catalog.load_table("s.lost")
        for _ in range(3):
            table.append(pa.table({"id": [1], "v": ["x"]}, schema=schema))
        frame = lake.table("s.lost")
        table.rollback_to(1)
        table.append(pa.table({"id": [1], "v": ["y"]}, schema=schema))
        table.append(pa.table({"id": [1], "v": ["y"]}, schema=schema))
        yield error_of(frame)
        frame = lake.table("s.lost")
        lake.catalog.drop_table("s.lost")
        yield error_of(frame)


def error_of(frame: Any) -> str:
    try:
        return str(frame.collect())
    except TableFormatError as error:
        return type(error).__name__


# Spark starts Python processes for each streaming query through Connect, which take longer than what they do.


def streamed(lake: Lake, checkpoint: Path) -> tuple[list[int], int]:
    """Return the micro-batches that a query has committed, which stops and starts again, and its written rows."""
    lake.sql("CREATE TABLE s.copy (id BIGINT, n INT)")
    for _ in range(2):
        query = lake.write_stream(lake.read_stream("s.a"), "s.copy", checkpoint=str(checkpoint))
        query.processAllAvailable()
        query.stop()
        lake.write(lake.spark.range(7, 9).selectExpr("id", "CAST(id AS INT) AS n"), "s.a")
    commits = lake.table("s.copy$snapshots").select("commit_identifier").collect()
    return sorted(number for (number,) in commits), lake.table("s.copy").count()


def counted_by_foreach_batch(lake: Lake, warehouse: Path, checkpoint: Path) -> tuple[list[int], int]:
    """Return what ``foreachBatch`` has written for one key, and the snapshots. It writes each micro-batch twice.

    The query counts rows. It dies between its first commit and Spark's note of it, which follows its state.
    """
    lake.sql("CREATE TABLE s.each (id BIGINT, n INT)")
    options = {"warehouse": str(warehouse)}

    def write(rows: Any, number: int) -> None:
        from table_format.spark import paimon as opened

        for _ in range(2):
            opened(rows.sparkSession, options).write(rows, "s.each", commit_user="each", identifier=number)

    def run() -> None:
        counts = lake.read_stream("s.a").groupBy("id").count().selectExpr("id", "CAST(count AS INT) AS n")
        writer = counts.writeStream.foreachBatch(write).outputMode("update")
        query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        query.awaitTermination()
        assert query.exception() is None, query.exception()

    run()
    for noted in [*checkpoint.glob("commits/*0*"), *checkpoint.glob("state/*/*/1.*")]:
        noted.unlink()
    lake.write(lake.spark.range(7, 8).selectExpr("id", "CAST(id AS INT) AS n"), "s.a")
    run()
    counts = lake.table("s.each", filter="id = 7").collect()
    return sorted(n for _, n in counts), lake.table("s.each$snapshots").count()


def error_of_a_missing_package(spark: Any) -> str:
    """Return the name of the error if the Python of the tasks lacks a package."""

    def fail(_: Iterator[Any]) -> Iterator[Any]:
        raise ModuleNotFoundError("No module named 'numpy'", name="numpy")

    try:
        spark.range(1).mapInArrow(fail, "id long").collect()
    except TableFormatError as error:
        return type(error).__name__
    return "none"


def use_tables(spark: Any, warehouse: Path) -> None:
    """Write, read, merge and compact tables, and print what is found."""
    lake = paimon(spark, {"warehouse": str(warehouse)})
    lake = paimon(spark, {"warehouse": str(warehouse)})
    lake.catalog.create_database("s")
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())])
    lake.catalog.create_table("s.t", Schema.from_arrow(schema, ["id"], options={"bucket": "2", "write-only": "true"}))
    columns = pa.schema([("id", pa.int64()), ("n", pa.int32())])
    marks = {"deletion-vectors.enabled": "true"}
    lake.catalog.create_table("s.a", Schema.from_arrow(columns, options=marks))
    lake.write(spark.range(4).selectExpr("id", "CAST(id AS INT) AS n"), "s.a")
    lake.write(spark.range(50).selectExpr("id", "'a' AS v"), "s.t")
    lake.write(spark.range(40, 60).selectExpr("id", "'b' AS v"), "s.t", commit_user="u", identifier=1)
    merged = lake.table("s.t", filter="id >= 10")
    print("merged", sorted(merged.groupBy("v").count().collect()))
    by_positions = lake.table("s.t", **{MERGED_READ.key: "positions"}).where("id >= 10")
    print("by positions", sorted(by_positions.groupBy("v").count().collect()))
    print("many to compare", *(dict(sorted(rows)) for rows in rows_of_many_to_compare(lake)))
    try:
        lake.write(spark.sql("SELECT CAST(NULL AS BIGINT) AS id, 'x' AS v"), "s.t")
    except InvalidData as error:
        print("refused", error)
    print("compacted", len(lake.compact("s.t", full=True)))
    print("native", sorted(lake.table("s.t").where("id < 45").groupBy("v").count().collect()))
    path = lake.catalog.load_table("s.t").store.paths.root
    spark.range(1).selectExpr("id", "'c' AS v").write.format("paimon").mode("append").save(path)
    print("source", spark.read.format("paimon").load(path).where("v = 'c'").collect())
    print("snapshots", lake.table("s.t$snapshots").count())
    lake.table("s.t$snapshots").createOrReplaceTempView("snapshots")
    lake.table("s.t$schemas").createOrReplaceTempView("schemas")
    print("joined", spark.sql("SELECT commit_kind, schema_id FROM snapshots JOIN schemas USING (schema_id)").first())
    print("empty", lake.table("s.t$table_indexes").count())
    print("audited", lake.table("s.t$audit_log", columns=["rowkind"], filter="id = 7").collect())
    source = spark.createDataFrame([(1, "m"), (99, "new")], "id long, v string")
    clauses = {"when_matched": Update(), "when_not_matched": Insert()}
    print(
        "changed", lake.merge("s.t", source, on="t.id = s.id", **clauses).updated, lake.delete("s.t", "id < 9").deleted
    )
    try:
        lake.update("s.a", {"n": "n + 5000000000"}, "id = 0")
    except InvalidData as error:
        print("too large", error)
    print("marked", lake.update("s.a", {"n": "n + 1"}, "id = 2").updated, sorted(lake.table("s.a").collect()))
    numbered = spark.range(0, 5000, 1, 1).selectExpr("id", "'x' AS v")
    with bounds_of({"SMALL_BYTES": 0}):
        batches = in_unmeasured_batches(numbered, row_counts)
        spark.conf.set("spark.sql.artifact.isolation.enabled", "false")
        shared = in_unmeasured_batches(numbered, row_counts)
        spark.conf.set("spark.sql.artifact.isolation.enabled", "true")
    small = in_unmeasured_batches(numbered, row_counts)
    print("batches", batches, MAX_BYTES in spark.conf.getAll, shared, small)
    for way in ("shuffle", "storage", "none"):
        rows = numbered.selectExpr("id", f"'{way}' AS v")
        lake.write(rows, "s.t", parallelism=2, options={"spark.write.exchange": way})
        print(way, lake.table("s.t").groupBy("v").count().collect())
    with bounds_of({"SMALL_BYTES": 0}):
        lake.write(spark.range(3).selectExpr("id", "repeat('w', 300000) AS v"), "s.t")
    print("wide", lake.table("s.t").where("length(v) = 300000").count())
    print("absent", *absent_rows(lake))
    print("lost", *lost_reads(lake))
    print("streamed", *streamed(lake, warehouse.parent / "checkpoint"))
    print("each", *counted_by_foreach_batch(lake, warehouse, warehouse.parent / "each"))
    print("missing", error_of_a_missing_package(spark))


def row_counts(frame: Any) -> list[int]:
    def counts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.record_batch([pa.array([batch.num_rows])], names=["n"])

    return [row.n for row in frame.mapInArrow(counts, "n long").collect()]


def main(warehouse: Path) -> None:
    prepare_environment()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote("local[2]")
    for key, value in {**SETTINGS, **INTERPRETED}.items():
        builder = builder.config(key, value)
    with workers_without_archives():
        spark = builder.getOrCreate()
    use_tables(spark, warehouse / "tables")
    print(STATEMENTS_FOLLOW)
    run_statements(spark, warehouse / "statements")
    if find_spec("dagster") is not None:
        from tests.dagster_paimon.io.connect_session import use_assets

        print(ASSETS_FOLLOW)
        use_assets(warehouse / "assets")
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

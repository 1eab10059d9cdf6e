"""Tables in an object store on Spark, which has no packages for it: the tasks of the library read and write them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from table_format.secrets import Secret
from table_format.spark import Lake, paimon
from table_format.spark.write.frames import explain_write
from tests.spark import test_secrets
from tests.spark.lakes import rows_of
from tests.support.canaries import canary, leaks, texts_of
from tests.support.gcs_server import running_gcs
from tests.support.s3_server import S3Server, running_s3

pytestmark = pytest.mark.spark

KEY, HUSH = canary("key"), canary("hush")
NUMBERS = count()


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with running_s3() as running:
        running.make_bucket("spark-tables")
        yield running


@pytest.fixture
def remote(spark: Any, server: S3Server, interpreted: None) -> Lake:
    keys = {"s3.access-key": Secret(KEY), "s3.secret-key": Secret(HUSH)}
    warehouse = f"s3://spark-tables/{next(NUMBERS)}"
    lake = paimon(spark, {"warehouse": warehouse, "s3.endpoint": server.endpoint, **keys})
    lake.sql("CREATE DATABASE s")
    return lake


def keyed(lake: Lake, **options: str) -> Lake:
    given = ", ".join(f"'{key.replace('_', '-')}' = '{value}'" for key, value in {"bucket": "2", **options}.items())
    lake.sql(f"CREATE TABLE s.t (id BIGINT NOT NULL, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ({given})")
    lake.write(lake.spark.sql("SELECT id, 'old' AS v FROM range(6)"), "s.t")
    lake.write(lake.spark.sql("SELECT id, 'new' AS v FROM range(3)"), "s.t")
    return lake


SIX = [(0, "new"), (1, "new"), (2, "new"), (3, "old"), (4, "old"), (5, "old")]


@pytest.mark.parametrize("bucket", ["2", "-1"])
def test_rows_are_written_merged_changed_and_compacted(remote: Lake, bucket: str) -> None:
    keyed(remote, bucket=bucket)
    assert rows_of(remote.table("s.t")) == SIX
    assert rows_of(remote.table("s.t").where("v = 'old'").groupBy("v").count()) == [("old", 3)]
    assert rows_of(remote.sql("SELECT * FROM s.t VERSION AS OF 1 WHERE id = 0")) == [(0, "old")]
    remote.sql("UPDATE s.t SET v = 'set' WHERE id = 3; DELETE FROM s.t WHERE id = 4")
    missing = "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (9, 'm')"
    remote.sql(f"MERGE INTO s.t USING (SELECT 9L AS id) AS n ON t.id = n.id {missing}")
    remote.compact("s.t", full=True)
    expected = [*SIX[:3], (3, "set"), (5, "old"), (9, "m")]
    assert rows_of(remote.table("s.t")) == expected
    assert rows_of(remote.table("s.t", filter="id = 9")) == [(9, "m")]
    table = remote.catalog.load_table("s.t")
    assert sorted(table.scan().to_arrow().to_pylist(), key=str) == [{"id": i, "v": v} for i, v in expected]
    assert table.verify(depth="rows").is_healthy


def test_rows_are_exchanged_through_files_in_the_store_if_the_option_says_so(remote: Lake) -> None:
    keyed(remote)
    table = remote.catalog.load_table("s.t")
    rows = remote.spark.range(400, numPartitions=2).selectExpr("id", "'far' AS v")
    storage = {"spark.write.exchange": "storage"}
    explained = explain_write(rows, table.copy(storage).facts, parallelism=2)
    assert "exchange: storage, 2 writing tasks" in explained
    remote.write(rows, "s.t", parallelism=2, options=storage)
    assert remote.table("s.t").where("v = 'far'").count() == 400
    assert table.store.io.list(table.store.paths.exchange_directory) == []


def test_an_append_table_with_deletion_vectors_is_sorted_and_copied(remote: Lake) -> None:
    remote.sql("CREATE TABLE s.a (id BIGINT, dt STRING) PARTITIONED BY (dt) WITH ('deletion-vectors.enabled' = 'true')")
    remote.write(remote.spark.sql("SELECT id, concat('d/', id % 2) AS dt FROM range(8)"), "s.a")
    remote.sql("DELETE FROM s.a WHERE id = 4")
    remote.compact("s.a", order_by=["id"])
    remote.sql("CREATE TABLE s.b (id BIGINT, dt STRING)")
    remote.write(remote.table("s.a").where("dt = 'd/0'"), "s.b")
    assert rows_of(remote.table("s.b")) == [(0, "d/0"), (2, "d/0"), (6, "d/0")]


def test_the_data_source_and_streams_find_the_keys_of_the_lake_by_the_path(remote: Lake, tmp_path: Path) -> None:
    keyed(remote)
    path = f"s3:/{remote.catalog.load_table('s.t').store.paths.root}"
    spark = remote.spark
    assert rows_of(spark.read.format("paimon").load(path).where("id < 2")) == SIX[:2]
    spark.sql("SELECT 7L AS id, 'df' AS v").write.format("paimon").mode("append").save(path)
    assert rows_of(spark.read.format("paimon").load(f"{path}$snapshots").select("snapshot_id"))[-1] == (3,)
    seen: list[tuple[object, ...]] = []
    query = (
        remote.read_stream("s.t")
        .writeStream.foreachBatch(lambda batch, _: seen.extend(rows_of(batch)))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert sorted(seen) == [*SIX, (7, "df")]


def test_plain_spark_reads_attached_tables_and_the_location_is_a_uri(remote: Lake) -> None:
    keyed(remote)
    remote.attach("s")
    try:
        assert rows_of(remote.spark.sql("SELECT count(*) FROM s.t")) == [(6,)]
        shown = dict(row[:2] for row in remote.sql("DESCRIBE EXTENDED s.t").collect())
        assert shown["Location"] == f"s3:/{remote.catalog.load_table('s.t').store.paths.root}"
    finally:
        remote.spark.sql("DROP DATABASE IF EXISTS s CASCADE")


def test_a_lake_in_google_cloud_storage_is_written_and_read_and_shows_no_key(spark: Any, interpreted: None) -> None:
    with running_gcs() as gcs:
        key = "fs.gs.auth.service.account.private.key"
        options = {**gcs.options, key: Secret(gcs.secret), f"{key}.id": Secret(KEY)}
        lake = paimon(spark, {"warehouse": f"{gcs.make_bucket('spark-tables')}/w", **options})
        lake.sql("CREATE DATABASE s")
        keyed(lake)
        assert rows_of(lake.table("s.t")) == SIX
        loaded = spark.read.format("paimon").load("gs://spark-tables/w/s.db/t").where("id < 2")
        assert rows_of(loaded) == SIX[:2]
        shown = [test_secrets.explained(loaded), test_secrets.settings_of(spark)]
    assert [leaks(text, KEY, gcs.secret.splitlines()[1]) for text in shown] == [[]] * len(shown)


def test_rows_that_are_written_go_through_the_shuffle(remote: Lake) -> None:
    keyed(remote)
    many = remote.spark.range(50_000_000, numPartitions=4).selectExpr("id", "cast(id AS string) AS v")
    assert "the table is in an object store" in remote.explain_write(many, "s.t")


def test_the_keys_are_in_no_plan_setting_or_error(remote: Lake) -> None:
    keyed(remote)
    frame = remote.table("s.t").where("id > 1")
    path = f"s3:/{remote.catalog.load_table('s.t').store.paths.root}"
    loaded = remote.spark.read.format("paimon").load(path)
    shown = [*map(test_secrets.explained, (frame, loaded)), test_secrets.settings_of(remote.spark)]
    remote.catalog.drop_table("s.t")
    with pytest.raises(Exception, match=r"s\.(db/)?t|data-") as caught:
        frame.collect()
    shown.append(texts_of(caught.value))
    assert [leaks(text, KEY, HUSH) for text in shown] == [[]] * len(shown)

"""Hidden columns with the location of a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from table_format.errors import ColumnNotFound, UnsupportedFeature
from tests.spark.lakes import TestLake

pytestmark = pytest.mark.spark

FILE_PATH, ROW_INDEX = "__paimon_file_path", "__paimon_row_index"
PARTITION, BUCKET = "__paimon_partition", "__paimon_bucket"
DELETION_VECTORS: dict[str, Any] = {"deletion-vectors.enabled": "true"}
CHANGES: dict[str, Any] = {"incremental-between": "0,1"}
HIDDEN = (FILE_PATH, ROW_INDEX, PARTITION, BUCKET)


@pytest.fixture
def dated(lake: TestLake) -> TestLake:
    lake.lake.sql(
        "USE s; CREATE TABLE t (k INT, dt STRING) PARTITIONED BY (dt) WITH ('bucket' = '2', 'bucket-key' = 'k');"
        "INSERT INTO t VALUES (1, 'a'), (2, 'a'), (3, 'b')"
    )
    return lake


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def test_metadata_columns_give_the_location_of_every_row(dated: TestLake) -> None:
    frame = dated.lake.table("s.t", columns=["k", *HIDDEN])
    assert [(f.name, f.dataType.simpleString()) for f in frame.schema.fields[1:]] == [
        (FILE_PATH, "string"),
        (ROW_INDEX, "bigint"),
        (PARTITION, "struct<dt:string>"),
        (BUCKET, "int"),
    ]
    root = dated.table().store.paths.root
    for k, path, position, partition, bucket in rows(frame):
        assert Path(path).is_file()
        assert path.startswith(f"{root}/dt={partition.dt}/bucket-{bucket}/")
        assert partition.dt == ("b" if k == 3 else "a")
        assert position in (0, 1)
    places = [(row[0], row[1]) for row in rows(frame.select(FILE_PATH, ROW_INDEX))]
    assert len(set(places)) == 3


@pytest.mark.parametrize("file_format", ["parquet", "avro"])
def test_a_position_counts_deleted_rows(lake: TestLake, file_format: str) -> None:
    options: dict[str, Any] = {"file.format": file_format, **DELETION_VECTORS}
    lake.create(primary_keys=(), bucket="-1", **options)
    lake.write([(n, "v") for n in range(5)], parallelism=1)
    lake.lake.delete("s.t", "id < 3")
    frame = lake.lake.table("s.t", columns=[ROW_INDEX, "id", PARTITION], filter="id <> 4")
    assert [tuple(row[:2]) for row in frame.collect()] == [(3, 3)]
    assert [len(row[2]) for row in frame.collect()] == [0]


def test_conditions_on_metadata_columns_select_rows(dated: TestLake) -> None:
    frame = dated.lake.table("s.t", columns=["k", *HIDDEN])
    assert rows(frame.where("__paimon_partition.dt = 'b'").select("k")) == [(3,)]
    path = rows(frame.where("k = 3").select(FILE_PATH))[0][0]
    assert rows(frame.where(frame[FILE_PATH] == path).select("k")) == [(3,)]
    assert frame.count() == 3


def test_a_query_can_name_metadata_columns_but_a_star_leaves_them_out(dated: TestLake) -> None:
    query = dated.lake.sql("SELECT __paimon_bucket, *, t.* FROM t WHERE k = 3")
    assert query.columns == [BUCKET, "k", "dt", "k", "dt"]
    joined = dated.lake.sql(
        "SELECT a.__PAIMON_ROW_INDEX AS i, * EXCEPT (b.dt) FROM s.t AS a JOIN t b ON a.k = b.k "
        "WHERE a.__paimon_file_path = b.__paimon_file_path"
    )
    assert joined.columns == ["i", "k", "dt", "k"]
    assert joined.count() == 3
    assert dated.lake.sql("SELECT * FROM t WHERE __paimon_partition.dt = 'a'").columns == ["k", "dt"]
    with pytest.raises(Exception, match="UNRESOLVED_COLUMN"):
        dated.lake.sql("SELECT __paimon_bucket FROM (SELECT * FROM t)").collect()


def test_metadata_columns_work_with_time_travel(dated: TestLake) -> None:
    dated.lake.sql("INSERT INTO t VALUES (9, 'a')")
    files = dated.lake.sql("SELECT count(DISTINCT __paimon_file_path) FROM t VERSION AS OF 1")
    assert files.collect()[0][0] == dated.lake.sql("SELECT count(*) FROM `t$files` VERSION AS OF 1").collect()[0][0]


def test_clauses_that_read_all_columns_without_a_star_are_refused(dated: TestLake) -> None:
    with pytest.raises(UnsupportedFeature, match="NATURAL in a query that names metadata columns"):
        dated.lake.sql("SELECT a.__paimon_bucket FROM t a NATURAL JOIN t b")


def test_rows_that_must_be_merged_have_no_metadata_columns(lake: TestLake) -> None:
    lake.create(bucket="1")
    lake.append([(1, "a")])
    frame = lake.lake.table("s.t", columns=["id", FILE_PATH])
    lake.append([(1, "b")])
    assert [row.id for row in frame.collect()] == [1]
    with pytest.raises(UnsupportedFeature, match=r"files with overlapping keys, .*; compact it"):
        lake.lake.table("s.t", columns=["id", FILE_PATH]).collect()
    merged = lake.lake.sql("SELECT a.v, b.__paimon_bucket FROM s.t a, s.t VERSION AS OF 1 b")
    with pytest.raises(UnsupportedFeature, match="metadata column of rows that are merged from several files"):
        lake.lake.table("s.t", columns=[BUCKET]).collect()
    assert rows(merged) == [("b", 0)]
    lake.lake.compact("s.t", full=True)
    assert [tuple(row) for row in lake.lake.table("s.t", columns=["v", ROW_INDEX]).collect()] == [("b", 0)]


def test_primary_key_tables_with_deletion_vectors_have_metadata_columns(lake: TestLake) -> None:
    lake.create(bucket="1", **DELETION_VECTORS)
    lake.append([(1, "a"), (2, "a")])
    lake.append([(1, "b")])
    found = rows(lake.lake.table("s.t", columns=["id", "v", ROW_INDEX, FILE_PATH]))
    assert [row[:2] for row in found] == [(1, "b"), (2, "a")]
    assert len({row[2:] for row in found}) == 2


def test_an_empty_table_has_metadata_columns(lake: TestLake) -> None:
    lake.create()
    assert lake.lake.table("s.t", columns=["id", *HIDDEN]).columns == ["id", *HIDDEN]
    assert lake.lake.table("s.t", columns=HIDDEN).collect() == []


def test_a_table_column_takes_precedence_over_a_metadata_column(lake: TestLake) -> None:
    lake.lake.sql("USE s; CREATE TABLE t (__paimon_bucket STRING, k INT); INSERT INTO t VALUES ('mine', 1)")
    found = lake.lake.sql("SELECT *, __paimon_row_index FROM t").collect()
    assert [tuple(row) for row in found] == [("mine", 1, 0)]
    assert lake.lake.table("s.t", columns=[BUCKET, ROW_INDEX, FILE_PATH]).collect()[0][0] == "mine"


def test_changes_and_limited_reads_have_no_metadata_columns(dated: TestLake) -> None:
    with pytest.raises(UnsupportedFeature, match="metadata column of changes"):
        dated.lake.table("s.t", columns=[BUCKET], **CHANGES)
    with pytest.raises(UnsupportedFeature, match="metadata column of a read with a limit"):
        dated.lake.table("s.t", columns=[BUCKET], limit=1)
    with pytest.raises(ColumnNotFound, match="__paimon_nothing"):
        dated.lake.table("s.t", columns=["__paimon_nothing"])

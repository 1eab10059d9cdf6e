"""Neither column names nor session settings change the rows that Spark's reader returns."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.queries.sessions import settings_of
from tests.spark.lakes import TestLake, plan_of, rows_of

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("name", ["_tmp_metadata_row_index", "_metadata", "_METADATA", "ID"])
@pytest.mark.parametrize("keys", [("id",), ()], ids=["keyed", "append"])
@pytest.mark.parametrize("cases", ["false", "true"], ids=["case ignored", "case-sensitive"])
def test_a_column_with_a_reserved_name_of_spark_has_its_own_values(
    lake: TestLake, name: str, keys: tuple[str, ...], cases: str
) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=not keys), pa.field(name, pa.int64())])
    table = lake.create("t", schema, primary_keys=keys, **{"deletion-vectors.enabled": "true"})
    table.append(pa.table({"id": range(10), name: range(100, 110)}, schema=schema))
    table.compact(full=True)
    table.delete("id < 3")
    lake.spark.conf.set("spark.sql.caseSensitive", cases)
    try:
        assert rows_of(lake.lake.table("s.t")) == [(n, n + 100) for n in range(3, 10)]
        found = lake.lake.table("s.t", columns=["id"], filter=f'"{name}" > 105')
        assert rows_of(found) == [(n,) for n in range(6, 10)]
        assert lake.lake.table("s.t").count() == 7
    finally:
        lake.spark.conf.set("spark.sql.caseSensitive", "false")


SETTINGS = {
    "the reader is another": {"spark.sql.sources.useV1SourceList": ""},
    "old dates are shifted": {"spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY"},
    "old dates are refused": {"spark.sql.parquet.datetimeRebaseModeInRead": "EXCEPTION"},
    "schemas are merged": {"spark.sql.parquet.mergeSchema": "true"},
    "nothing is adaptive": {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "1"},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_session_settings_do_not_change_rows(lake: TestLake, settings: dict[str, str]) -> None:
    schema = pa.schema([("id", pa.int64()), ("d", pa.date32())])
    table = lake.create("t", schema, primary_keys=(), **{"deletion-vectors.enabled": "true"})
    days = pa.array([-200_000, -141_427, 0, None], pa.int32()).cast(pa.date32())
    table.append(pa.table({"id": range(4), "d": days}, schema=schema))
    table.delete("id = 2")
    with settings_of(lake.spark, settings):
        assert lake.rows() == sorted([(0, days[0].as_py()), (1, days[1].as_py()), (3, None)], key=repr)
        assert rows_of(lake.lake.table("s.t").where("id >= 1").groupBy().count()) == [(2,)]


@pytest.mark.parametrize("keys", [("id",), ()], ids=["merged", "read by Spark"])
def test_a_missing_file_fails_the_query_even_if_the_session_ignores_missing_files(
    lake: TestLake, keys: tuple[str, ...]
) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=not keys), ("v", pa.string())])
    table = lake.create("t", schema, primary_keys=keys, write_only="true")
    for value in "ab":
        table.append(pa.table({"id": range(4), "v": [value] * 4}, schema=schema))
    settings = ("spark.sql.files.ignoreMissingFiles", "spark.sql.files.ignoreCorruptFiles")
    for key in settings:
        lake.spark.conf.set(key, "true")
    try:
        planned = lake.lake.table("s.t")
        assert plan_of(planned)
        gone = next(lake.warehouse.rglob("data-*"))
        gone.unlink()
        for frame in (planned, lake.lake.table("s.t")):
            with pytest.raises(Exception, match=gone.name):
                frame.collect()
    finally:
        for key in settings:
            lake.spark.conf.set(key, "false")

"""System tables in Spark: as DataFrames and in SQL, with filter, projection and join."""

from __future__ import annotations

from typing import Any

import pytest

from table_format.errors import ColumnNotFound, InvalidOption
from table_format.model.predicate import Literal
from table_format.model.schema_change import AddColumn
from table_format.model.types import IntType
from tests.spark.lakes import TestLake, a_lake, rows_of
from tests.support.golden import golden_case
from tests.support.system_tables import OF_EVERY_TABLE

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]


@pytest.fixture
def written(lake: TestLake) -> TestLake:
    """Two snapshots of a primary-key table, with a schema each."""
    lake.create(bucket="1", write_only="true")
    lake.append([(1, "a"), (2, "b")])
    lake.lake.catalog.alter_table("s.t", AddColumn("n", IntType()))
    lake.append([(2, "c", 5)])
    return lake


def view(lake: TestLake, name: str, **arguments: Any) -> None:
    lake.lake.table(name, **arguments).createOrReplaceTempView(name.replace("s.t$", "t_").replace(".", "_"))


def test_snapshots_join_their_schemas(written: TestLake) -> None:
    view(written, "s.t$snapshots")
    view(written, "s.t$schemas")
    joined = written.spark.sql(
        "SELECT s.snapshot_id, t.schema_id, t.fields FROM t_snapshots s JOIN t_schemas t ON s.schema_id = t.schema_id "
        "WHERE s.snapshot_id = 2"
    )
    ((snapshot, schema, fields),) = rows_of(joined)
    assert (snapshot, schema) == (2, 1)
    assert '"name":"n"' in fields


@pytest.mark.parametrize("title", OF_EVERY_TABLE)
def test_every_system_table_is_returned_as_a_frame(written: TestLake, title: str) -> None:
    frame = written.lake.table(f"s.t${title}")
    table = written.lake.catalog.load_table(f"s.t${title}")
    assert frame.columns == [f.name for f in table.fields]
    assert frame.count() == table.scan().to_arrow().num_rows
    none = written.lake.table(f"s.t${title}", filter=Literal(value=False))
    assert [(f.name, f.dataType) for f in none.schema] == [(f.name, f.dataType) for f in frame.schema]
    assert none.count() == 0


def test_filters_and_columns_apply_to_system_tables(written: TestLake) -> None:
    files = written.lake.table("s.t$files", columns=["bucket", "record_count"], filter="schema_id = 1")
    assert rows_of(files) == [(0, 1)]
    same = written.lake.table("s.t$files").where("schema_id = 1").select("bucket", "record_count")
    assert rows_of(same) == [(0, 1)]
    with pytest.raises(ColumnNotFound):
        written.lake.table("s.t$files", columns=["nope"])
    with pytest.raises(InvalidOption, match=r"row-tracking\.enabled"):
        written.lake.table("s.t$row_tracking")


def test_options_select_an_earlier_state_of_a_system_table(written: TestLake) -> None:
    at_first = {"scan.snapshot-id": "1"}
    assert rows_of(written.lake.table("s.t$files", columns=["record_count"], **at_first)) == [(2,)]
    assert written.lake.table("s.t$manifests", **at_first).count() == 1
    assert written.lake.table("s.t$manifests").count() == 2


def test_rows_of_the_table_are_read_by_tasks(written: TestLake) -> None:
    log = written.lake.table("s.t$audit_log", columns=["id", "v"], filter="rowkind = '+I'")
    assert rows_of(log) == [(1, "a"), (2, "c")]
    changes = {"incremental-between": "1,2"}
    assert rows_of(written.lake.table("s.t$audit_log", **changes)) == [("+I", 2, "c", 5)]
    assert written.lake.table("s.t$ro").count() == 0
    written.lake.compact("s.t", full=True)
    assert rows_of(written.lake.table("s.t$ro", columns=["v"], filter="id > 1")) == [("c",)]


def test_the_tables_of_sys_are_returned_as_frames(written: TestLake) -> None:
    view(written, "sys.all_table_options")
    options = written.spark.sql("SELECT key FROM sys_all_table_options WHERE table_name = 't' AND value = 'true'")
    assert rows_of(options) == [("write-only",)]
    ((warehouse,),) = rows_of(written.lake.table("sys.catalog_options", columns=["value"], filter="key = 'warehouse'"))
    assert warehouse == str(written.warehouse)
    assert written.lake.table("sys.tables").count() == 1


def test_rows_with_their_ids_are_read_by_tasks_and_in_sql(spark: Any, tmp_path: Any) -> None:
    golden = golden_case("append_row_tracking").writable_copy(tmp_path)
    lake = a_lake(spark, golden).lake
    frame = lake.table("db.t$row_tracking", columns=["id", "_ROW_ID"], filter="_ROW_ID >= 16")
    assert rows_of(frame) == [(16, 16), (17, 17)]
    query = "SELECT _SEQUENCE_NUMBER, count(*), max(_ROW_ID) FROM db.`t$row_tracking` GROUP BY _SEQUENCE_NUMBER"
    assert rows_of(lake.sql(query)) == [(1, 6, 5), (2, 6, 11), (3, 6, 17)]

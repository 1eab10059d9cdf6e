"""System tables."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from table_format.errors import ColumnNotFound, UnsupportedFeature
from table_format.model.schema_change import SetOption
from table_format.table.system_table import SystemTable
from tests.support.tables import Warehouse, keyed, memory_warehouse


@pytest.fixture
def warehouse() -> Warehouse:
    made = memory_warehouse()
    table = made.table(primary_keys=["id", "dt"], partition_keys=["dt"], options={"bucket": "1"})
    table.append(keyed([(1, "a", 5), (2, "a", None)]))
    made.catalog.alter_table("db.t", SetOption("write-only", "true"))
    table.append(keyed([(3, "b", 7)]))
    return made


def opened(warehouse: Warehouse, name: str) -> SystemTable:
    table = warehouse.catalog.load_table(f"db.t${name}")
    assert isinstance(table, SystemTable)
    return table


def test_snapshots(warehouse: Warehouse) -> None:
    table = opened(warehouse, "snapshots")
    rows = table.scan().to_arrow()
    assert rows.schema == table.schema
    assert rows["snapshot_id"].to_pylist() == [1, 2]
    assert rows["commit_kind"].to_pylist() == ["APPEND", "APPEND"]
    assert rows["total_record_count"].to_pylist() == [2, 3]
    assert rows.schema.field("commit_time").type == pa.timestamp("ms")
    narrow = table.scan(["schema_id"], "snapshot_id = 2").to_arrow()
    assert narrow.to_pylist() == [{"schema_id": 1}]


def test_schemas(warehouse: Warehouse) -> None:
    rows = opened(warehouse, "schemas").scan().to_arrow().to_pylist()
    assert [row["schema_id"] for row in rows] == [0, 1]
    assert json.loads(rows[1]["options"]) == {"bucket": "1", "write-only": "true"}
    assert rows[0]["primary_keys"] == '["id","dt"]'
    assert [field["name"] for field in json.loads(rows[0]["fields"])] == ["id", "dt", "v"]


def test_options(warehouse: Warehouse) -> None:
    rows = opened(warehouse, "options").scan().to_arrow().to_pylist()
    assert rows == [{"key": "bucket", "value": "1"}, {"key": "write-only", "value": "true"}]


def test_files(warehouse: Warehouse) -> None:
    rows = opened(warehouse, "files").scan(filter="record_count > 0").to_arrow().to_pylist()
    first = next(row for row in rows if row["partition"] == "[a]")
    assert (first["min_key"], first["max_key"], first["level"], first["file_source"]) == ("[1]", "[2]", 0, "APPEND")
    assert first["null_value_counts"] == "{dt=0, id=0, v=1}"
    assert first["min_value_stats"] == "{dt=a, id=1, v=5}"
    assert first["file_path"].startswith("/warehouse/db.db/t/dt=a/bucket-0/data-")


def test_other_system_tables_are_refused_by_name(warehouse: Warehouse) -> None:
    with pytest.raises(UnsupportedFeature, match=r"'db\.t\$audit_log' is not supported.*\$snapshots"):
        warehouse.catalog.load_table("db.t$audit_log")


def test_columns_of_a_system_table_must_exist(warehouse: Warehouse) -> None:
    with pytest.raises(ColumnNotFound, match="'nope' does not exist; the columns are key, value"):
        opened(warehouse, "options").scan(["nope"]).to_arrow()

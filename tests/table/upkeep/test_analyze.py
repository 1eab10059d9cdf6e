"""ANALYZE: what is counted, how it is committed, how long it holds."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format import load_catalog
from table_format.errors import ColumnNotFound, UnsupportedFeature
from table_format.metastore.manifest.statistics_file import read_statistics
from table_format.model.schema_change import AddColumn, SetOption
from table_format.model.snapshot import CommitKind
from table_format.model.types import IntType
from table_format.table.table import Table
from table_format.table.upkeep.analyze import analyze
from tests.support.golden import golden_case
from tests.support.tables import Warehouse, keyed, memory_warehouse


@pytest.fixture
def warehouse() -> Warehouse:
    return memory_warehouse()


def statistics_of(warehouse: Warehouse, table: Table, **options: str) -> list[dict[str, Any]]:
    opened = warehouse.catalog.load_table(f"{table.identifier}$statistics")
    return opened.scan(options=options or None).to_arrow().to_pylist()


def columns_of(warehouse: Warehouse, table: Table) -> dict[str, dict[str, Any]]:
    (row,) = statistics_of(warehouse, table)
    found: dict[str, dict[str, Any]] = json.loads(row["colstat"])
    return found


def test_without_columns_the_rows_are_counted_after_merging(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id", "dt"], options={"bucket": "1", "write-only": "true"})
    table.append(keyed([(1, "a", 1), (2, "a", 2)]))
    table.append(keyed([(1, "a", 9), (3, "b", 3)]))
    (snapshot,) = table.analyze()
    assert (snapshot.id, snapshot.commit_kind, snapshot.delta_record_count) == (3, CommitKind.ANALYZE, 0)
    assert snapshot.total_record_count == 4
    size = sum(file.file_size for split in table.scan().plan() for file in split.files)
    expected = {"snapshot_id": 2, "schema_id": 0, "mergedRecordCount": 3, "mergedRecordSize": size, "colstat": "{ }"}
    assert statistics_of(warehouse, table) == [expected]
    assert table.scan().to_arrow().num_rows == 3


def test_statistics_of_some_columns(warehouse: Warehouse) -> None:
    table = warehouse.table()
    table.append(keyed([(1, "a", 7), (2, None, 7), (3, "ccc", None)]))
    table.analyze(["id", "dt", "v"])
    assert columns_of(warehouse, table) == {
        "id": {"colId": 0, "distinctCount": 3, "min": "1", "max": "3", "nullCount": 0, "avgLen": 8, "maxLen": 8},
        "dt": {"colId": 1, "distinctCount": 2, "nullCount": 1, "avgLen": 2, "maxLen": 3},
        "v": {"colId": 2, "distinctCount": 1, "min": "7", "max": "7", "nullCount": 1, "avgLen": 4, "maxLen": 4},
    }


def test_values_become_the_texts_that_java_reads_back(warehouse: Warehouse) -> None:
    columns: dict[str, pa.Array] = {
        "t": pa.array([5, -3], pa.int8()),
        "f": pa.array([0.5, float("nan")], pa.float32()),
        "d": pa.array([-0.0, 0.0], pa.float64()),
        "dec": pa.array([Decimal("1.500"), Decimal("-2.000")], pa.decimal128(12, 3)),
        "big": pa.array([Decimal("1.5"), None], pa.decimal128(30, 1)),
        "day": pa.array([date(2024, 1, 31), date(1969, 12, 31)]),
        "ts": pa.array([datetime(2024, 1, 1), datetime(2024, 1, 2, 3, 4, 5, 600_000)], pa.timestamp("us")),
        "ltz": pa.array([datetime(2024, 1, 1), None], pa.timestamp("ms", "UTC")),
        "b": pa.array([True, False]),
        "bin": pa.array([b"abc", b"a"]),
        "none": pa.array([None, None], pa.string()),
    }
    rows = pa.table(columns)
    table = warehouse.table(schema=rows.schema)
    table.append(rows)
    table.analyze(rows.schema.names)
    found = columns_of(warehouse, table)
    shown = {
        name: (c["distinctCount"], c.get("min"), c.get("max"), c["avgLen"], c["maxLen"]) for name, c in found.items()
    }
    assert shown == {
        "t": (2, "-3", "5", 1, 1),
        "f": (2, "0.5", "NaN", 4, 4),
        "d": (1, "0.0", "0.0", 8, 8),
        "dec": (2, "-2.000", "1.500", 8, 8),
        "big": (1, "1.5", "1.5", 16, 16),
        "day": (2, "-1", "19753", 4, 4),
        "ts": (2, "2024-01-01 00:00:00.000000", "2024-01-02 03:04:05.600000", 8, 8),
        "ltz": (1, "2024-01-01 00:00:00.000", "2024-01-01 00:00:00.000", 8, 8),
        "b": (2, "false", "true", 1, 1),
        "bin": (2, None, None, 2, 3),
        "none": (0, None, None, 20, 20),
    }


def test_a_column_that_cannot_be_counted_is_refused(warehouse: Warehouse) -> None:
    table = warehouse.table(schema=pa.schema([("id", pa.int64()), ("tags", pa.list_(pa.string()))]))
    table.append(pa.table({"id": [1], "tags": [["x"]]}))
    with pytest.raises(UnsupportedFeature, match=r"column 'tags' of type ARRAY<STRING>"):
        table.analyze(["id", "tags"])
    with pytest.raises(ColumnNotFound):
        table.analyze(["nope"])
    assert [s.commit_kind for s in table.snapshots()] == [CommitKind.APPEND]


def test_a_table_without_snapshots_has_nothing_to_count(warehouse: Warehouse) -> None:
    table = warehouse.table()
    assert table.analyze() == ()
    assert table.snapshots() == ()


def test_statistics_hold_until_the_schema_changes(warehouse: Warehouse) -> None:
    table = warehouse.table()
    table.append(keyed([(1, "a", 1)]))
    table.analyze(["v"])
    table.append(keyed([(2, "a", 2)]))
    (row,) = statistics_of(warehouse, table)
    assert (row["snapshot_id"], row["mergedRecordCount"]) == (1, 1)
    assert statistics_of(warehouse, table, **{"scan.snapshot-id": "1"}) == []
    changed = warehouse.catalog.alter_table("db.t", AddColumn("w", IntType()))
    assert len(statistics_of(warehouse, table)) == 1
    changed.append(keyed([(3, "a", 3)], w=pa.array([3], pa.int32())))
    assert statistics_of(warehouse, table) == []
    assert table.snapshots()[-1].statistics is None


def test_statistics_of_a_schema_that_has_changed_before_they_were_committed_are_not_inherited(
    warehouse: Warehouse,
) -> None:
    stale = warehouse.table()
    stale.append(keyed([(1, "a", 1)]))
    warehouse.catalog.alter_table("db.t", SetOption("write-only", "true"))
    (snapshot,) = analyze(stale.facts, "u", ())
    assert snapshot.schema_id == 1
    (row,) = statistics_of(warehouse, stale)
    assert row["schema_id"] == 0
    warehouse.reopened(stale).append(keyed([(2, "a", 2)]))
    assert statistics_of(warehouse, stale) == []


def test_broken_statistics_do_not_keep_rows_from_being_committed(warehouse: Warehouse) -> None:
    table = warehouse.table()
    table.append(keyed([(1, "a", 1)]))
    (snapshot,) = table.analyze()
    assert snapshot.statistics is not None
    warehouse.io.overwrite(table.store.paths.statistics(snapshot.statistics), b"no json")
    table.append(keyed([(2, "a", 2)]))
    assert table.snapshots()[-1].statistics is None


def test_expiry_deletes_statistics_that_no_snapshot_names(warehouse: Warehouse) -> None:
    table = warehouse.table(options={"write-only": "true"})
    table.append(keyed([(1, "a", 1)]))
    table.analyze()
    table.append(keyed([(2, "a", 2)]))
    table.analyze(["v"])
    files = [name for name in warehouse.files(table) if name.startswith("statistics/")]
    assert len(files) == 2
    table.expire_snapshots(retain_max=2, retain_min=1, retain_floor_ms=0)
    assert [s.id for s in table.snapshots()] == [3, 4]
    assert len([name for name in warehouse.files(table) if name.startswith("statistics/")]) == 2
    table.expire_snapshots(retain_max=1, retain_min=1, retain_floor_ms=0)
    left = [name for name in warehouse.files(table) if name.startswith("statistics/")]
    assert left == [f"statistics/{table.snapshots()[0].statistics}"]


def test_the_four_kinds_of_commits_are_shown(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id", "dt"], options={"bucket": "1", "write-only": "true"})
    table.append(keyed([(1, "a", 1)]))
    table.append(keyed([(1, "a", 2)]))
    warehouse.reopened(table).copy({"write-only": "false"}).compact(full=True)
    table.analyze()
    table.overwrite(keyed([(5, "a", 5)]))
    kinds = warehouse.catalog.load_table("db.t$snapshots").scan(["commit_kind"]).to_arrow()["commit_kind"]
    assert kinds.to_pylist() == ["APPEND", "APPEND", "COMPACT", "ANALYZE", "OVERWRITE"]


def test_what_spark_counts_is_counted_equal(tmp_path: Path) -> None:
    golden = golden_case("spark_statistics")
    catalog = load_catalog({"warehouse": str(golden.writable_copy(tmp_path))})
    for name, columns in (("db.t", []), ("db.all_columns", ["id", "s", "d"])):
        table = catalog.load_table(name)
        assert isinstance(table, Table)
        (snapshot,) = table.analyze(columns)
        found = read_statistics(table.store, snapshot)
        spark = read_statistics(table.store, table.facts.snapshots.load(2))
        assert found is not None
        assert spark is not None
        assert dict(found.columns) == dict(spark.columns)
        assert (found.merged_record_count, found.merged_record_size) == (
            spark.merged_record_count,
            spark.merged_record_size,
        )

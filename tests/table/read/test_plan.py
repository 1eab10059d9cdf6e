"""What a plan reads and what it says about it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from table_format import Table
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of


@pytest.fixture
def warehouse() -> Warehouse:
    return memory_warehouse()


def test_partitions_prune_manifests_and_entries(warehouse: Warehouse) -> None:
    table = warehouse.table(partition_keys=["dt"])
    for month in range(12):
        table.append(keyed([(month, f"2024-{month:02}", month)]))
    plan = table.scan(filter="dt = '2024-05'").plan()
    assert (plan.counts.manifests, plan.counts.manifests_dropped, plan.file_count) == (12, 11, 1)


def test_statistics_prune_files(warehouse: Warehouse) -> None:
    table = warehouse.table()
    for start in range(0, 1000, 100):
        table.append(keyed([(i, f"x{i:04}", i) for i in range(start, start + 100)]))
    scan = table.scan(filter="v = 512")
    assert scan.plan().file_count == 1
    assert scan.plan().counts.files_dropped_by_value_stats == 9
    assert scan.to_arrow()["id"].to_pylist() == [512]
    assert table.scan(filter="dt >= 'x0990'").plan().file_count == 1


def test_an_equality_on_the_key_reads_one_bucket(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "5"})
    table.append(keyed([(i, "a", i) for i in range(50)]))
    plan = table.scan(filter="id = 7").plan()
    assert {split.bucket for split in plan} == {next(iter(plan)).bucket}
    assert plan.counts.files_dropped_by_bucket == 4
    assert table.scan(filter="id IN (1, 2) AND id = 2").plan().counts.files_dropped_by_bucket == 4
    assert table.scan(filter="id > 2").plan().counts.files_dropped_by_bucket == 0
    for key in range(50):
        assert rows_of(table, filter=f"id = {key}") == [(key, "a", key)]


@pytest.mark.parametrize("literal", ["0.0", "-0.0"])
def test_both_zeros_are_one_key_value_to_a_filter(warehouse: Warehouse, literal: str) -> None:
    schema = pa.schema([("f", pa.float64()), ("v", pa.int32())])
    table = warehouse.table(schema=schema, options={"bucket": "16", "bucket-key": "f"})
    table.append(pa.table({"f": [0.0, -0.0, 1.0], "v": [1, 2, 3]}, schema=schema))
    assert sorted(row[1] for row in rows_of(table, filter=f"f = {literal}")) == [1, 2]


def test_value_statistics_never_bring_an_older_version_back(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1", "write-only": "true"})
    table.append(keyed([(1, "a", 5), (2, "a", 6)]))
    table.append(keyed([(1, "a", 100)]))
    assert rows_of(table, filter="v = 5") == []
    assert rows_of(table, filter="v = 100") == [(1, "a", 100)]
    assert table.scan(filter="v = 7000").plan().file_count == 0


def report_of(table: Table, condition: str) -> str:
    return str(table.scan(["id"], condition).plan())


def test_a_plan_explains_itself(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id", "dt"], partition_keys=["dt"], options={"bucket": "4"})
    table.append(keyed([(i, f"p{i % 3}", i) for i in range(240)]))
    report = report_of(table, "dt = 'p1' AND id = 4 AND v < 50")
    lines = report.splitlines()
    assert lines[0] == "scan of db.t, snapshot 1, schema 0"
    assert lines[1] == "  columns    id"
    assert lines[2] == "  filter     dt = 'p1' AND id = 4 AND v < 50"
    assert lines[3] == "  manifests  1, dropped none, kept 1"
    assert lines[4] == "  entries    12, dropped 8 by partition, kept 4"
    assert lines[5] == "  files      4, dropped 3 by bucket, kept 1"
    assert lines[6].startswith("  splits     1: 1 read as they are, 0 merged; 1 file, ")


def test_a_table_without_overlap_is_read_as_it_is_after_compaction(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"])
    table.append(keyed([(i, "a", i) for i in range(20)]))
    table.append(keyed([(i, "a", i) for i in range(10)]))
    assert not any(split.raw_convertible for split in table.scan().plan())
    table.compact(full=True)
    assert all(split.raw_convertible for split in table.scan().plan())
    assert table.scan().plan().row_count == 20

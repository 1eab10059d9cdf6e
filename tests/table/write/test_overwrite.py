"""Replacing, dropping and truncating."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pytest

from table_format import Schema
from table_format.errors import InvalidData, InvalidInputError
from table_format.model.snapshot import CommitKind
from tests.support import typed_rows
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of


@pytest.fixture
def warehouse() -> Warehouse:
    return memory_warehouse()


@pytest.mark.parametrize("keys", [(), ("id", "dt")])
def test_partitions_with_new_rows_are_replaced(warehouse: Warehouse, keys: tuple[str, ...]) -> None:
    table = warehouse.table(primary_keys=keys, partition_keys=["dt"])
    table.append(keyed([(1, "a", 1), (2, "b", 2)]))
    [snapshot] = table.overwrite(keyed([(9, "a", 9)]))
    assert snapshot.commit_kind is CommitKind.OVERWRITE
    assert rows_of(table) == [(2, "b", 2), (9, "a", 9)]
    assert table.overwrite(keyed([])) == ()


def test_the_whole_table_is_replaced_without_dynamic_overwrite(warehouse: Warehouse) -> None:
    table = warehouse.table(partition_keys=["dt"], options={"dynamic-partition-overwrite": "false"})
    table.append(keyed([(1, "a", 1), (2, "b", 2)]))
    table.overwrite(keyed([(9, "a", 9)]))
    assert rows_of(table) == [(9, "a", 9)]


def test_a_table_without_partitions_is_replaced(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"])
    table.append(keyed([(1, "a", 1), (2, "b", 2)]))
    table.overwrite(keyed([(9, "a", 9)]))
    table.append(keyed([(9, "a", 10)]))
    assert rows_of(table) == [(9, "a", 10)]


def test_one_partition_is_replaced_by_rows_that_lack_its_columns(warehouse: Warehouse) -> None:
    table = warehouse.table(partition_keys=["dt"])
    table.append(keyed([(1, "a", 1), (2, "b", 2)]))
    table.overwrite(keyed([(5, "x", 5)]).drop_columns(["dt"]), partition={"dt": "a"})
    assert rows_of(table) == [(2, "b", 2), (5, "a", 5)]
    table.overwrite(keyed([]), partition={"dt": "a"})
    assert rows_of(table) == [(2, "b", 2)]


def test_rows_outside_the_partition_are_refused_and_leave_nothing(warehouse: Warehouse) -> None:
    table = warehouse.table(partition_keys=["dt"])
    table.append(keyed([(1, "a", 1)]))
    before = warehouse.files(table)
    with pytest.raises(InvalidInputError, match="outside the partition"):
        table.overwrite(keyed([(5, "b", 5)]), partition={"dt": "a"})
    assert warehouse.files(table) == before


def test_a_partition_is_named_by_its_columns_and_fitting_values(warehouse: Warehouse) -> None:
    schema = pa.schema([("id", pa.int64()), ("d", pa.date32()), ("h", pa.int32())])
    table = warehouse.table(schema=schema, partition_keys=["d", "h"])
    day = date(2024, 1, 2)
    table.append(pa.table({"id": [1, 2, 3], "d": [day, day, date(2024, 1, 3)], "h": [1, 2, 1]}, schema=schema))
    table.overwrite(pa.table({"id": [7], "h": [5]}), partition={"d": "2024-01-02"})
    assert [row[0] for row in rows_of(table)] == [3, 7]
    table.overwrite(pa.table({"id": [8]}), partition={"d": day, "h": 5})
    assert [row[0] for row in rows_of(table)] == [3, 8]
    with pytest.raises(InvalidInputError, match="'id' is not a partition column; the partition columns are d, h"):
        table.overwrite(pa.table({"id": [8]}), partition={"id": 1})
    with pytest.raises(InvalidData, match="'d' is DATE, which cannot hold str 'soon'"):
        table.overwrite(pa.table({"id": [8]}), partition={"d": "soon"})


def test_partitions_are_dropped(warehouse: Warehouse) -> None:
    table = warehouse.table(partition_keys=["dt"])
    table.append(keyed([(i, f"p{i}", i) for i in range(4)]))
    [snapshot] = table.drop_partitions([{"dt": "p1"}, {"dt": "p3"}, {"dt": "nope"}])
    assert snapshot.commit_kind is CommitKind.OVERWRITE
    assert [row[0] for row in rows_of(table)] == [0, 2]
    with pytest.raises(InvalidInputError):
        table.drop_partitions([])
    with pytest.raises(InvalidInputError):
        table.drop_partitions([{}])


def test_a_table_is_emptied(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"])
    table.append(keyed([(1, "a", 1)]))
    table.truncate()
    assert rows_of(table) == []
    assert rows_of(table, options={"scan.snapshot-id": "1"}) == [(1, "a", 1)]


def test_a_repeated_overwrite_lands_once(warehouse: Warehouse) -> None:
    table = warehouse.table()
    assert len(table.overwrite(keyed([(1, "a", 1)]), commit_user="job", identifier=3)) == 1
    table.append(keyed([(2, "a", 2)]))
    assert table.overwrite(keyed([(1, "a", 1)]), commit_user="job", identifier=3) == ()
    assert len(rows_of(table)) == 2


@pytest.mark.parametrize("name", typed_rows.SCALARS)
def test_a_partition_of_any_value_is_overwritten_and_dropped_by_its_value(warehouse: Warehouse, name: str) -> None:
    data_type, given = typed_rows.SCALARS[name]
    typed = {"v": (data_type, [v for v in {str(v): v for v in given}.values() if len(str(v)) < 100])}
    fields = typed_rows.fields_of(typed)
    rows = typed_rows.rows_of(typed, fields, len(typed["v"][1]) + 1)  # each value, and null
    schema = Schema(tuple(fields), partition_keys=("v",), options={"partition.legacy-name": "false"})
    table = warehouse.catalog.create_table("db.typed", schema)
    table.append(rows)
    for row, value in enumerate(rows.column("v")):
        table.overwrite(pa.table({"id": pa.array([100 + row], pa.int32())}), partition={"v": value})
        assert sorted(table.scan().to_arrow()["id"].to_pylist())[-1] == 100 + row
        assert table.scan().count() == rows.num_rows
    for row, value in enumerate(rows.column("v")):
        table.drop_partitions([{"v": value}])
        assert table.scan().count() == rows.num_rows - row - 1

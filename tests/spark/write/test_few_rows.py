"""What the driver writes itself, and what it leaves to tasks."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from table_format import Insert, Update
from table_format.errors import InvalidData
from table_format.spark.dml import append_tables
from table_format.spark.write import few_rows
from table_format.spark.write.few_rows import FEW_BYTES, FEW_ROWS, are_few, is_light
from tests.spark.lakes import KEYED, TestLake

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]


def test_rows_are_few_up_to_a_number_and_a_known_size() -> None:
    assert are_few(FEW_ROWS, FEW_BYTES)
    assert not are_few(FEW_ROWS + 1, 0)
    assert not are_few(1, FEW_BYTES + 1)
    assert not are_few(1, None)


def test_the_driver_writes_only_to_tables_that_are_small_or_write_only(
    lake: TestLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = {
        "compacting": lake.create("compacting"),
        "write only": lake.create("write_only", write_only="true"),
        # Writes to it compact nothing.
        "append": lake.create("append", primary_keys=()),
        # Such a write reads the keys of all partitions.
        "cross-partition": lake.create("across", partition_keys=("v",), bucket="-1", write_only="true"),
    }
    assert all(is_light(table.facts, None) for table in tables.values())
    for table in tables.values():
        table.append(pa.table({"id": [1, 2], "v": ["a", "b"]}, schema=table_schema(table)))

    def found() -> dict[str, bool]:
        return {name: is_light(table.facts, table.facts.snapshots.latest()) for name, table in tables.items()}

    assert found() == dict.fromkeys(tables, True)
    for limit in ("_LIGHT_ROWS", "_LIGHT_BYTES"):
        with monkeypatch.context() as patch:
            patch.setattr(few_rows, limit, 1)
            assert found() == {"compacting": False, "write only": True, "append": True, "cross-partition": False}


def table_schema(table: Any) -> pa.Schema:
    return KEYED if table.facts.schema.field("v").type.nullable else KEYED.set(1, pa.field("v", pa.string(), False))


@pytest.mark.parametrize("keys", [("id",), ()], ids=["primary key", "append"])
def test_few_changes_of_a_statement_start_no_python_task(
    lake: TestLake, monkeypatch: pytest.MonkeyPatch, keys: tuple[str, ...]
) -> None:
    lake.create(primary_keys=keys)
    lake.append([(n, f"v{n}") for n in range(4)])
    monkeypatch.setattr(few_rows, "write_frame", not_called)
    monkeypatch.setattr(append_tables, "_files_changed_by_tasks", not_called)
    source = lake.frame([(1, "new"), (9, "new")], "id long, v string")
    merged = lake.lake.merge("s.t", source, on="t.id = s.id", when_matched=Update(), when_not_matched=Insert())
    assert (merged.updated, merged.inserted) == (1, 1)
    assert lake.lake.delete("s.t", "id = 2").deleted == 1
    assert lake.rows() == [(0, "v0"), (1, "new"), (3, "v3"), (9, "new")]


def not_called(*arguments: object, **named: object) -> Any:
    message = "the other way writes these rows"
    raise AssertionError(message)


def test_tasks_write_nested_values_and_values_that_are_wide_together(
    lake: TestLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    nested = pa.schema([pa.field("id", pa.int64(), nullable=False), ("tags", pa.list_(pa.string()))])
    lake.create("nested", schema=nested)
    lake.create("wide")
    lake.table("nested").append(pa.table({"id": [1], "tags": [["a"]]}, schema=nested))
    lake.table("wide").append(pa.table({"id": range(4), "v": ["x" * 500] * 4}, schema=KEYED))
    monkeypatch.setattr(few_rows, "FEW_BYTES", 1500)
    in_driver = few_rows.write_few
    monkeypatch.setattr(few_rows, "write_few", not_called)
    assert lake.lake.update("s.nested", {"tags": "array('b')"}).updated == 1
    assert lake.lake.update("s.wide", {"v": "v || 'y'"}).updated == 4
    monkeypatch.setattr(few_rows, "write_frame", not_called)
    monkeypatch.setattr(few_rows, "write_few", in_driver)
    assert lake.lake.update("s.wide", {"v": "'z'"}, "id < 2").updated == 2


@pytest.mark.parametrize("keys", [("id",), ()], ids=["primary key", "append"])
def test_a_value_that_the_driver_cannot_write_leaves_no_file(lake: TestLake, keys: tuple[str, ...]) -> None:
    lake.create(schema=pa.schema([*KEYED, pa.field("n", pa.int32(), nullable=False)]), primary_keys=keys)
    lake.append([(n, f"v{n}", n) for n in range(4)])
    files = lake.files()
    with pytest.raises(InvalidData, match="column 'n' is INT NOT NULL"):
        lake.lake.update("s.t", {"n": "CAST(NULL AS INT)"}, "id = 1")
    assert lake.files() == files

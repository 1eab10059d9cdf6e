"""A name opens a table, a system table or a format table, and typed programs say which of them they mean."""

from __future__ import annotations

import typing

import pytest

from table_format import Catalog, FormatTable, SystemTable, Table
from table_format.catalog.named_catalog import NamedCatalog
from table_format.errors import InvalidInputError, TableNotFound
from tests.support.tables import Warehouse, keyed, memory_warehouse


@pytest.fixture
def warehouse() -> Warehouse:
    warehouse = memory_warehouse()
    warehouse.table().append(keyed([(1, "a", 1)]))
    return warehouse


def test_each_way_to_load_has_one_type_for_type_checkers() -> None:
    for catalog in (Catalog, NamedCatalog):
        results = {
            name: typing.get_type_hints(getattr(catalog, name))["return"]
            for name in ("load_table", "load_system_table", "load_any")
        }
        assert results == {
            "load_table": Table,
            "load_system_table": SystemTable,
            "load_any": Table | SystemTable | FormatTable,
        }


def test_a_system_table_is_opened_by_its_own_method_and_by_the_others(warehouse: Warehouse) -> None:
    for load in (warehouse.catalog.load_system_table, warehouse.catalog.load_any, warehouse.catalog.load_table):
        opened = load("db.t$snapshots")
        assert isinstance(opened, SystemTable)
        assert opened.scan(["snapshot_id"]).to_arrow()["snapshot_id"].to_pylist() == [1]
    assert warehouse.catalog.load_system_table("sys.tables").name == "sys.tables"


def test_a_table_with_data_is_no_system_table(warehouse: Warehouse) -> None:
    assert isinstance(warehouse.catalog.load_any("db.t"), Table)
    with pytest.raises(InvalidInputError, match=r"is not a system table: use load_table.*'db\.t\$files'"):
        warehouse.catalog.load_system_table("db.t")
    with pytest.raises(TableNotFound):
        warehouse.catalog.load_system_table("db.x$files")

"""What all catalogs share, seen on a catalog whose names are not directories."""

from __future__ import annotations

import threading

import pytest

from table_format import Table
from table_format.errors import AlreadyExistsError, TableNotFound
from table_format.model.schema_change import SetOption
from table_format.table.system.table import SystemTable
from tests.support.dict_catalog import dict_warehouse
from tests.support.tables import Warehouse, keyed, rows_of


@pytest.fixture
def warehouse() -> Warehouse:
    return dict_warehouse()


def test_a_table_keeps_its_directory_when_its_name_changes(warehouse: Warehouse) -> None:
    table = warehouse.table("old")
    table.append(keyed([(1, "a", 1)]))
    warehouse.catalog.rename_table("db.old", "db.new")
    moved = warehouse.catalog.load_table("db.new")
    assert isinstance(moved, Table)
    assert moved.store.paths.root == table.store.paths.root
    moved.append(keyed([(2, "a", 2)]))
    assert rows_of(moved) == [(1, "a", 1), (2, "a", 2)]


def test_altering_renaming_and_dropping_are_done_under_the_lock(warehouse: Warehouse) -> None:
    warehouse.table("t")
    warehouse.catalog.alter_table("db.t", SetOption("write-only", "true"))
    warehouse.catalog.rename_table("db.t", "db.u")
    warehouse.catalog.drop_table("db.u")
    assert warehouse.catalog.metastore.locked == ["db.t", "db.t", "db.u"]


def test_branches_system_tables_and_the_database_sys_come_with_it(warehouse: Warehouse) -> None:
    table = warehouse.table("t", options={"write-only": "true"})
    table.append(keyed([(1, "a", 1)]))
    table.create_tag("one")
    table.create_branch("b", tag="one")
    branch = warehouse.catalog.load_table("db.t$branch_b")
    assert isinstance(branch, Table)
    assert rows_of(branch) == [(1, "a", 1)]
    for name, column, expected in (("db.t$tags", "tag_name", ["one"]), ("sys.tables", "table_name", ["t"])):
        system = warehouse.catalog.load_table(name)
        assert isinstance(system, SystemTable)
        assert system.scan([column]).to_arrow().column(0).to_pylist() == expected


def test_of_several_that_create_a_table_one_wins_and_the_others_leave_nothing(warehouse: Warehouse) -> None:
    begin, outcomes = threading.Barrier(4), []

    def create() -> None:
        begin.wait()
        try:
            warehouse.table("t")
            outcomes.append("made")
        except AlreadyExistsError:
            outcomes.append("exists")

    threads = [threading.Thread(target=create) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["exists", "exists", "exists", "made"]
    assert len(warehouse.io.list("/warehouse")) == 1


def test_a_table_whose_directory_is_gone_does_not_exist(warehouse: Warehouse) -> None:
    table = warehouse.table("t")
    warehouse.io.delete_tree(table.store.paths.root)
    with pytest.raises(TableNotFound, match="has no schema"):
        warehouse.catalog.load_table("db.t")
    with pytest.raises(TableNotFound, match="/warehouse has no table of that name"):
        warehouse.catalog.load_table("db.never")


def test_a_dropped_table_is_gone_with_its_files(warehouse: Warehouse) -> None:
    warehouse.table("t").append(keyed([(1, "a", 1)]))
    warehouse.table("u")
    warehouse.catalog.drop_table("db.t")
    assert len(warehouse.io.list("/warehouse")) == 1
    warehouse.catalog.drop_database("db", cascade=True)
    assert warehouse.io.list("/warehouse") == []

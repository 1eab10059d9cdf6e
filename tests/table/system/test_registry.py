"""System tables by name: those of the library, and those that a program registers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from table_format.catalog.global_tables import (
    GLOBAL_TABLES,
    CatalogView,
    GlobalTableKind,
    register_global_table,
)
from table_format.errors import AlreadyExistsError, InvalidOption, UnsupportedFeature
from table_format.table.facts import TableFacts
from table_format.table.system.metadata import LONG, TEXT, Row, columns
from table_format.table.system.registry import SYSTEM_TABLES, metadata_table, register_system_table
from table_format.table.system.table import SystemTable
from tests.support.registries import forgotten_again
from tests.support.system_tables import OF_EVERY_TABLE
from tests.support.tables import keyed, memory_warehouse

COLUMNS = columns(commit_user=TEXT, snapshots=LONG)


def rows(facts: TableFacts) -> Sequence[Row]:
    snapshots = [facts.snapshots.find(found) for found in facts.snapshots.ids()]
    users = sorted({snapshot.commit_user for snapshot in snapshots if snapshot is not None})
    return [{"commit_user": user, "snapshots": sum(s.commit_user == user for s in snapshots)} for user in users]


def largest(catalog: CatalogView) -> Sequence[Row]:
    return [{"table_name": str(t.identifier), "columns": len(t.schema.fields)} for t in catalog.tables()]


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    with forgotten_again(SYSTEM_TABLES, GLOBAL_TABLES):
        yield


def test_a_registered_system_table_shows_its_rows_filtered_and_cut() -> None:
    register_system_table(metadata_table("users", COLUMNS, rows))
    warehouse = memory_warehouse()
    table = warehouse.table("t")
    for identifier, user in enumerate(("a", "a", "b")):
        table.append(keyed([(1, "x", 1)]), commit_user=user, identifier=identifier)
    opened = warehouse.catalog.load_table("db.t$users")
    assert isinstance(opened, SystemTable)
    assert opened.scan(["commit_user"], "snapshots > 1").to_arrow().to_pylist() == [{"commit_user": "a"}]


def test_a_registered_table_of_the_database_sys_is_listed_and_read() -> None:
    register_global_table(GlobalTableKind("widths", columns(table_name=TEXT, columns=LONG), largest))
    warehouse = memory_warehouse()
    warehouse.table("t")
    assert "widths" in warehouse.catalog.list_tables("sys")
    opened = warehouse.catalog.load_table("sys.widths")
    assert opened.scan().to_arrow().to_pylist() == [{"table_name": "db.t", "columns": 3}]


def test_names_that_are_taken_are_refused_and_unknown_ones_answered_with_those_there_are() -> None:
    with pytest.raises(AlreadyExistsError, match="system table 'files' already exists"):
        register_system_table(metadata_table("files", COLUMNS, rows))
    with pytest.raises(AlreadyExistsError, match="table of the database sys 'tables' already exists"):
        register_global_table(GlobalTableKind("tables", columns(table_name=TEXT), largest))
    warehouse = memory_warehouse()
    warehouse.table("t")
    with pytest.raises(UnsupportedFeature, match=r"system table 'db\.t\$users' is not supported.*\$snapshots, "):
        warehouse.catalog.load_table("db.t$users")


@pytest.mark.parametrize("kind", OF_EVERY_TABLE)
def test_a_system_table_takes_no_option_that_it_does_not_read(kind: str) -> None:
    warehouse = memory_warehouse()
    warehouse.table("t", primary_keys=["id"]).append(keyed([(1, "x", 1)]))
    opened = warehouse.catalog.load_table(f"db.t${kind}")
    assert isinstance(opened, SystemTable)
    shows_a_state = kind not in OF_NO_STATE
    for options in ({"scan.snapshot-id": "1"}, {"scan.manifest.parallelism": "2"}):
        if shows_a_state:
            opened.scan(options=options).to_arrow()
            continue
        with pytest.raises(InvalidOption, match=rf"would have no effect on 'db.t\${kind}', which reads no options"):
            opened.scan(options=options)
    with pytest.raises(InvalidOption, match="'consumer-id': would have no effect on a batch read"):
        opened.scan(options={"consumer-id": "c"})
    if kind not in ("ro", "audit_log", "binlog"):
        with pytest.raises(InvalidOption, match=r"'source\.split\.target-size': would have no effect on"):
            opened.scan(options={"source.split.target-size": "1 mb"})


OF_NO_STATE = ("snapshots", "schemas", "options", "tags", "branches", "consumers", "aggregation_fields")

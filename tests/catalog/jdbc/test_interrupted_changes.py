"""A creation, rename or drop that fails or dies at any change of the warehouse loses no rows and can be repaired."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from table_format import Schema, Table
from table_format.catalog.jdbc.catalog import JdbcCatalog
from table_format.errors import NotFoundError, TableFormatError
from tests.simulation.failing_io import Crash, Mode, OneFailure
from tests.simulation.test_every_call import copy_of
from tests.support.jdbc_catalogs import jdbc_catalog, jdbc_warehouse
from tests.support.tables import KEYED, keyed, rows_of

SCHEMA = Schema.from_arrow(KEYED)
ROWS = [(1, "a", 1), (2, "b", 2)]
CHANGES: dict[str, Callable[[JdbcCatalog], object]] = {
    "create": lambda catalog: catalog.create_table("db.new", SCHEMA),
    "rename": lambda catalog: catalog.rename_table("db.t", "db.u"),
    "drop": lambda catalog: catalog.drop_table("db.t"),
}


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("change", CHANGES)
def test_what_a_failure_leaves_has_all_rows_and_makes_place_for_a_new_table(
    tmp_path: Path, change: str, mode: Mode
) -> None:
    start = jdbc_warehouse(tmp_path)
    start.table("t").append(keyed(ROWS))
    kept = tmp_path / "names.kept"
    shutil.copy(tmp_path / "names.db", kept)
    number, is_done = 0, False
    while not is_done:
        shutil.copy(kept, tmp_path / "names.db")
        memory = copy_of(start.io)
        store = OneFailure(memory, number, mode, changes_only=True)
        with suppress(Crash, OSError, TableFormatError):
            CHANGES[change](jdbc_catalog(tmp_path, store))
        is_done = store.calls <= number
        _check(jdbc_catalog(tmp_path, memory), change, f"call {number}")
        number += 1
    assert number > 1


def _check(catalog: JdbcCatalog, change: str, where: str) -> None:
    listed = {name: catalog.table_exists(f"db.{name}") for name in ("t", "u", "new")}
    found = {name: _repaired(catalog, name) for name in listed}
    with_rows = [name for name, table in found.items() if table is not None and rows_of(table) == ROWS]
    assert len(with_rows) == 1 or (change == "drop" and not listed["t"]), where
    assert all(found[name] is not None for name, is_listed in listed.items() if is_listed), where
    for name in listed:
        with suppress(NotFoundError):
            catalog.drop_table(f"db.{name}")
        assert rows_of(catalog.create_table(f"db.{name}", SCHEMA)) == [], where


def _repaired(catalog: JdbcCatalog, name: str) -> Table | None:
    with suppress(NotFoundError):
        return catalog.repair_table(f"db.{name}")
    return None

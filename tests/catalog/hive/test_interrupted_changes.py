"""A creation, rename or drop that fails or dies at any change of the warehouse loses no rows and can be repaired."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from table_format import Schema, Table
from table_format.catalog.hive.catalog import HiveCatalog
from table_format.catalog.hive.metastore import Metastore
from table_format.errors import MetastoreUnavailable, NotFoundError, TableFormatError
from table_format.io.memory import MemoryFileIO
from tests.simulation.failing_io import Crash, Mode, OneFailure
from tests.simulation.test_every_call import copy_of
from tests.support.hive_metastore import HiveMetastore, empty, hive_catalog
from tests.support.tables import KEYED, keyed, rows_of

SCHEMA = Schema.from_arrow(KEYED)
ROWS = [(1, "a", 1), (2, "b", 2)]
CHANGES: dict[str, Callable[[HiveCatalog], object]] = {
    "create": lambda catalog: catalog.create_table("db.new", SCHEMA),
    "rename": lambda catalog: catalog.rename_table("db.t", "db.u"),
    "drop": lambda catalog: catalog.drop_table("db.t"),
}


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("change", CHANGES)
def test_what_a_failure_leaves_has_all_rows_and_makes_place_for_a_new_table(
    metastore: HiveMetastore, tmp_path: Path, change: str, mode: Mode
) -> None:
    start = MemoryFileIO()
    first = hive_catalog(metastore, tmp_path, start)
    first.create_database("db")
    first.create_table("db.t", SCHEMA).append(keyed(ROWS))
    number, is_done = 0, False
    while not is_done:
        empty(metastore)
        memory = copy_of(start)
        hive_catalog(metastore, tmp_path, memory).repair_table("db.t")
        store = OneFailure(memory, number, mode, changes_only=True)
        with suppress(Crash, OSError, TableFormatError):
            CHANGES[change](hive_catalog(metastore, tmp_path, store))
        is_done = store.calls <= number
        _check(hive_catalog(metastore, tmp_path, memory), change, f"call {number}")
        number += 1
    empty(metastore)
    assert number > 1


@pytest.mark.parametrize("takes_effect", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_metastore_without_an_answer_is_looked_up(
    metastore: HiveMetastore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, takes_effect: bool
) -> None:
    catalog = hive_catalog(metastore, tmp_path, MemoryFileIO())
    catalog.create_database("db")
    catalog.create_table("db.t", SCHEMA).append(keyed(ROWS))
    send = Metastore.change

    def lose_the_answer(self: Metastore, method: str, *arguments: object) -> None:
        if takes_effect:
            send(self, method, *arguments)
        message = f"'{method}' got no answer"
        raise MetastoreUnavailable(message)

    with monkeypatch.context() as patched:
        patched.setattr(Metastore, "change", lose_the_answer)
        if takes_effect:
            CHANGES[change](catalog)
        else:
            with pytest.raises(MetastoreUnavailable, match="got no answer"):
                CHANGES[change](catalog)
    tables = {"create": ("new", "t"), "rename": ("u",), "drop": ()}[change] if takes_effect else ("t",)
    assert catalog.list_tables("db") == tables
    for name in {"t", "u"} & {*tables}:
        assert rows_of(catalog.load_table(f"db.{name}")) == ROWS
    _check(catalog, change, change)
    empty(metastore)


def _check(catalog: HiveCatalog, change: str, where: str) -> None:
    listed = {name: catalog.table_exists(f"db.{name}") for name in ("t", "u", "new")}
    found = {name: _repaired(catalog, name) for name in listed}
    with_rows = [name for name, table in found.items() if table is not None and rows_of(table) == ROWS]
    assert len(with_rows) == 1 or (change == "drop" and not listed["t"]), where
    assert all(found[name] is not None for name, is_listed in listed.items() if is_listed), where
    for name in listed:
        with suppress(NotFoundError):
            catalog.drop_table(f"db.{name}")
        assert rows_of(catalog.create_table(f"db.{name}", SCHEMA)) == [], where


def _repaired(catalog: HiveCatalog, name: str) -> Table | None:
    with suppress(NotFoundError):
        return catalog.repair_table(f"db.{name}")
    return None

"""A creation, rename or drop that fails or dies at any change of the warehouse loses no rows and can be repaired."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from table_format.catalog.hive.metastore import Metastore
from table_format.errors import MetastoreUnavailable, TableFormatError
from table_format.io.memory import MemoryFileIO
from tests.catalog.interrupted_changes import CHANGES, ROWS, SCHEMA, check_what_is_left
from tests.simulation.failing_io import Crash, Mode, OneFailure
from tests.simulation.test_every_call import copy_of
from tests.support.hive_metastore import HiveMetastore, empty, hive_catalog
from tests.support.tables import keyed, rows_of


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
        check_what_is_left(hive_catalog(metastore, tmp_path, memory), change, f"call {number}")
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
    check_what_is_left(catalog, change, change)
    empty(metastore)

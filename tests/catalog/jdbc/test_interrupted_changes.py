"""A creation, rename or drop that fails or dies at any change of the warehouse loses no rows and can be repaired."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from table_format.errors import TableFormatError
from tests.catalog.interrupted_changes import CHANGES, ROWS, check_what_is_left
from tests.simulation.failing_io import Crash, Mode, OneFailure
from tests.simulation.test_every_call import copy_of
from tests.support.jdbc_catalogs import jdbc_catalog, jdbc_warehouse
from tests.support.tables import keyed


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
        check_what_is_left(jdbc_catalog(tmp_path, memory), change, f"call {number}")
        number += 1
    assert number > 1

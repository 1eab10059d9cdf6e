from __future__ import annotations

import pytest

from table_format.metastore.snapshot.hints import Hints
from tests.support.metastore_table import a_table


def hints_of(table) -> Hints:
    return table.snapshots.hints


@pytest.mark.parametrize("content", [b"", b"x", b"-1", b"9" * 40, b"\xff"])
def test_a_hint_without_a_number_that_can_be_an_id_gives_none(content):
    table = a_table()
    table.store.io.overwrite(table.store.paths.latest_hint, content)
    assert hints_of(table).latest() is None


def test_a_hint_that_exists_is_not_created_again():
    hints = hints_of(a_table())
    hints.write_earliest(7)
    hints.create_earliest(1)
    assert hints.earliest() == 7


def test_a_latest_id_that_is_not_known_is_written_as_the_reference_writes_it():
    table = a_table()
    hints_of(table).write_latest_unknown()
    assert table.store.io.read(table.store.paths.latest_hint) == b"-1"
    assert hints_of(table).latest() is None


def test_without_hints_there_is_nothing_to_delete():
    hints = hints_of(a_table())
    hints.write_latest(3)
    hints.delete()
    hints.delete()
    assert (hints.latest(), hints.earliest()) == (None, None)

"""A few of the drawn tables in each run of the tests; ``make options`` tries many, with the real Paimon."""

from __future__ import annotations

from pathlib import Path

import pytest

from table_format.options.declare import Option
from tests.options.accepted_tables import search, try_table
from tests.options.drawn_tables import DRAWABLE, texts_of

COLUMNS = ("k", "pt", "c0")


def test_what_create_accepts_is_written_read_compacted_and_expired(tmp_path: Path) -> None:
    outcome = search(1, range(1_000, 1_012), None, tmp_path)
    assert not outcome.failures
    assert sum(len(table.schema.options) for table in outcome.tables) > 24


@pytest.mark.parametrize("option", DRAWABLE, ids=lambda option: option.key)
def test_each_option_gives_texts_that_it_takes(option: Option[object]) -> None:
    """Most texts are legal by themselves; what they need of a table is another question."""
    taken = []
    for text in texts_of(option, COLUMNS):
        try:
            option.parser(text)
        except ValueError:
            continue
        taken.append(text)
    assert taken
    assert not set(option.parser.edges) - set(taken)


def test_a_table_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        message = "no room"
        raise OSError(message)

    monkeypatch.setattr("table_format.table.table.Table.append", refuse)
    drawn, failures = try_table(tmp_path, 1, 1_000, None)
    assert failures == [f"{drawn}\n    write: OSError: no room"]

"""The metadata of an asset is checked before its table is created or written."""

from __future__ import annotations

from typing import Any

import pytest

from dagster_paimon.io.io_manager import time_travel
from dagster_paimon.io.writing import WriteMode, WriteSpec
from dagster_paimon.tables.measure import partition_key
from table_format.errors import InvalidInputError
from table_format.model.types import DataField, DateType
from tests.support.odd_arguments import ODD

KEYS = ("write_mode", "primary_key", "options", "comment", "comments", "partition_scope")


@pytest.mark.parametrize("key", KEYS)
def test_invalid_metadata_is_refused_by_its_key_or_converted_to_text(key: str):
    refusals = []
    for value in ODD:
        try:
            _check_texts(WriteSpec.of("db.t", {f"paimon/{key}": value}, WriteMode.append))
        except InvalidInputError as error:
            refusals.append(str(error))
    assert refusals
    assert all(f"paimon/{key}" in refusal for refusal in refusals)


def _check_texts(spec: WriteSpec) -> None:
    texts: list[Any] = [*spec.primary_key, *spec.options, *spec.options.values(), *spec.comments.values()]
    assert all(isinstance(text, str) for text in texts)
    assert spec.comment is None or isinstance(spec.comment, str)


def test_a_state_to_read_must_be_a_text():
    for value in (5, 1.5, [], {"snapshot": 3}, "snapshot", "\ud800"):
        if value:
            with pytest.raises(InvalidInputError):
                time_travel(value, None)  # type: ignore[arg-type]


def test_a_day_outside_of_pythons_calendar_is_shown_as_its_number():
    day = DataField(0, "day", DateType())
    assert partition_key(day, 19_723) == "2024-01-01"
    assert partition_key(day, 2**31 - 1) == str(2**31 - 1)
    assert partition_key(day, -(2**31)) == str(-(2**31))

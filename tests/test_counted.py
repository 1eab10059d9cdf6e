"""Counts with their nouns, and lists of names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_format.counted import counted, listed
from table_format.model.column_names import no_such_column


@given(st.integers(min_value=0))
def test_only_one_is_singular(count: int) -> None:
    assert counted(count, "row") == (f"{count} row" if count == 1 else f"{count} rows")


def test_an_irregular_plural_is_given() -> None:
    assert [counted(count, "entry", "entries") for count in (0, 1, 2)] == ["0 entries", "1 entry", "2 entries"]


@given(st.integers(min_value=0))
def test_separators_do_not_change_the_number(count: int) -> None:
    shown, noun = counted(count, "row", thousands=True).split(" ")
    assert int(shown.replace(",", "")) == count
    assert all(len(group) == 3 for group in shown.split(",")[1:])
    assert noun == ("row" if count == 1 else "rows")


@pytest.mark.parametrize(("thousands", "text"), [(False, "1200 rows"), (True, "1,200 rows")])
def test_separators_are_chosen_by_the_caller(thousands: bool, text: str) -> None:
    assert counted(1200, "row", thousands=thousands) == text


@given(st.integers(min_value=0, max_value=200))
def test_a_list_in_a_message_is_bounded_and_counts_the_rest(count: int) -> None:
    shown = listed(f"c{number}" for number in range(count))
    names, _, more = shown.partition(" and ")
    listed_names = names.split(", ") if names else []
    assert listed_names == [f"c{number}" for number in range(min(count, 50))]
    assert more == (f"{count - 50} more" if count > 50 else "")


def test_an_error_about_a_column_of_a_wide_table_is_short() -> None:
    assert len(str(no_such_column("c20O0", [f"c{number}" for number in range(2_000)]))) < 500

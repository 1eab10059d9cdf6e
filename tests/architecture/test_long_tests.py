"""The list of the long tests is true, and their shares leave none out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support.long_tests import LONG, TESTS, chosen, is_long


class Item:
    """A test of a file, which may have the mark itself."""

    def __init__(self, path: str, *, marked: bool = False) -> None:
        self.path: Path = TESTS / path
        self.marked = marked

    def get_closest_marker(self, name: str) -> object:
        return name if self.marked else None


ITEMS = [
    *(Item(f"{name.removesuffix('.py')}/test_{n}.py" if "." not in name else name) for name in LONG for n in range(2)),
    *(Item(f"lsm/test_{n}.py") for n in range(30)),
    *(Item("io/test_stores.py", marked=marked) for marked in (False, True)),
]


def test_each_name_in_the_list_exists_and_is_there_once():
    assert [name for name in LONG if not (TESTS / name).exists()] == []
    assert [name for name, count in Counter(LONG).items() if count > 1] == []


def test_each_share_takes_all_quick_tests_and_all_shares_take_each_long_test_once():
    taken = Counter(item for share in range(1, 11) for item in chosen(ITEMS, f"{share}/10"))
    assert taken == {item: 1 if is_long(item) else 10 for item in ITEMS}


def test_further_shares_take_the_long_tests_that_the_first_share_leaves_out():
    assert Counter(chosen(ITEMS, "8/10") + chosen(ITEMS, "9-13/10") + chosen(ITEMS, "4-7/10")) == Counter(ITEMS)


def test_no_share_has_the_longest_files_of_all_rounds():
    files = [Item(f"simulation/test_{n:03}.py") for n in range(40)]
    places = [[files.index(item) for item in chosen(files, f"{share}/10")] for share in range(1, 11)]
    assert {sum(share) for share in places} == {sum(range(40)) / 10}


def test_no_and_only_take_what_the_other_leaves_out():
    assert Counter(chosen(ITEMS, "no") + chosen(ITEMS, "only")) == Counter(ITEMS) == Counter(chosen(ITEMS, "yes"))
    assert not any(is_long(item) for item in chosen(ITEMS, "no"))


@pytest.mark.parametrize(
    "which", ["0/10", "11/10", "1", "1/", "/2", "all", "-1/2", "3-2/10", "3-13/10", "0-2/10", "3-/10"]
)
def test_another_choice_is_a_usage_error(which):
    with pytest.raises(pytest.UsageError, match=r"it is no, yes, only, K/N or K-L/N"):
        chosen(ITEMS, which)

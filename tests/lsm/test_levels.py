"""Levels: one run for each level-0 file, one for each higher level."""

from __future__ import annotations

import pytest

from table_format.errors import CorruptionError
from table_format.lsm.levels import levels_of, replace_files
from tests.lsm.files import a_file, key_range_of_test_files, names

KEY_RANGE = key_range_of_test_files()


def test_level_0_files_are_runs_of_their_own_newest_first():
    files = [
        a_file("old", sequence=(0, 4)),
        a_file("new", sequence=(5, 9)),
        a_file("late", sequence=(3, 9), created=2),
        a_file("early", sequence=(3, 9), created=1),
        a_file("also-early", sequence=(3, 9), created=1),
    ]
    levels = levels_of(files, 6, KEY_RANGE)
    assert names(levels.level0) == ["also-early", "early", "late", "new", "old"]
    assert [run.level for run in levels.runs] == [0] * 5


def test_a_higher_level_is_one_run_sorted_by_key():
    files = [a_file("b", level=5, keys=(5, 9)), a_file("a", level=5, keys=(0, 4)), a_file("c", level=2)]
    levels = levels_of(files, 6, KEY_RANGE)
    assert [(run.level, names(run.files)) for run in levels.runs] == [(2, ["c"]), (5, ["a", "b"])]
    assert levels.highest_non_empty == 5
    assert levels.max_level == 5


def test_files_above_the_configured_levels_raise_the_number_of_levels():
    levels = levels_of([a_file("a", level=7)], 6, KEY_RANGE)
    assert levels.number_of_levels == 8
    assert levels_of([], 6, KEY_RANGE).number_of_levels == 6


@pytest.mark.parametrize(("files", "highest"), [([], -1), ([a_file("a")], 0), ([a_file("a", level=3)], 3)])
def test_the_highest_non_empty_level(files, highest):
    assert levels_of(files, 6, KEY_RANGE).highest_non_empty == highest


def test_overlapping_files_on_a_higher_level_are_corruption():
    files = [a_file("a", level=1, keys=(0, 5)), a_file("b", level=1, keys=(5, 9))]
    with pytest.raises(CorruptionError, match="overlaps that of a on level 1"):
        levels_of(files, 6, KEY_RANGE)


def test_replacing_files_keeps_a_file_that_only_changed_its_level():
    file = a_file("a")
    levels = levels_of([file, a_file("b", sequence=(1, 1))], 6, KEY_RANGE)
    changed = replace_files(levels, [file], [file.upgrade(5)], KEY_RANGE)
    assert names(changed.level0) == ["b"]
    assert [(run.level, names(run.files)) for run in changed.higher] == [(5, ["a"])]

"""Sections have disjoint keys, and no more runs than overlaps."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from table_format.lsm.intervals import partition_into_sections
from tests.lsm.files import a_file, key_range_of_test_files, names

KEY_RANGE = key_range_of_test_files()


def sections(*ranges: tuple[int, int]) -> list[list[list[str]]]:
    files = [a_file(f"{i}", keys=keys) for i, keys in enumerate(ranges)]
    return [[names(run) for run in section] for section in partition_into_sections(files, KEY_RANGE)]


def test_no_files_make_no_section():
    assert sections() == []


def test_disjoint_files_are_sections_of_their_own_in_key_order():
    assert sections((5, 9), (0, 4)) == [[["1"]], [["0"]]]


def test_files_that_share_one_key_are_one_section_of_two_runs():
    assert sections((0, 4), (4, 9)) == [[["0"], ["1"]]]


def test_a_file_joins_the_run_that_ends_first():
    assert sections((0, 100), (0, 10), (11, 20), (15, 30), (31, 40)) == [[["1", "2", "4"], ["0"], ["3"]]]


def test_a_wide_file_holds_a_section_together():
    assert sections((0, 100), (1, 2), (50, 60), (101, 102)) == [[["0"], ["1", "2"]], [["3"]]]


@settings(derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 6)).map(lambda p: (p[0], p[0] + p[1])), max_size=15))
def test_sections_are_disjoint_and_runs_are_sorted_and_as_few_as_the_deepest_overlap(ranges):
    files = [a_file(f"{i}", keys=keys) for i, keys in enumerate(ranges)]
    result = partition_into_sections(files, KEY_RANGE)
    assert sorted(names(f for s in result for run in s for f in run)) == sorted(names(files))
    bounds = []
    for section in result:
        members = [KEY_RANGE(f) for run in section for f in run]
        bounds.append((min(m[0] for m in members), max(m[1] for m in members)))
        for run in section:
            keys = [KEY_RANGE(f) for f in run]
            assert all(left[1] < right[0] for left, right in pairwise(keys))
        depth = max(sum(first <= point <= last for first, last in members) for point, _ in members)
        assert len(section) == depth
    assert all(left[1] < right[0] for left, right in pairwise(bounds))

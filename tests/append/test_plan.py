"""Which small files are put together; the rules of AppendCompactCoordinator and BucketedAppendCompactManager."""

from __future__ import annotations

import pytest

from table_format.append.plan import DeletedRows, SmallFileRules, pick_in_bucket, pick_unordered
from table_format.model.data_file import EMPTY_ROW, EMPTY_STATS, DataFileMeta

RULES = SmallFileRules(target_file_size=100, small_file_size=70, min_file_num=3, open_file_cost=10)


def files_of(*sizes: int, rows: int = 10) -> list[DataFileMeta]:
    """Files in order of sequence, each named by its position."""
    return [
        DataFileMeta(
            file_name=str(i),
            file_size=size,
            row_count=rows,
            min_key=EMPTY_ROW,
            max_key=EMPTY_ROW,
            key_stats=EMPTY_STATS,
            value_stats=EMPTY_STATS,
            min_sequence_number=i * rows,
            max_sequence_number=i * rows + rows - 1,
            schema_id=0,
            level=0,
        )
        for i, size in enumerate(sizes)
    ]


def names(groups) -> list[str]:
    return [" ".join(file.file_name for file in group) for group in groups]


@pytest.mark.parametrize(
    ("sizes", "full", "groups"),
    [
        ([], False, []),
        ([10, 10], False, []),
        ([10, 10], True, ["0 1"]),
        ([10], True, []),
        ([10, 10, 10], False, ["0 1 2"]),
        ([10, 70, 10, 500, 10], False, ["0 2 4"]),
        ([60, 60, 60, 60, 10], False, ["0 1 2"]),
        ([60, 60, 60, 60, 10], True, ["0 1 2", "3 4"]),
    ],
)
def test_small_files_without_buckets_are_packed_to_twice_the_target_size(sizes, full, groups):
    assert names(pick_unordered(files_of(*sizes), RULES, full=full)) == groups


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        ([], []),
        ([10, 10], []),
        ([10, 10, 10], ["0 1 2"]),
        ([10] * 7, ["0 1 2", "3 4 5"]),
        ([150, 60, 10, 10], ["1 2 3"]),
        ([500, 10, 500, 10, 10, 10], ["3 4 5"]),
        ([90, 90, 10], ["0 1 2"]),
    ],
)
def test_a_bucket_is_compacted_by_windows_of_neighbours(sizes, groups):
    assert names(pick_in_bucket(files_of(*sizes), RULES, full=False)) == groups


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        ([10, 10], []),
        ([10, 10, 10], ["0 1 2"]),
        ([80, 90, 10, 10, 10], ["2 3 4"]),
        ([10, 80, 10, 10], ["0 1 2 3"]),
        ([10, 80, 80, 10], []),
        ([80, 80, 80], []),
    ],
)
def test_a_full_compaction_of_a_bucket_takes_all_behind_the_large_files_if_most_are_small(sizes, groups):
    assert names(pick_in_bucket(files_of(*sizes), RULES, full=True)) == groups


def test_files_of_a_bucket_are_taken_in_the_order_of_their_rows():
    assert names(pick_in_bucket(files_of(10, 10, 10)[::-1], RULES, full=True)) == ["0 1 2"]


def marks_of(**counts: tuple[int | None, str]) -> dict[str, DeletedRows]:
    """Deleted rows of the files ``_0``, ``_1``, ...: how many, and in which index file."""
    return {name.removeprefix("_"): DeletedRows(*mark) for name, mark in counts.items()}


@pytest.mark.parametrize(
    ("sizes", "deleted_rows", "full", "groups"),
    [
        # of 10 rows, more than 2 have to be deleted before a large file is taken
        ([90, 90], marks_of(_0=(2, "x")), False, []),
        ([90, 90], marks_of(_0=(3, "x")), False, ["0"]),
        ([90, 90], marks_of(_0=(None, "x")), False, ["0"]),
        ([90, 90], marks_of(_0=(1, "x")), True, ["0"]),
        ([90, 10, 90, 90, 10], marks_of(_0=(1, "x"), _3=(1, "y")), True, ["0 3", "1 4"]),
        ([90, 10, 90, 10], marks_of(_0=(1, "x")), True, ["0 1 3"]),
        # a small file with deleted rows is never too few
        ([10, 10], marks_of(_1=(1, "x")), False, ["1"]),
        ([10, 10, 10, 10], marks_of(_1=(1, "x")), False, ["1", "0 2 3"]),
        # files of one index file stay together, though less would be enough
        ([60, 60, 60, 60], marks_of(_0=(1, "x"), _3=(1, "x"), _1=(1, "x"), _2=(1, "y")), False, ["0 1 2 3"]),
        ([60, 60, 60, 90], marks_of(_0=(1, "x"), _1=(1, "x"), _2=(1, "x"), _3=(9, "y")), False, ["0 1 2 3"]),
        ([150, 60, 60, 60], marks_of(_0=(9, "x"), _1=(1, "x"), _2=(1, "x"), _3=(1, "y")), False, ["0 1 2 3"]),
        ([60, 60, 60, 5], marks_of(_0=(1, "x"), _1=(1, "x"), _2=(1, "x"), _3=(1, "y")), False, ["0 1 2 3"]),
        ([60, 60, 99, 98], marks_of(_0=(1, "x"), _1=(1, "x"), _2=(9, "z"), _3=(9, "y")), False, ["2 3", "0 1"]),
    ],
)
def test_files_with_deleted_rows_are_packed_by_index_file(sizes, deleted_rows, full, groups):
    assert names(pick_unordered(files_of(*sizes), RULES, deleted_rows, full=full)) == groups


@pytest.mark.parametrize(
    ("sizes", "deleted_rows", "full", "groups"),
    [
        ([90, 90], marks_of(_1=(3, "x")), False, ["1"]),
        ([90, 90], marks_of(_1=(2, "x")), False, []),
        ([10, 10, 10, 90], marks_of(_1=(9, "x"), _3=(9, "x")), False, ["0 1 2", "3"]),
        ([80, 90, 10, 10], marks_of(_1=(1, "x")), True, ["1 2 3"]),
        ([10, 80, 80], marks_of(_1=(1, "x")), True, ["0 1 2"]),
        ([80, 80], marks_of(_1=(1, "x")), True, ["1"]),
    ],
)
def test_a_bucket_gets_rid_of_deleted_rows_without_leaving_the_order(sizes, deleted_rows, full, groups):
    assert names(pick_in_bucket(files_of(*sizes), RULES, deleted_rows, full=full)) == groups

from __future__ import annotations

from dataclasses import replace

from table_format.model.split import DataSplit
from table_format.options.scan import ScanOptions
from table_format.spark.tasks.split_groups import grouped_splits
from tests.support.metastore_table import a_table

MIB = 1 << 20
FILE = a_table().file()
OPTIONS = ScanOptions(split_target_size=128 * MIB, split_open_file_cost=4 * MIB)


def splits(*sizes: int) -> list[DataSplit]:
    return [
        DataSplit(
            snapshot_id=1,
            partition=b"",
            bucket=number,
            total_buckets=9,
            files=(replace(FILE, file_size=size),),
            raw_convertible=True,
        )
        for number, size in enumerate(sizes)
    ]


def counts(*sizes: int, parallelism: int) -> list[int]:
    groups = grouped_splits(splits(*sizes), OPTIONS, parallelism=parallelism)
    assert [split for group in groups for split in group] == splits(*sizes)
    return [len(group) for group in groups]


def test_small_splits_are_read_by_as_many_tasks_as_run_in_parallel():
    assert counts(*[1000] * 100, parallelism=4) == [25] * 4


def test_a_group_does_not_exceed_the_split_size():
    assert counts(*[60 * MIB] * 5, parallelism=1) == [2, 2, 1]


def test_each_of_a_few_splits_has_its_own_task():
    assert counts(1000, 1000, parallelism=8) == [1, 1]


def test_no_splits_make_no_groups():
    assert counts(parallelism=8) == []

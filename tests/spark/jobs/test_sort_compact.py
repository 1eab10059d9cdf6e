"""Sort compaction as a Spark job: ranges of the key in tasks, metadata to the driver, one commit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from table_format import Table
from table_format.errors import BucketLost, FileConflict, InvalidInputError, MissingFile
from table_format.kernels.hashing import row_hashes
from table_format.kernels.sort_keys import SortKey
from table_format.model.commit import CommitMessage
from table_format.model.snapshot import CommitKind
from table_format.model.types import BigIntType
from table_format.spark.jobs.sort_buckets import bucket_writer
from table_format.spark.jobs.sort_compact import sort_performer
from table_format.spark.tasks.task_results import gather
from table_format.spark.write.ranges import error_row
from table_format.table.upkeep.bucket_compaction import BucketCompaction
from table_format.table.upkeep.sort_compact import sort_compact
from tests.spark.lakes import TestLake, jobs_of
from tests.support.deletion_marks import live
from tests.support.dynamic_buckets import assert_sound, index_of
from tests.support.reachable import check_files
from tests.support.tables import memory_warehouse

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

SCHEMA = pa.schema(
    [
        pa.field("dt", pa.string(), nullable=False),
        ("c", pa.int64()),
        ("s", pa.string()),
        ("at", pa.timestamp("ns")),
        ("time", pa.time32("ms")),
    ]
)


def rows(count: int, seed: int) -> pa.Table:
    """Return random rows with nulls, and with values that Spark's types lack: nanoseconds and times of day."""
    chance = np.random.default_rng(seed)
    numbers = [None if n % 50 == 0 else int(n) for n in chance.integers(-5000, 5000, count)]
    columns = [
        pa.array(["ab"[n % 2] for n in range(count)]),
        pa.array(numbers, pa.int64()),
        pa.array([None if n % 40 == 1 else f"user-{n:05}" for n in chance.integers(0, 10_000, count)]),
        pa.array(chance.integers(0, 10**18, count), pa.timestamp("ns")),
        pa.array(chance.integers(0, 86_400_000, count).astype(np.int32), pa.time32("ms")),
    ]
    return pa.table(columns, schema=SCHEMA)


def created(lake: TestLake, **options: str) -> Table:
    return lake.create(schema=SCHEMA, primary_keys=(), partition_keys=("dt",), target_file_size="16 kb", **options)


def content(table: Table) -> list[str]:
    return sorted(map(repr, table.scan().to_arrow().to_pylist()))


@pytest.mark.parametrize("strategy", ["order", "zorder"])
def test_each_task_writes_a_range_and_no_row_changes(lake: TestLake, strategy: str) -> None:
    table = created(lake, **{"deletion-vectors.enabled": "true"})
    for seed in range(2):
        table.append(rows(4000, seed))
    table.delete("c > 4500")
    before = content(table)
    (snapshot,) = lake.lake.compact("s.t", order_by=["c", "s"], order_strategy=strategy)
    assert snapshot.commit_kind is CommitKind.COMPACT
    assert (snapshot.total_record_count, snapshot.index_manifest) == (len(before), None)
    assert content(table) == before
    files = [entry.file for entry in live(table)]
    assert len(files) > 6
    plan = table.scan(filter="dt = 'a' AND c < -4500").plan()
    read = sum(len(split.files) for split in plan.splits)
    assert read < len(files) / 3
    if strategy == "order":
        found = table.scan(columns=["c"], filter="dt = 'a'").to_arrow().column("c").to_pylist()
        shown = [-(10**9) if n is None else n for n in found]
        assert all(left <= right for left, right in pairwise(shown)), "files are numbered in order"


def test_a_failed_task_leaves_no_file(lake: TestLake) -> None:
    table = created(lake)
    table.append(rows(100, 1))
    lost = live(table)[0]
    text = table.facts.partitions.text(lost.partition)
    table.store.io.delete(table.store.paths.data_file(text, lost.bucket, lost.file))
    files = lake.files()
    with pytest.raises(MissingFile):
        lake.lake.compact("s.t", order_by=["c"])
    assert lake.files() == files


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"order_by": ["dt"]}, InvalidInputError),
        ({"order_strategy": "zorder"}, InvalidInputError),
        ({"order_by": ["c"], "order_strategy": "hilbert"}, InvalidInputError),
    ],
)
def test_columns_that_cannot_be_sorted_are_refused(
    lake: TestLake, arguments: dict[str, Any], error: type[Exception]
) -> None:
    created(lake)
    with pytest.raises(error):
        lake.lake.compact("s.t", **arguments)


# --- dynamic buckets --------------------------------------------------------------------------------------------------

KEYED = pa.schema(
    [
        pa.field("dt", pa.string(), nullable=False),
        pa.field("id", pa.int64(), nullable=False),
        ("c", pa.int64()),
        ("s", pa.string()),
        ("at", pa.timestamp("ns")),
        ("time", pa.time32("ms")),
    ]
)


def colliding_keys(count: int) -> list[int]:
    """Return keys, with pairs of equal hashes."""
    hashes = row_hashes([BigIntType()], [pa.array(np.arange(300_000))])
    order = np.argsort(hashes, kind="stable")
    same = np.flatnonzero(np.diff(hashes[order]) == 0)
    return [int(order[at + step]) for at in same[:count] for step in (0, 1)]


def keyed_rows(ids: Sequence[int], seed: int) -> pa.Table:
    """Return rows with distinct ``c``."""
    found = rows(len(ids), seed)
    different = np.random.default_rng(seed).permutation(len(ids)) - 100
    found = found.set_column(1, "c", pa.array(different, pa.int64()))
    return found.add_column(1, KEYED.field("id"), pa.array(ids, pa.int64())).cast(KEYED)


def keyed_table(lake: TestLake, name: str, ids: Sequence[int], **options: str) -> Table:
    """Create two partitions with dynamic buckets and some deleted rows."""
    table = lake.create(
        name,
        schema=KEYED,
        primary_keys=("dt", "id"),
        partition_keys=("dt",),
        bucket="-1",
        **{"dynamic-bucket.target-row-num": "100", **options},
    )
    table.append(keyed_rows(ids, 1))
    table.delete("c > 950")
    return table


def files_of_partition(table: Table, value: str) -> set[str]:
    shown = table.facts.partitions.text
    return {entry.file.file_name for entry in live(table) if shown(entry.partition) == f"dt={value}"}


def by_bucket(table: Table) -> dict[tuple[bytes, int], list[str]]:
    scan = table.scan()
    found: dict[tuple[bytes, int], list[str]] = {}
    for split in scan.plan():
        read = [repr(row) for batch in scan.read(split) for row in batch.to_pylist()]
        found.setdefault((split.partition, split.bucket), []).extend(read)
    return found


@pytest.mark.parametrize("options", [{"deletion-vectors.enabled": "true"}, {"dynamic-bucket.max-buckets": "3"}])
def test_dynamic_buckets_equal_those_of_a_single_process(lake: TestLake, options: dict[str, str]) -> None:
    ids = [*colliding_keys(4), *range(1_000_000, 1_001_200)]
    tables = [keyed_table(lake, name, ids, **options) for name in ("here", "there")]
    before = content(tables[0])
    here = tables[0].compact(order_by=["c"])
    there = lake.lake.compact("s.there", order_by=["c"])
    assert [s.commit_kind for s in there] == [s.commit_kind for s in here]
    assert there[-1].total_record_count == here[-1].total_record_count
    found = [by_bucket(table) for table in tables]
    assert found[0] == found[1]
    assert sum(map(len, found[1].values())) == len(before)
    assert content(tables[1]) == before
    for table in tables:
        assert_sound(table, exact=True)
    partitions = {partition for partition, _ in found[0]}
    assert [index_of(tables[0], p) for p in partitions] == [index_of(tables[1], p) for p in partitions]
    check_files(tables[1])
    # The table can still be written.
    tables[1].append(keyed_rows([*ids[:50], 7], 3))
    assert_sound(tables[1])


def test_dynamic_buckets_sorted_on_a_curve_allow_skipping_and_rows_stay_in_tasks(lake: TestLake) -> None:
    table = keyed_table(lake, "t", range(1200))
    before = content(table)
    jobs = jobs_of(lake.spark, lambda: lake.lake.compact("s.t", order_by=["c", "s"], order_strategy="hilbert"))
    # The last job sends rows to the tasks of their ranges, and from there to a task for each new bucket.
    assert len(jobs[-1]) == 3
    assert jobs[-1][-1] == len({(entry.partition, entry.bucket) for entry in live(table)})
    assert content(table) == before
    assert_sound(table, exact=True)
    there = len(live(table))
    for where in ("c < 0", "s < 'user-01000'"):
        assert sum(len(split.files) for split in table.scan(filter=where).plan().splits) <= there / 2


def test_one_partition_of_dynamic_buckets_is_sorted_and_the_other_is_unchanged(lake: TestLake) -> None:
    table = keyed_table(lake, "t", range(600))
    table.compact(full=True)
    before, files = content(table), files_of_partition(table, "b")
    lake.lake.compact("s.t", order_by=["c"], partitions=[{"dt": "a"}])
    assert content(table) == before
    assert_sound(table)
    assert files_of_partition(table, "b") == files


def test_a_failed_task_of_dynamic_buckets_leaves_no_file(lake: TestLake) -> None:
    table = keyed_table(lake, "t", range(600))
    table.compact(full=True)
    lost = live(table)[0]
    text = table.facts.partitions.text(lost.partition)
    table.store.io.delete(table.store.paths.data_file(text, lost.bucket, lost.file))
    files = lake.files()
    with pytest.raises(MissingFile):
        lake.lake.compact("s.t", order_by=["c"])
    assert lake.files() == files


def test_a_partition_that_another_commit_changed_is_skipped_and_the_others_are_sorted(lake: TestLake) -> None:
    table = created(lake)
    for seed in range(2):
        table.append(rows(400, seed))
    before = content(table)

    def after_another(compactions: Sequence[BucketCompaction], key: SortKey) -> Iterator[CommitMessage | BucketLost]:
        table.compact(full=True, partitions=[{"dt": "b"}])
        table.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=1 << 60, retain_floor_ms=0)
        return sort_performer(lake.spark, table)(compactions, key)

    (snapshot,) = sort_compact(table.facts, "late", ["c"], perform=after_another)
    changed = {entry.partition for entry in table.facts.manifests.delta_entries(snapshot)}
    assert [table.facts.partitions.text(partition) for partition in changed] == ["dt=a"]
    assert content(table) == before
    check_files(table)


def test_the_error_of_another_task_is_raised_even_without_a_bucket() -> None:
    write = bucket_writer(memory_warehouse().table().facts, [])
    [answer] = write(iter([error_row(FileConflict("others were faster"))]))
    failure = gather(SimpleNamespace(**row) for row in answer.to_pylist()).failure
    assert isinstance(failure, FileConflict)
    assert str(failure) == "others were faster"

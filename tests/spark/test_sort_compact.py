"""Sort compaction as a Spark job: ranges of the key in tasks, metadata to the driver, one commit."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from table_format import Table
from table_format.errors import InvalidInputError, MissingFile, UnsupportedFeature
from table_format.model.snapshot import CommitKind
from tests.spark.lakes import TestLake
from tests.support.deletion_marks import live

pytestmark = pytest.mark.spark

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
    """Random rows with nulls, and with what Spark's own types cannot hold: nanoseconds and times of day."""
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
def test_each_task_writes_a_range_and_no_row_is_changed(lake: TestLake, strategy: str) -> None:
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


def test_a_task_that_fails_leaves_no_file_behind(lake: TestLake) -> None:
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
def test_what_cannot_be_ordered_is_refused(lake: TestLake, arguments: dict[str, Any], error: type[Exception]) -> None:
    created(lake)
    with pytest.raises(error):
        lake.lake.compact("s.t", **arguments)


def test_dynamic_buckets_are_refused_by_name(lake: TestLake) -> None:
    lake.create(bucket="-1")
    with pytest.raises(UnsupportedFeature, match="dynamic buckets as a Spark job"):
        lake.lake.compact("s.t", order_by=["v"])

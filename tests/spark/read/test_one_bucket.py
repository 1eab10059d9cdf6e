"""A condition on the key reads only the bucket of the key, wherever the condition is added."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from table_format.table.table import Table
from tests.spark.lakes import TestLake

pytestmark = pytest.mark.spark

KEYS = 60
FRAMES: dict[str, Callable[[TestLake, int], Any]] = {
    "where": lambda lake, key: lake.lake.table("s.t").where(f"id = {key}"),
    "column": lambda lake, key: lake.lake.table("s.t").select("v", "id").filter(F.col("id").isin(key)),
    "filter": lambda lake, key: lake.lake.table("s.t", filter=f"id = {key}"),
    "sql": lambda lake, key: lake.lake.sql("SELECT * FROM s.t WHERE id = :key", key=key),
}
MODES = {"fixed": {"bucket": "4"}, "dynamic": {"bucket": "-1", "dynamic-bucket.target-row-num": str(KEYS // 4)}}


def merged_table(lake: TestLake, **options: str) -> Table:
    """Create four buckets of two files each, whose rows must be merged and whose key ranges cannot prune."""
    table = lake.create(**options, **{"write-only": "true"})
    order = list(range(KEYS))
    random.Random(1).shuffle(order)
    for version in ("old", "new"):
        table.append(pa.table({"id": pa.array(order, pa.int64()), "v": [f"{version} {key}" for key in order]}))
    return table


@pytest.mark.parametrize("mode", MODES)
def test_a_condition_on_the_key_opens_only_files_of_its_bucket(lake: TestLake, mode: str) -> None:
    table = merged_table(lake, **MODES[mode])
    [split] = table.scan(filter="id = 17").plan().splits
    assert len(split.files) == 2
    assert len(table.scan().plan().splits) == 4
    kept = {file.file_name for file in split.files}
    for path in Path(table.store.paths.root).rglob("data-*"):
        if path.name not in kept:
            path.unlink()
    for name, frame in FRAMES.items():
        assert [row.v for row in frame(lake, 17).collect()] == ["new 17"], name
        assert frame(lake, 17).count() == 1, name
    with pytest.raises(Exception, match=r"data-|MissingFile|does not exist"):
        lake.lake.table("s.t").where("v = 'new 17'").collect()

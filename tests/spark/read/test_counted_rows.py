"""The row count from metadata equals the row count of a scan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.spark.lakes import TestLake

pytestmark = pytest.mark.spark

KINDS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "append": ((), {}),
    "append with vectors": ((), {"deletion-vectors.enabled": "true"}),
    "compacted": (("id",), {"bucket": "2", "full-compaction.delta-commits": "1"}),
    "vectors": (("id",), {"bucket": "2", "deletion-vectors.enabled": "true"}),
    "merged": (("id",), {"bucket": "2", "write-only": "true"}),
    "computed": (("id",), {"bucket": "2", "write-only": "true", "merge-engine": "partial-update"}),
}
KNOWN = ("append", "append with vectors", "compacted", "vectors")
"""Cases for which metadata is sufficient and no data file is opened."""


def counts(lake: TestLake) -> list[int]:
    frame: Any = lake.lake.table("s.t")
    sql = lake.lake.sql
    return [
        frame.count(),
        frame.select("id").count(),
        sql("SELECT count(*) AS n FROM s.t").collect()[0].n,
        sql("SELECT count(1) AS n FROM s.t").collect()[0].n,
        lake.lake.aggregate("s.t", {"n": ("count", "*")}).rows[0]["n"],
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_count_from_metadata_equals_the_count_of_a_scan(lake: TestLake, kind: str) -> None:
    keys, options = KINDS[kind]
    table = lake.create(primary_keys=keys, **options)
    for first in (0, 30, 40):
        ids = list(range(first, first + 50))
        table.append(pa.table({"id": pa.array(ids, pa.int64()), "v": [str(first)] * 50}))
        if kind in ("append with vectors", "vectors", "compacted", "merged"):
            lake.table().delete(f"id IN ({first + 1}, {first + 8}) OR id = 45")
    read = len(lake.table().scan().to_arrow())
    assert read == len(lake.lake.table("s.t").collect())
    assert counts(lake) == [read] * 5
    assert lake.lake.table("s.t").where("v = '40'").count() == len(lake.table().scan(filter="v = '40'").to_arrow())
    if kind in KNOWN:
        for path in Path(table.store.paths.root).rglob("data-*"):
            path.unlink()
        assert counts(lake) == [read] * 5

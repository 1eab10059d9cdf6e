"""A frame is planned, and its snapshot is expired before Spark runs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pytest

from table_format.errors import SnapshotExpired
from table_format.spark.read.frames import frame_of
from tests.spark.lakes import KEYED, TestLake

pytestmark = pytest.mark.spark

KINDS: Mapping[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "append": ((), {}),
    "append with deletion vectors": ((), {"deletion-vectors.enabled": "true"}),
    "keyed": (("id",), {"bucket": "1", "write-only": "true"}),
    "avro": ((), {"file.format": "avro"}),
}


def rows(ids: Sequence[int], values: Sequence[str]) -> pa.Table:
    return pa.table({"id": ids, "v": values}, schema=KEYED)


def made(lake: TestLake, kind: str) -> None:
    keys, options = KINDS[kind]
    table = lake.create(primary_keys=keys, **options)
    table.append(rows([1, 2], ["a", "b"]))
    table.append(rows([2, 3], ["c", "d"]))
    table.delete("id = 3")


def replaced_and_expired(lake: TestLake) -> None:
    table = lake.table()
    table.overwrite(rows([9], ["z"]))
    now = table.store.runtime.clock.now_ms()
    table.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=now + 60_000, retain_floor_ms=0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_whose_snapshot_was_expired_says_so(lake: TestLake, kind: str) -> None:
    made(lake, kind)
    frame = lake.lake.table("s.t")
    through_data_source = lake.spark.read.format("paimon").load(str(lake.warehouse / "s.db" / "t"))
    through_data_source.schema  # noqa: B018 - it is opened now
    plan = lake.table().scan().plan()
    replaced_and_expired(lake)
    with pytest.raises(SnapshotExpired, match="was expired while it was being read"):
        frame.collect()
    with pytest.raises(SnapshotExpired, match="was expired while it was being read"):
        frame_of(lake.spark, lake.table().facts, plan).collect()
    assert [tuple(row) for row in through_data_source.collect()] == [(9, "z")]
    assert [tuple(row) for row in lake.lake.table("s.t").collect()] == [(9, "z")]

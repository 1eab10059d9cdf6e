"""Values of ``columns=``."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.spark.lakes import TestLake, rows_of

pytestmark = pytest.mark.spark


def test_a_column_may_be_requested_twice(lake: TestLake) -> None:
    table = lake.create()
    table.append(pa.table({"id": [1, 2], "v": ["a", "b"]}))
    for columns in (["id", "id"], ["v", "id", "v"]):
        frame = lake.lake.table("s.t", columns=columns, filter="v = 'b'")
        assert frame.columns == columns
        assert rows_of(frame) == [tuple({"id": 2, "v": "b"}[name] for name in columns)]
    assert lake.lake.table("s.t$snapshots", columns=["snapshot_id", "snapshot_id"]).columns == ["snapshot_id"] * 2
    assert rows_of(lake.lake.table("s.t", columns=["id", "id"], order_by="id", limit=1)) == [(1, 1)]


def test_a_single_string_names_one_column(lake: TestLake) -> None:
    lake.create().append(pa.table({"id": [1, 2], "v": ["a", "b"]}))
    assert rows_of(lake.lake.table("s.t", columns="id", filter="v = 'b'")) == [(2,)]
    assert lake.lake.table("s.t$snapshots", columns="snapshot_id").columns == ["snapshot_id"]

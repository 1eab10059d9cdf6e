"""Branches on Spark: written, read, and standing in for partitions that main has not."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from table_format import Schema
from table_format.model.schema_change import SetOption
from tests.spark.lakes import TestLake

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

COLUMNS = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), pa.field("p", pa.string(), nullable=False), ("v", "str")]
)


def rows(*triples: tuple[int, str, str]) -> pa.Table:
    arrays = [pa.array(c, f.type) for c, f in zip(zip(*triples, strict=True), COLUMNS, strict=True)]
    return pa.Table.from_arrays(arrays, schema=COLUMNS)


def found(lake: TestLake, name: str = "s.b", **arguments: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in lake.lake.table(name, **arguments).collect())


def test_a_branch_is_written_and_read_on_spark(lake: TestLake) -> None:
    catalog = lake.lake.catalog
    table = catalog.create_table("s.b", Schema.from_arrow(COLUMNS, ["id", "p"], ["p"], {"bucket": "1"}))
    table.append(rows((1, "a", "main")))
    table.create_tag("t")
    table.create_branch("dev", tag="t")
    frame = lake.lake.spark.createDataFrame([(1, "a", "dev"), (2, "b", "dev")], "id bigint, p string, v string")
    lake.lake.write(frame, "s.b$branch_dev")
    lake.lake.compact("s.b$branch_dev", full=True)
    assert found(lake, "s.b$branch_dev") == [(1, "a", "dev"), (2, "b", "dev")]
    assert found(lake) == [(1, "a", "main")]
    table.fast_forward("dev")
    assert found(lake) == [(1, "a", "dev"), (2, "b", "dev")]


def test_partitions_are_read_from_the_fallback_branch_on_spark(lake: TestLake) -> None:
    catalog = lake.lake.catalog
    table = catalog.create_table("s.b", Schema.from_arrow(COLUMNS, ["id", "p"], ["p"], {"bucket": "1"}))
    table.append(rows((1, "a", "main")))
    table.create_branch("live")
    live = catalog.load_table("s.b$branch_live")
    live.append(rows((1, "a", "live"), (2, "b", "live"), (3, "b", "live")))
    live.append(rows((2, "b", "live again")))
    catalog.alter_table("s.b", SetOption("scan.fallback-branch", "live"))
    assert found(lake) == [(1, "a", "main"), (2, "b", "live again"), (3, "b", "live")]
    assert found(lake, filter="v = 'live'", columns=["id"]) == [(3,)]
    assert sorted(row.id for row in lake.lake.table("s.b").where("p = 'b'").select("id").collect()) == [2, 3]
    path = f"{table.store.paths.root}"
    read = lake.lake.spark.read.format("paimon").load(path)
    assert sorted(row.v for row in read.collect()) == ["live", "live again", "main"]

"""``spark.readStream.table`` and ``writeStream.toTable`` with attached tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

from tests.spark.lakes import TestLake, rows_of

pytestmark = pytest.mark.spark


@pytest.fixture
def attached(lake: TestLake) -> Iterator[TestLake]:
    for name in ("a", "b"):
        lake.create(name)
        lake.write([(1, name)], name=name)
    lake.lake.attach("s")
    yield lake
    lake.spark.sql("DROP DATABASE s CASCADE")


def test_an_attached_table_is_streamed_by_name(attached: TestLake, tmp_path: Path) -> None:
    path = attached.table("b").store.paths.root
    for row in ((2, "x"), (3, "y")):
        attached.write([row], name="a")
        rows = attached.spark.readStream.table("s.a")
        writer = rows.writeStream.format("paimon").option("checkpointLocation", str(tmp_path / "c"))
        writer.trigger(availableNow=True).start(path).awaitTermination()
    assert rows_of(attached.lake.table("s.b")) == [(1, "a"), (2, "x"), (3, "y")]


def test_a_stream_into_a_table_by_name_is_refused(attached: TestLake, tmp_path: Path) -> None:
    def started(rows: Any, number: int) -> Any:
        return rows.writeStream.trigger(availableNow=True).toTable(
            "s.b", checkpointLocation=str(tmp_path / str(number))
        )

    rows = attached.spark.readStream.table("s.a")
    for number, frame in enumerate((rows, rows.selectExpr("id + 1 AS id", "upper(v) AS v"))):
        with pytest.raises(StreamingQueryException, match=r"writeStream\.toTable is not supported.*write_stream"):
            started(frame, number).awaitTermination()
    assert [rows_of(attached.lake.table(f"s.{name}")) for name in ("a", "b")] == [[(1, "a")], [(1, "b")]]

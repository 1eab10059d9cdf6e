"""Streams from and into a branch of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

from tests.spark.lakes import TestLake, rows_of

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]


@pytest.fixture
def branched(lake: TestLake) -> TestLake:
    """Tables ``s`` and ``d``, each with a branch ``dev``, of which ``s`` has rows of its own there."""
    for name in ("s", "d"):
        lake.create(name)
        lake.write([(1, "both")], name=name)
        lake.table(name).create_tag("x", 1)
        lake.table(name).create_branch("dev", tag="x")
    lake.write([(2, "dev")], name="s$branch_dev")
    lake.write([(3, "main")], name="s")
    return lake


def ended(query: Any) -> None:
    query.awaitTermination()
    assert query.exception() is None


NOW = {"availableNow": True}


def test_a_branch_is_streamed_into_a_branch(branched: TestLake, tmp_path: Path) -> None:
    checkpoint = str(tmp_path / "checkpoint")

    def run() -> None:
        rows = branched.lake.read_stream("s.s$branch_dev", **{"consumer-id": "c"})
        ended(branched.lake.write_stream(rows, "s.d$branch_dev", checkpoint=checkpoint, trigger=NOW))

    run()
    assert rows_of(branched.lake.table("s.d$branch_dev")) == [(1, "both"), (2, "dev")]
    branched.write([(4, "dev")], name="s$branch_dev")
    branched.write([(5, "main")], name="s")
    run()
    assert rows_of(branched.lake.table("s.d$branch_dev")) == [(1, "both"), (2, "dev"), (4, "dev")]
    assert branched.rows("d") == [(1, "both")]
    # The progress of the consumer is that of the branch.
    assert [row[0] for row in branched.lake.table("s.s$branch_dev$consumers").collect()] == ["c"]
    assert not branched.lake.table("s.s$consumers").collect()


def test_spark_streams_name_a_branch_by_path_and_by_option(branched: TestLake, tmp_path: Path) -> None:
    source, target = (branched.table(name).store.paths.root for name in ("s", "d"))
    read = branched.spark.readStream.format("paimon")
    for number, frame in enumerate((read.load(f"{source}$branch_dev"), read.option("branch", "dev").load(source))):
        writer = frame.where(f"id = {number + 1}").writeStream.format("paimon").trigger(**NOW)
        writer = writer.option("checkpointLocation", str(tmp_path / str(number)))
        ended(writer.start(f"{target}$branch_dev") if number else writer.option("branch", "dev").start(target))
    assert rows_of(branched.lake.table("s.d$branch_dev")) == [(1, "both"), (2, "dev")]
    assert branched.rows("d") == [(1, "both")]


def test_queries_stop_if_their_branch_is_deleted_and_do_not_create_it_again(branched: TestLake, tmp_path: Path) -> None:
    read, write = (branched.lake.read_stream(name) for name in ("s.s$branch_dev", "s.s"))
    path = branched.table("d").store.paths.root
    by_path = write.writeStream.format("paimon").option("checkpointLocation", str(tmp_path / "path"))
    queries = [
        branched.lake.write_stream(read, "s.d", checkpoint=str(tmp_path / "read")),
        branched.lake.write_stream(write, "s.d$branch_dev", checkpoint=str(tmp_path / "write")),
        by_path.start(f"{path}$branch_dev"),
    ]
    for query in queries:
        query.processAllAvailable()
    for name in ("s", "d"):
        branched.table(name).delete_branch("dev")
    branched.write([(4, "main")], name="s")
    for query in queries:
        with pytest.raises(StreamingQueryException, match=r"branch 'dev'.* was deleted|has no branch 'dev'"):
            query.awaitTermination(120)
    assert branched.rows("d") == [(1, "both"), (2, "dev")]
    assert branched.table("d").branches() == branched.table("s").branches() == {}

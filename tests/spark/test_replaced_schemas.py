"""Frames, queries and writes that are open on Spark while a fast-forward gives the table other schemas of the same ids.

Main and a branch each have a schema 1 of their own, in which another column is called ``old``. Another branch keeps the
files of main. With the new schema, the values of a kept file would be read from the wrong columns.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException

from table_format import AddColumn, RenameColumn
from table_format.errors import SchemaChanged, SnapshotExpired
from table_format.metastore.commit.commit_loop import CommitLoop
from table_format.types import VarCharType
from tests.spark.lakes import KEYED, TestLake, rows_of

pytestmark = pytest.mark.spark

KINDS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "append": ((), {}),
    "keyed": (("id",), {"bucket": "1", "write-only": "true"}),
}
OF_MAIN = pa.schema([*KEYED, ("old", pa.string())])
OF_BRANCH = pa.schema([KEYED.field("id"), ("old", pa.string()), ("v", pa.string())])
BEFORE = [(1, "a", None, None), (2, "b", "old b", None)]
AFTER = [(1, "a", None, None), (9, "old z", "z", None)]


def made(lake: TestLake, kind: str) -> None:
    keys, options = KINDS[kind]
    catalog = lake.lake.catalog
    table = lake.create(primary_keys=keys, **options)
    table.append(pa.table({"id": [1], "v": ["a"]}, schema=KEYED))
    table.create_tag("base")
    table.create_branch("b", tag="base")
    catalog.alter_table("s.t", AddColumn("old", VarCharType()))
    catalog.alter_table("s.t$branch_b", [RenameColumn("v", "old"), AddColumn("v", VarCharType())])
    lake.table().append(pa.table({"id": [2], "v": ["b"], "old": ["old b"]}, schema=OF_MAIN))
    for name in ("s.t", "s.t$branch_b"):
        catalog.alter_table(name, AddColumn("later", VarCharType()))
    last = pa.table({"id": [9], "old": ["old z"], "v": ["z"], "later": pa.array([None], pa.string())})
    lake.table("t$branch_b").append(last)
    lake.table().create_tag("kept")
    lake.table().create_branch("keeping", tag="kept")
    lake.table().delete_tag("kept")


def fast_forward(lake: TestLake) -> None:
    lake.table().fast_forward("b")


def found(lake: TestLake) -> list[tuple[Any, ...]]:
    return lake.rows_alone()


FRAMES: dict[str, Callable[[TestLake], Any]] = {
    "table": lambda lake: lake.lake.table("s.t"),
    "filtered table": lambda lake: lake.lake.table("s.t").filter("v <> old OR old IS NULL"),
    "query": lambda lake: lake.lake.sql("SELECT * FROM s.t"),
    "data source": lambda lake: lake.spark.read.format("paimon").load(lake.table().store.paths.root),
}


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_that_was_opened_before_does_not_read_with_the_new_schemas(
    lake: TestLake, name: str, kind: str
) -> None:
    made(lake, kind)
    frame = FRAMES[name](lake)
    frame.schema  # noqa: B018 - it is opened now
    assert rows_of(FRAMES[name](lake)) == BEFORE
    fast_forward(lake)
    with pytest.raises(Exception, match=r"fast-forward|Load the table again"):
        frame.collect()
    assert rows_of(lake.lake.table("s.t")) == AFTER


def test_a_streaming_query_does_not_read_with_the_new_schemas(lake: TestLake, tmp_path: Path) -> None:
    made(lake, "keyed")
    batches: list[list[tuple[Any, ...]]] = []
    writer = lake.lake.read_stream("s.t").writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.foreachBatch(lambda batch, _: batches.append(rows_of(batch))).start()
    try:
        query.processAllAvailable()
        before = list(batches)
        fast_forward(lake)
        lake.table().append(pa.table({"id": [10], "old": ["x"], "v": ["y"], "later": ["z"]}))
        with pytest.raises(StreamingQueryException, match=r"fast-forward|rolled back"):
            query.processAllAvailable()
    finally:
        query.stop()
    assert batches == before


WRITES: dict[str, Callable[[TestLake], object]] = {
    "append": lambda lake: lake.lake.write(
        lake.frame([(3, "c", "d", "e")], "id long, v string, old string, later string"), "s.t"
    ),
    "overwrite": lambda lake: lake.lake.write(
        lake.frame([(3, "c", "d", "e")], "id long, v string, old string, later string"), "s.t", mode="overwrite"
    ),
    "delete": lambda lake: lake.lake.delete("s.t", "v = 'b'"),
    "update": lambda lake: lake.lake.update("s.t", {"v": "concat(v, '!')"}),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_write_whose_files_have_the_old_schemas_is_not_committed(
    lake: TestLake, monkeypatch: pytest.MonkeyPatch, name: str, kind: str
) -> None:
    made(lake, kind)
    before_first_commit(monkeypatch, lambda: fast_forward(lake))
    with pytest.raises((SchemaChanged, SnapshotExpired)):
        WRITES[name](lake)
    assert found(lake) == AFTER


@pytest.mark.parametrize("kind", KINDS)
def test_a_compaction_whose_files_have_the_old_schemas_is_dropped(
    lake: TestLake, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    made(lake, kind)
    before_first_commit(monkeypatch, lambda: fast_forward(lake))
    report = lake.lake.run_compaction("s.t", full=True)
    assert not report.snapshots
    assert report.dropped
    assert found(lake) == AFTER


def before_first_commit(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Do something once, after the tasks have written their files."""
    perform = CommitLoop.publish

    def acting(*arguments: Any, **named: Any) -> Any:
        monkeypatch.undo()
        act()
        return perform(*arguments, **named)

    monkeypatch.setattr(CommitLoop, "publish", acting)

"""Queries as Spark runs them: the page docs/streaming.md, a restart that repeats a batch, and an error."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException

from table_format import Insert, Update
from table_format.errors import InvalidData, InvalidInputError, InvalidOption
from table_format.model.schema_change import AddColumn
from table_format.model.types import IntType
from tests.spark.lakes import TestLake, rows_of
from tests.support.code_blocks import code_blocks, run_block

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

PAGE = Path(__file__).parent.parent.parent.parent / "docs" / "streaming.md"


def finished(query: Any) -> list[dict[str, Any]]:
    """The progress of a query that has ended."""
    query.awaitTermination()
    return list(query.recentProgress)


@pytest.mark.usefixtures("spark")
def test_the_code_in_the_streaming_page_runs(tmp_path: Path) -> None:
    page = PAGE.read_text().replace(': "warehouse"', f': "{tmp_path}/warehouse"')
    page = page.replace('"checkpoints', f'"{tmp_path}')
    names: dict[str, Any] = {}
    for block in code_blocks(page):
        run_block(block, names)
    lake = names["lake"]
    assert rows_of(lake.table("shop.copy")) == [(1, "Ann", 10), (2, "Bob", 20)]
    # Once by the query, and once by foreachBatch.
    assert rows_of(lake.table("shop.totals")) == [("Ann", 20), ("Bob", 40)]
    commits = lake.table("shop.totals$snapshots").select("commit_user", "commit_identifier").collect()
    assert [(user[:6], number) for user, number in commits] == [("spark-", 0), ("orders", 0)]
    with pytest.raises(InvalidInputError, match="modes are append, update, complete"):
        lake.write_stream(names["rows"], "shop.copy", checkpoint=str(tmp_path), output_mode="some")


def test_a_repeated_micro_batch_is_written_once_and_the_query_continues(lake: TestLake, tmp_path: Path) -> None:
    lake.create("s")
    lake.create("d")
    checkpoint = tmp_path / "checkpoint"
    read = {"read.stream.maxFilesPerTrigger": "1", "scan.mode": "from-snapshot", "scan.snapshot-id": "1"}

    def run() -> list[dict[str, Any]]:
        frame = lake.spark.readStream.format("paimon").options(**read).load(lake.table("s").store.paths.root)
        writer = frame.writeStream.format("paimon").option("checkpointLocation", str(checkpoint))
        return finished(writer.trigger(availableNow=True).start(lake.table("d").store.paths.root))

    for number in range(2):
        lake.table("s").append(lake.frame([(number, "a")], "id long, v string").toArrow())
    assert [(p["batchId"], p["numInputRows"]) for p in run()] == [(0, 1), (1, 1)]
    # As a process leaves it that dies between the commit and Spark's note of it.
    for noted in (checkpoint / "commits").glob("*1*"):
        noted.unlink()
    lake.table("s").append(lake.frame([(2, "a")], "id long, v string").toArrow())
    progress = run()
    assert [p["batchId"] for p in progress] == [1, 2]
    assert '"snapshot": 3' in progress[-1]["sources"][0]["endOffset"]
    assert lake.rows_alone("d") == [(0, "a"), (1, "a"), (2, "a")]
    assert [s.commit_identifier for s in lake.table("d").snapshots()] == [0, 1, 2]


@pytest.mark.parametrize("behind", [1, 2])
@pytest.mark.parametrize("way", ["write_stream", "format"])
def test_a_query_with_an_older_copy_of_its_checkpoint_stops_before_rows_are_lost(
    lake: TestLake, tmp_path: Path, way: str, behind: int
) -> None:
    lake.create("s")
    lake.create("d")
    checkpoint, older = tmp_path / "checkpoint", tmp_path / "older"

    def run() -> None:
        rows = lake.lake.read_stream("s.s", **{"scan.mode": "from-snapshot", "scan.snapshot-id": "1"})
        if way == "write_stream":
            finished(lake.lake.write_stream(rows, "s.d", checkpoint=str(checkpoint), trigger={"availableNow": True}))
            return
        writer = rows.writeStream.format("paimon").option("checkpointLocation", str(checkpoint))
        finished(writer.trigger(availableNow=True).start(lake.table("d").store.paths.root))

    for number in range(4):
        lake.write([(number, "a")], name="s")
        run()
        if number == 3 - behind:
            shutil.copytree(checkpoint, older)
    shutil.rmtree(checkpoint)
    older.rename(checkpoint)
    lake.write([(4, "a")], name="s")
    with pytest.raises(StreamingQueryException, match=r"micro-batch \d of .* already committed.*an older copy"):
        run()
    assert lake.rows_alone("d") == [(number, "a") for number in range(4)]


@pytest.mark.parametrize("way", ["write_stream", "foreachBatch", "merge"])
def test_a_query_with_state_continues_after_a_repeated_micro_batch(lake: TestLake, tmp_path: Path, way: str) -> None:
    for name in ("s", "d"):
        lake.create(name)
    checkpoint = str(tmp_path / "c")
    wanted: dict[str, Any] = {"checkpoint": checkpoint, "output_mode": "update", "trigger": {"availableNow": True}}

    def upsert(batch: Any, number: int) -> None:
        if way == "foreachBatch":
            lake.lake.write(batch, "s.d", commit_user="counts", identifier=number)
            return
        clauses: dict[str, Any] = {"when_matched": Update(), "when_not_matched": Insert()}
        lake.lake.merge("s.d", batch, on=["id"], commit_user="counts", identifier=number, **clauses)

    def run() -> None:
        rows = lake.lake.read_stream("s.s", **{"scan.mode": "from-snapshot", "scan.snapshot-id": "1"})
        counts = rows.groupBy("id").count().selectExpr("id", "cast(count AS string) AS v")
        if way == "write_stream":
            finished(lake.lake.write_stream(counts, "s.d", **wanted))
            return
        writer = counts.writeStream.foreachBatch(upsert).outputMode("update").option("checkpointLocation", checkpoint)
        finished(writer.trigger(availableNow=True).start())

    for _ in range(2):
        lake.write([(1, "a"), (2, "a")], name="s")
        run()
    # As a process leaves it that dies between the commit and Spark's note of it, which follows the state.
    for noted in [*tmp_path.glob("c/commits/*1*"), *tmp_path.glob("c/state/*/*/*2.delta*")]:
        noted.unlink()
    lake.write([(1, "a")], name="s")
    run()
    assert lake.rows_alone("d") == [(1, "3"), (2, "2")]
    assert [s.commit_identifier for s in lake.table("d").snapshots()] == [0, 1, 2]


def test_the_error_of_a_stopped_query_names_the_reason_and_what_to_do(lake: TestLake, tmp_path: Path) -> None:
    lake.create("s")
    lake.write([(1, "a")], name="s")
    query = lake.lake.read_stream("s.s").writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c"))
    running = query.start()
    running.processAllAvailable()
    lake.lake.catalog.alter_table("s.s", [AddColumn("n", IntType())])
    lake.write([(2, "a", 1)], "id long, v string, n int", name="s")
    with pytest.raises(StreamingQueryException, match="restart the query with the same checkpoint"):
        running.awaitTermination(120)


def test_a_stream_that_cannot_be_read_is_refused_at_load(lake: TestLake, tmp_path: Path) -> None:
    path = lake.create("s").store.paths.root
    message = "option 'write-only': would have no effect on a streaming query of Spark"
    with pytest.raises(AnalysisException, match=message):
        lake.spark.readStream.format("paimon").option("write-only", "true").load(path)
    with pytest.raises(InvalidOption, match=message):
        lake.lake.read_stream("s.s", **{"write-only": "true"})
    # Spark does not ask for the columns if they are given. Its own error about the refusal is not shown.
    frame = lake.spark.readStream.schema("id long").format("paimon").option("write-only", "true").load(path)
    query = frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c"))
    with pytest.raises(StreamingQueryException, match=message) as raised:
        finished(query.trigger(availableNow=True).start())
    assert "UnboundLocalError" not in str(raised.value)


def test_rows_that_do_not_fit_the_table_start_no_query(lake: TestLake, tmp_path: Path) -> None:
    for name in ("s", "d"):
        lake.create(name)
    rows = lake.lake.read_stream("s.s")
    for frame, words in ((rows.selectExpr("v"), "id"), (rows.selectExpr("*", "1 AS n"), "n")):
        with pytest.raises(InvalidData, match=words):
            lake.lake.write_stream(frame, "s.d", checkpoint=str(tmp_path / "c"))
    options = {"write.merge-schema": "true"}
    with pytest.raises(InvalidData, match="v"):
        lake.lake.write_stream(rows.selectExpr("id", "array(v) AS v"), "s.d", checkpoint=str(tmp_path), options=options)
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (("id", "id AS v"), "column 'v' is STRING, which cannot hold BIGINT; cast it first"),
        (("array(id) AS id", "v"), "column 'id' is BIGINT NOT NULL, which cannot hold ARRAY<BIGINT NOT NULL>"),
    ],
)
def test_a_column_of_another_type_is_refused_in_the_words_of_sql(
    lake: TestLake, tmp_path: Path, columns: tuple[str, ...], message: str
) -> None:
    for name in ("s", "d"):
        lake.create(name)
    rows = lake.lake.read_stream("s.s").selectExpr(*columns)
    with pytest.raises(InvalidData, match=message):
        lake.lake.write_stream(rows, "s.d", checkpoint=str(tmp_path / "c"))
    writer = rows.writeStream.format("paimon").option("checkpointLocation", str(tmp_path / "c"))
    with pytest.raises(StreamingQueryException, match=message):
        finished(writer.trigger(availableNow=True).start(lake.table("d").store.paths.root))


def test_an_unknown_row_kind_stops_the_query_and_nothing_is_written(lake: TestLake, tmp_path: Path) -> None:
    for name in ("s", "d"):
        lake.create(name)
    lake.write([(1, "a")], name="s")
    rows = lake.lake.read_stream("s.s").selectExpr("*", "'insert' AS _row_kind")
    named = lake.lake.write_stream(rows, "s.d", checkpoint=str(tmp_path / "name"), trigger={"availableNow": True})
    writer = rows.writeStream.format("paimon").option("checkpointLocation", str(tmp_path / "path"))
    for query in (named, writer.trigger(availableNow=True).start(lake.table("d").store.paths.root)):
        with pytest.raises(
            StreamingQueryException, match=r"'_row_kind' holds 'insert' in row 0.*one of \+I, -U, \+U, -D"
        ):
            finished(query)
    assert (lake.files("d"), lake.table("d").snapshots()) == ([], ())


def test_a_stream_of_no_columns_is_refused_because_it_would_have_no_rows(lake: TestLake) -> None:
    lake.create("s")
    lake.write([(1, "a")], name="s")
    assert lake.lake.table("s.s", columns=[]).count() == 1
    with pytest.raises(InvalidInputError, match="without columns is not supported; name at least one column"):
        lake.lake.read_stream("s.s", columns=[])


def test_a_stream_takes_one_name_like_a_table_and_refuses_other_values(lake: TestLake) -> None:
    lake.create("s")
    assert lake.lake.read_stream("s.s", columns="id").columns == lake.lake.table("s.s", columns="id").columns == ["id"]
    with pytest.raises(InvalidInputError, match="columns: expected a name or a sequence of names, found int 5"):
        lake.lake.read_stream("s.s", columns=5)  # type: ignore[arg-type]


def test_complete_output_replaces_the_table_and_update_output_requires_lake_write_stream(
    lake: TestLake, tmp_path: Path
) -> None:
    lake.create("s")
    table = lake.create("d")
    lake.write([(1, "a"), (2, "a")], name="s")
    counted = lake.lake.read_stream("s.s", columns=["v"]).groupBy("v").count().selectExpr("count AS id", "v")
    path = table.store.paths.root
    for rows in ([(2, "a")], [(3, "a")]):
        writer = counted.writeStream.outputMode("complete").format("paimon")
        finished(writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start(path))
        assert lake.rows_alone("d") == rows
        lake.write([(3, "a")], name="s")
    update = counted.writeStream.outputMode("update").format("paimon")
    with pytest.raises(StreamingQueryException, match="does not support Update mode"):
        finished(update.option("checkpointLocation", str(tmp_path / "u")).start(path))


def test_one_task_reads_and_writes_a_small_micro_batch(lake: TestLake, tmp_path: Path) -> None:
    for name in ("s", "d"):
        lake.create(name)
    lake.write([(1, "a")], name="s")
    ways: list[str] = []

    def explain(batch: Any, _: int) -> None:
        # Spark knows nothing about the size of either.
        ways.extend(lake.lake.explain_write(rows, "s.d").splitlines()[0] for rows in (batch, batch.repartition(2)))

    query = lake.lake.read_stream("s.s").writeStream.foreachBatch(explain)
    finished(query.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start())
    assert ways == [
        "exchange: shuffle, 1 writing task (one task produces all rows)",
        "exchange: storage, 2 writing tasks (the table is in a file system)",
    ]


def test_a_table_may_be_either_side_of_a_join_with_a_stream(lake: TestLake, tmp_path: Path) -> None:
    for name in ("s", "dimension"):
        lake.create(name)
    lake.write([(1, "a"), (2, "b"), (3, "c")], name="s")
    lake.write([(1, "one"), (2, "two")], name="dimension")
    rows, dimension = lake.lake.read_stream("s.s"), lake.lake.table("s.dimension").where("v <> 'two'")
    rows.createOrReplaceTempView("streamed_rows")
    text = "SELECT t.id, t.v FROM s.dimension AS t JOIN streamed_rows AS r ON t.id = r.id WHERE t.v <> 'two'"
    joined = {
        "left": dimension.join(rows.select("id"), "id"),
        "right": rows.select("id").join(dimension, "id"),
        "sql": lake.lake.sql(text),
    }
    for way, frame in joined.items():
        lake.create(way)
        checkpoint = str(tmp_path / way)
        finished(lake.lake.write_stream(frame, f"s.{way}", checkpoint=checkpoint, trigger={"availableNow": True}))
        assert lake.rows_alone(way) == [(1, "one")]


def test_a_query_stops_if_its_target_was_created_again(lake: TestLake, tmp_path: Path) -> None:
    for name in ("s", "d"):
        lake.create(name)
    lake.write([(1, "a")], name="s")
    running = lake.lake.write_stream(lake.lake.read_stream("s.s"), "s.d", checkpoint=str(tmp_path / "c"))
    running.processAllAvailable()
    lake.lake.catalog.drop_table("s.d")
    lake.create("d")
    lake.write([(2, "a")], name="s")
    with pytest.raises(StreamingQueryException, match=r"s\.d: the table was dropped and created again.*new checkpoint"):
        running.awaitTermination(120)
    assert lake.rows_alone("d") == []


def test_a_query_that_starts_again_stops_if_its_target_was_rolled_back(lake: TestLake, tmp_path: Path) -> None:
    for name in ("s", "d"):
        lake.create(name)

    def run(number: int) -> Any:
        lake.append([(number, "a")], "s")
        rows = lake.lake.read_stream("s.s")
        return lake.lake.write_stream(rows, "s.d", checkpoint=str(tmp_path / "c"), trigger={"availableNow": True})

    for number in (1, 2):
        run(number).awaitTermination(120)
    lake.table("d").rollback_to(1)
    with pytest.raises(StreamingQueryException, match=r"s\.d: the table was rolled back.* lacks .* micro-batch 1; "):
        run(3).awaitTermination(120)
    assert lake.rows_alone("d") == [(1, "a")]


@pytest.mark.parametrize("commits", [0, 1])
def test_a_query_stops_if_its_target_was_rolled_back(lake: TestLake, tmp_path: Path, commits: int) -> None:
    for name in ("s", "d"):
        lake.create(name)
    lake.append([(0, "a")], "d")
    lake.append([(1, "a")], "s")
    running = lake.lake.write_stream(lake.lake.read_stream("s.s"), "s.d", checkpoint=str(tmp_path / "c"))
    running.processAllAvailable()
    lake.append([(2, "a")], "d")
    lake.table("d").rollback_to(2)  # it keeps the rows of the query
    lake.append([(3, "a")], "s")
    running.processAllAvailable()
    lake.table("d").rollback_to(2)
    for _ in range(commits):
        lake.append([(4, "a")], "d")
    lake.append([(5, "a")], "s")
    words = r"s\.d: the table was rolled back.* lacks the rows of micro-batch 1; .*new checkpoint"
    with pytest.raises(StreamingQueryException, match=words):
        running.awaitTermination(120)
    assert lake.rows_alone("d") == [(0, "a"), (1, "a"), (4, "a")][: 2 + commits]


def test_a_query_that_ended_has_recorded_its_consumer(lake: TestLake, tmp_path: Path) -> None:
    lake.create("s")
    lake.append([(1, "a")], "s")

    def run() -> int:
        rows = lake.lake.read_stream("s.s", **{"consumer-id": "c"})
        writer = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c"))
        return sum(p["numInputRows"] for p in finished(writer.trigger(availableNow=True).start()))

    assert run() == 1
    assert lake.table("s").consumers() == {"c": 2}
    for number in (2, 3, 4):
        lake.append([(number, "a")], "s")
    lake.table("s").expire_snapshots(retain_min=1, retain_max=1, older_than_ms=1 << 60, retain_floor_ms=0)
    assert run() == 3

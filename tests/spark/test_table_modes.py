"""Every mode of a table through Spark: what tasks write and compact is what one process would have made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException

from table_format import Table
from table_format.table.system.table import SystemTable
from tests.spark.lakes import DATED, KEYED, TestLake, jobs_of

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

DDL = "id long, v string, _row_kind string"
MARKED = {"deletion-vectors.enabled": "true"}
MODES: dict[str, dict[str, str]] = {
    "merged when read": {},
    "merged when copied": {"full-compaction.delta-commits": "1"},
    "marked": MARKED,
    "marked, wide": {**MARKED, "deletion-vectors.bitmap64": "true"},
    "input": {"changelog-producer": "input"},
    "lookup": {"changelog-producer": "lookup"},
    "lookup, marked": {"changelog-producer": "lookup", **MARKED},
    "full compaction": {"changelog-producer": "full-compaction", "full-compaction.delta-commits": "1"},
    "first row": {"changelog-producer": "lookup", "merge-engine": "first-row", "ignore-delete": "true"},
    "dynamic, marked": {"bucket": "-1", "dynamic-bucket.target-row-num": "7", **MARKED},
    "dynamic, lookup": {"bucket": "-1", "dynamic-bucket.target-row-num": "7", "changelog-producer": "lookup"},
}
HISTORY = (
    [(i, "a", "+I") for i in range(20)],
    [(i, "b", "+U") for i in range(0, 30, 3)],
    [(i, "c", "-D" if i % 2 else "+I") for i in range(5)],
)


def append_alone(table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    columns = zip(*rows, strict=True)
    table.append(pa.table(dict(zip(("id", "v", "_row_kind", "dt"), columns, strict=False))))


def rows_at(lake: TestLake, name: str, snapshot_id: int) -> list[tuple[Any, ...]]:
    found = lake.table(name).scan(options={"scan.snapshot-id": str(snapshot_id)}).to_arrow()
    return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True), key=repr)


def told(lake: TestLake, name: str) -> list[tuple[Any, ...]]:
    """The changelog of all snapshots."""
    log = lake.lake.catalog.load_table(f"s.{name}$audit_log")
    assert isinstance(log, SystemTable)
    latest = lake.table(name).snapshots()[-1].id
    found = log.scan(options={"incremental-between": f"0,{latest}"}).to_arrow()
    return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True), key=repr)


@pytest.mark.parametrize("mode", MODES)
def test_tasks_write_and_compact_like_a_single_process(lake: TestLake, mode: str) -> None:
    lake.create("alone", KEYED, **MODES[mode])
    lake.create("spark", KEYED, **MODES[mode])
    for rows in HISTORY:
        append_alone(lake.table("alone"), rows)
        lake.write(rows, DDL, name="spark", parallelism=2)
    lake.table("alone").compact(full=True)
    lake.lake.compact("s.spark", full=True)
    alone, spark = (lake.table(name).snapshots() for name in ("alone", "spark"))
    assert [s.commit_kind for s in spark] == [s.commit_kind for s in alone]
    assert [s.changelog_record_count for s in spark] == [s.changelog_record_count for s in alone]
    for snapshot in spark:
        assert rows_at(lake, "spark", snapshot.id) == rows_at(lake, "alone", snapshot.id)
    assert told(lake, "spark") == told(lake, "alone")
    assert lake.rows("spark") == rows_at(lake, "alone", alone[-1].id)
    assert not lake.table("spark").scan().plan().deletion_files


def test_tasks_mark_superseded_rows_in_deletion_vectors(lake: TestLake) -> None:
    table = lake.create(bucket="4", **MARKED)
    lake.write([(i, "a") for i in range(100)])
    frame = lake.frame([(i, "b") for i in range(0, 100, 10)], "id long, v string")
    # One job writes, with a task for each bucket, and there is none after it that compacts.
    jobs = jobs_of(lake.spark, lambda: lake.lake.write(frame, "s.t", parallelism=4))
    assert [job[-1] for job in jobs] == [4]
    assert [str(s.commit_kind) for s in table.snapshots()] == ["APPEND", "COMPACT"] * 2
    plan = table.scan().plan()
    assert sum(file.range.cardinality or 0 for file in plan.deletion_files) == 10
    assert all(split.raw_convertible for split in plan)
    entries = table.facts.manifests.index_entries(table.snapshots()[-1])
    assert sorted(entry.bucket for entry in entries) == sorted(
        {split.bucket for split in plan if any(split.deletion_files)}
    )
    assert lake.rows() == sorted(((i, "a" if i % 10 else "b") for i in range(100)), key=repr)


@pytest.mark.parametrize(
    "options", [MARKED, {"changelog-producer": "lookup"}, {"changelog-producer": "full-compaction"}]
)
def test_a_job_compacts_the_files_of_write_only_writers(lake: TestLake, options: dict[str, str]) -> None:
    """The changelog is that of the compaction, and rows on level 0 of a marked table are seen after it."""
    table = lake.create(schema=DATED, primary_keys=("dt", "id"), partition_keys=("dt",), write_only="true", **options)
    for rows in HISTORY:
        append_alone(table, [(*row, dt) for dt in "ab" for row in rows])
    before = table.snapshots()
    assert {str(s.commit_kind) for s in before} == {"APPEND"}
    assert sum(s.changelog_record_count or 0 for s in before) == 0
    jobs = jobs_of(lake.spark, lambda: lake.lake.compact("s.t", full=True, partitions=[{"dt": "a"}]))
    assert jobs == [[2]]
    assert jobs_of(lake.spark, lambda: lake.lake.compact("s.t", full=True, buckets=[0])) == [[2]]
    assert jobs_of(lake.spark, lambda: lake.lake.compact("s.t", full=True)) == [[4]]
    made = table.snapshots()[len(before) :]
    assert [str(s.commit_kind) for s in made] == ["COMPACT"] * 3
    expected = folded(HISTORY)
    if "changelog-producer" in options:
        assert made[0].changelog_record_count == len(expected)
        assert sum(s.changelog_record_count or 0 for s in made[1:]) == len(expected)
        assert told(lake, "t") == sorted((("+I", dt, *row) for dt in "ab" for row in expected), key=repr)
    assert lake.rows() == sorted(((dt, *row) for dt in "ab" for row in expected), key=repr)


def folded(history: Sequence[Sequence[tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
    state: dict[int, str] = {}
    for rows in history:
        for key, value, kind in rows:
            state.pop(key, None)
            if kind != "-D":
                state[key] = value
    return list(state.items())


def test_an_overwrite_replaces_rows_and_deletion_vectors(lake: TestLake) -> None:
    table = lake.create(schema=DATED, primary_keys=("dt", "id"), partition_keys=("dt",), **MARKED)
    for value in "xy":
        lake.append([(dt, i, value) for dt in "ab" for i in range(0, 10, 1 if value == "x" else 3)])
    assert {entry.partition for entry in table.facts.manifests.index_entries(table.snapshots()[-1])} != set()
    lake.write([("a", 1, "new")], "dt string, id long, v string", mode="overwrite", partition={"dt": "a"})
    assert lake.rows(filter="dt = 'a'") == [("a", 1, "new")]
    assert len(lake.rows(filter="dt = 'b'")) == 10
    [partition] = {e.partition for e in table.facts.manifests.index_entries(table.snapshots()[-1])}
    assert table.facts.partitions.text(partition) == "dt=b"


def test_spark_does_not_read_deleted_rows_of_an_append_table(lake: TestLake) -> None:
    table = lake.create(primary_keys=(), **MARKED)
    lake.append([(i, "a") for i in range(10)])
    table.delete("id < 4")
    lake.append([(2, "again")])
    assert lake.table().scan().plan().deletion_files
    assert lake.rows() == sorted([*((i, "a") for i in range(4, 10)), (2, "again")], key=repr)


@pytest.mark.parametrize("mode", ["marked", "lookup", "merged when copied", "first row", "dynamic, marked"])
def test_the_data_source_refuses_tables_that_need_compaction(lake: TestLake, mode: str) -> None:
    lake.create(**MODES[mode])
    path = str(lake.warehouse / "s.db" / "t")
    writer = lake.frame([(1, "a")], "id long, v string").write.format("paimon").mode("append")
    with pytest.raises(AnalysisException, match=r"format\('paimon'\) is not supported.*Lake\.write"):
        writer.save(path)
    assert lake.files() == []
    if not mode.startswith("dynamic"):
        writer.option("write-only", "true").save(path)
        lake.lake.compact("s.t")
        assert lake.rows() == [(1, "a")]

"""Changes as frames: between snapshots, and with their kinds as audit log and binlog, read in Spark's tasks."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.spark.lakes import TestLake, plan_of, rows_of

pytestmark = pytest.mark.spark


def _rows(ids: list[int], value: str) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "v": [value] * len(ids)})


@pytest.fixture
def changed(lake: TestLake) -> TestLake:
    table = lake.create(bucket="2", **{"write-only": "true"})
    table.append(_rows([1, 2, 3], "a"))
    table.append(_rows([2, 4], "b"))
    table.delete("id = 1")
    return lake


def test_changes_between_snapshots_are_returned_as_a_frame(changed: TestLake) -> None:
    frame = changed.lake.table("s.t", **{"incremental-between": "1,3"})
    assert rows_of(frame) == [(2, "b"), (4, "b")]
    assert "MapInArrow" in plan_of(frame)
    difference = {"incremental-between": "1,3", "incremental-between-scan-mode": "diff"}
    assert rows_of(changed.lake.table("s.t", columns=["id"], **difference)) == [(2,), (4,)]


def test_sql_reads_the_changes_to_an_automatic_tag(changed: TestLake) -> None:
    table = changed.lake.catalog.load_table("s.t")
    for day, snapshot in (("28", 1), ("29", 3)):
        table.create_tag(f"2026-11-{day}", snapshot)
    latest = changed.lake.sql("SELECT * FROM paimon_incremental_to_auto_tag('s.t', '2026-11-29')")
    assert rows_of(latest) == [(2, "b"), (4, "b")]
    first = "SELECT paimon_incremental_to_auto_tag.id FROM paimon_incremental_to_auto_tag('s.t', '2026-11-28')"
    assert rows_of(changed.lake.sql(first)) == []


def test_an_audit_log_is_returned_as_a_frame_with_row_kinds(changed: TestLake) -> None:
    span = {"incremental-between": "1,3"}
    log = changed.lake.table("s.t$audit_log", **span)
    assert log.columns == ["rowkind", "id", "v"]
    assert rows_of(log.where("rowkind = '-D'")) == [("-D", 1, "a")]
    assert rows_of(changed.lake.table("s.t$audit_log", columns=["id"], filter="rowkind = '+I'", **span)) == [(2,), (4,)]


def test_a_binlog_is_returned_as_a_frame_of_arrays(changed: TestLake) -> None:
    found = rows_of(changed.lake.table("s.t$binlog", **{"incremental-between": "2,3"}))
    assert found == [("-D", [1], ["a"])]

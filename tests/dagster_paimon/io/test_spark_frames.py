"""Spark frames: written inside tasks, counted and checked while they are written."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from dagster_paimon.io.frames import SparkFrame
from tests.support.dagster_project import Project, a_project

pytestmark = [pytest.mark.dagster, pytest.mark.spark]

DAYS = dg.DailyPartitionsDefinition(start_date="2026-03-01", end_date="2026-03-05")
FIRST, SECOND = "2026-03-01", "2026-03-02"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Project]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield a_project(tmp_path, instance)


def rows(lab: Project, **columns: Any) -> SparkFrame:
    return lab.resources["spark"].session().createDataFrame(pa.table(columns))


def an_asset(make: Any, definition: Any = DAYS, **metadata: Any) -> dg.AssetsDefinition:
    @dg.asset(key=["lab", "readings"], partitions_def=definition, io_manager_key="paimon_io", metadata=metadata)
    def readings(context: dg.AssetExecutionContext) -> SparkFrame:
        return make(context)

    return readings


def counts(result: Any) -> dict[str, tuple[int, int]]:
    found = [event.step_materialization_data.materialization for event in result.get_asset_materialization_events()]
    return {
        event.partition: tuple(
            event.metadata[key].value if key in event.metadata else 0
            for key in ("dagster/partition_row_count", "paimon/partition_deletes")
        )
        for event in found
    }


def test_a_day_of_a_timestamp_column_is_replaced_and_others_are_refused(lab: Project) -> None:
    times = [datetime(2026, 3, 1), datetime(2026, 3, 1, 23), datetime(2026, 3, 2)]
    asset = an_asset(lambda _: rows(lab, n=list(range(len(times))), at=times), partition_expr="at")
    assert counts(lab.run(asset, days=(FIRST, SECOND))) == {FIRST: (2, 0), SECOND: (1, 0)}
    times[:] = [datetime(2026, 3, 1, 5)]
    assert counts(lab.run(asset, days=FIRST)) == {FIRST: (1, 0)}
    assert sorted(row["at"].strftime("%d %H") for row in lab.rows("lab.readings")) == ["01 05", "02 00"]
    times[:] = [datetime(2026, 3, 1), datetime(2026, 3, 3)]
    with pytest.raises(
        dg.Failure, match=r"rows of at = 2026-03-03 00:00:00.*2026-03-01.*nothing was written"
    ) as raised:
        lab.run(asset, days=FIRST)
    assert raised.value.allow_retries is False
    table = lab.table("lab.readings")
    assert len(table.snapshots()) == 2
    assert not table.remove_orphan_files(older_than_ms=1 << 60, dry_run=True, nobody_else_writes=True).files


def test_an_upsert_counts_the_rows_and_deletes_of_each_day(lab: Project) -> None:
    def make(_: Any) -> SparkFrame:
        return rows(lab, id=[1, 2, 3], came=[[FIRST, SECOND], [SECOND], []], _row_kind=["+I", "+U", "-D"])

    metadata = {
        "paimon/write_mode": "upsert",
        "paimon/primary_key": "id",
        "paimon/options": {"bucket": "2"},
        "paimon/partition_scope": "input",
        "paimon/row_partition": "came",
    }
    result = lab.run(an_asset(make, **metadata), days=(FIRST, "2026-03-04"))
    assert counts(result) == {FIRST: (1, 0), SECOND: (2, 0)}
    assert lab.table("lab.readings").schema.field_names == ("id",)
    assert [row["id"] for row in lab.rows("lab.readings")] == [1, 2]
    del metadata["paimon/row_partition"]
    deleting = an_asset(lambda _: rows(lab, id=[2]), **{**metadata, "paimon/write_mode": "delete"})
    lab.run(deleting, days=FIRST)
    assert [row["id"] for row in lab.rows("lab.readings")] == [1]


def test_an_input_is_loaded_as_a_frame_of_the_session(lab: Project) -> None:
    seen: list[Any] = []
    asset = an_asset(lambda context: rows(lab, n=[1], dt=[context.partition_key]), partition_expr="dt")

    @dg.asset(partitions_def=DAYS, ins={"found": dg.AssetIn(key=["lab", "readings"], metadata={"columns": ["n"]})})
    def reader(found: SparkFrame) -> None:
        seen.extend(found.collect())

    lab.run([asset, reader], days=FIRST)
    assert [row.asDict() for row in seen] == [{"n": 1}]


def test_a_column_may_hold_only_nulls_on_some_days(lab: Project) -> None:
    lab.run(an_asset(lambda _: rows(lab, n=[1], note=["x"], dt=[FIRST]), partition_expr="dt"), days=FIRST)

    def of_nulls(_: Any) -> SparkFrame:
        frame = rows(lab, n=[2], dt=[SECOND])
        return frame.selectExpr("*", "NULL AS note", "NULL AS other")

    lab.run(an_asset(of_nulls, partition_expr="dt"), days=SECOND)
    assert [(row["n"], row["note"]) for row in lab.rows("lab.readings")] == [(1, "x"), (2, None)]
    assert lab.table("lab.readings").schema.field_names == ("n", "note", "dt")

"""Table modes in the project: options of an asset, the compaction job, and their reports."""

from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from sensors import compaction_pressure
from table_format.model.schema import Schema
from tests.dagster_paimon.io.test_io_manager import an_asset, materializations
from tests.support.dagster_project import Project
from tests.support.maintenance import execute

pytestmark = pytest.mark.dagster

ITEMS = pa.schema([("id", pa.int64()), ("value", pa.int64())])
UPSERT = {"paimon/write_mode": "upsert", "paimon/primary_key": "id"}


def items(*values: int) -> pa.Table:
    return pa.table({"id": range(len(values)), "value": values}, schema=ITEMS)


def told(project: Project, rows: pa.Table, **options: str) -> dict[str, Any]:
    """Return the metadata of one materialization of an asset whose table has these options."""
    asset = an_asset(lambda: rows, **UPSERT, **{"paimon/options": options})
    return materializations(project.run(asset))[None]  # type: ignore[index]


def test_an_asset_with_a_changelog_reports_the_number_of_changes(project: Project) -> None:
    lookup = {"bucket": "1", "changelog-producer": "lookup"}
    assert told(project, items(1, 2, 3), **lookup)["paimon/changelog_rows"] == 3
    second = told(project, items(1, 5), **lookup)
    assert (second["paimon/changelog_rows"], second["paimon/committed_snapshots"]) == (4, "3, 4")
    assert second["dagster/row_count"] == 3


def test_a_table_follows_the_options_of_its_asset_but_not_its_number_of_buckets(project: Project) -> None:
    first = told(project, items(1, 2), bucket="1")
    assert "paimon/changelog_rows" not in first
    copied = {"bucket": "4", "full-compaction.delta-commits": "1"}
    second = told(project, items(3, 4), **copied)
    assert second["paimon/schema_changes"] == "full-compaction.delta-commits = 1"
    assert (second["paimon/committed_snapshots"], second["paimon/level0_files"]) == ("2, 3", 0)
    assert "paimon/schema_changes" not in told(project, items(5), **copied)
    assert project.table("shop.items").options.bucket.count == 1
    assert [row["value"] for row in project.rows("shop.items")] == [5, 4]


def test_an_immutable_option_stops_the_step(project: Project) -> None:
    told(project, items(1), bucket="1")
    asset = an_asset(lambda: items(2), **UPSERT, **{"paimon/options": {"merge-engine": "first-row"}})
    result = project.run(asset, raise_on_error=False)
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    assert "merge-engine" in str(failure.step_failure_data.error)
    assert [row["value"] for row in project.rows("shop.items")] == [1]


def a_marked_table(project: Project, name: str) -> None:
    """Two buckets with rows on level 0, which readers do not see."""
    catalog = project.lakehouse.catalog()
    catalog.create_database(name.split(".")[0])
    options = {"bucket": "2", "deletion-vectors.enabled": "true", "changelog-producer": "lookup"}
    table = catalog.create_table(name, Schema.from_arrow(ITEMS, primary_keys=["id"], options=options))
    table.append(items(*range(20)))
    table.copy({"write-only": "true"}).append(items(7, 7, 7, 7, 7))


def test_the_compaction_job_compacts_some_buckets_and_reports_changes_and_deleted_rows(project: Project) -> None:
    a_marked_table(project, "dwd.orders")
    settings = {"table": "dwd.orders", "on_spark": False}
    first = execute(project, "compact_table", buckets=[0], **settings)
    assert (first["paimon/level0_files"], first["snapshots created"]) == (1, "4")
    second = execute(project, "compact_table", **settings)
    assert (second["paimon/level0_files"], second["paimon/marked_rows"]) == (0, 5)
    assert first["paimon/changelog_rows"] + second["paimon/changelog_rows"] == 10
    assert [row["value"] for row in project.rows("dwd.orders")][:6] == [7, 7, 7, 7, 7, 5]
    third = execute(project, "compact_table", full=True, **settings)
    assert "| marked rows | 5 | 0 | -5 |" in third["before and after"]


def test_rows_that_are_not_visible_yet_cause_a_compaction(project: Project) -> None:
    a_marked_table(project, "dwd.orders")
    context = dg.build_sensor_context(resources={"lakehouse": project.lakehouse})
    (request,) = compaction_pressure(context)
    assert request.run_config["ops"]["compact"]["config"]["table"] == "dwd.orders"

"""Maintenance jobs, sensors and schedules on the pure library. No JVM."""

import json
from typing import Any

import dagster as dg
import pytest

from assets.external import EXTERNAL_TABLES, clicks_by_hour, web_clicks
from dagster_paimon.maintenance.dropped import dropped_buckets
from dagster_paimon.tables.measure import measure
from jobs.demo_clicks import write_clicks
from sensors import compaction_pressure, external_snapshots, missing_indexes
from table_format.model.schema_change import SetOption
from table_format.table.upkeep.compaction_report import CompactionReport, DroppedBucket
from tests.support.dagster_project import Project
from tests.support.maintenance import a_keyed_table, execute

pytestmark = pytest.mark.dagster


def test_a_compaction_reports_before_and_after_and_keeps_the_rows(project: Project) -> None:
    a_keyed_table(project, "shop.items", commits=4)
    before = project.rows("shop.items")
    told = execute(project, "compact_table", table="shop.items", full=True, on_spark=False)
    assert project.rows("shop.items") == before
    assert "| max sorted runs | 4 | 1 | -3 |" in told["before and after"]
    assert (told["snapshots created"], told["buckets compacted"]) == ("5", 1)
    assert "buckets dropped" not in told
    assert told["bytes by level after"].startswith("![")
    assert (told["paimon/max_sorted_runs"], told["paimon/level0_files"]) == (1, 0)


def test_a_rescale_reports_before_and_after_and_may_be_repeated(project: Project) -> None:
    a_keyed_table(project, "shop.items", commits=3)
    before = project.rows("shop.items")
    told = execute(project, "rescale_table", table="shop.items", bucket=3, on_spark=False)
    assert project.rows("shop.items") == before
    assert (told["buckets"], told["snapshots created"]) == (3, "4; 5")
    assert {split.total_buckets for split in project.table("shop.items").scan().plan().splits} == {3}
    told = execute(project, "rescale_table", table="shop.items", bucket=3, on_spark=False)
    assert told["snapshots created"] == "none"


INDEXED = SetOption("file-index.bitmap.columns", "value")


def test_an_index_rewrite_reports_the_coverage_and_may_be_repeated(project: Project) -> None:
    a_keyed_table(project, "shop.items", commits=3)
    before = project.rows("shop.items")
    project.lakehouse.catalog().alter_table("shop.items", INDEXED)
    told = execute(project, "rewrite_index_table", table="shop.items", on_spark=False)
    assert project.rows("shop.items") == before
    assert (told["files checked"], told["files rewritten"], told["snapshots created"]) == (3, 3, "4")
    assert told["index coverage before"] == "0 of 3 files have the declared indexes"
    assert told["index coverage after"] == "3 of 3 files have the declared indexes"
    told = execute(project, "rewrite_index_table", table="shop.items", on_spark=False)
    assert (told["files rewritten"], told["snapshots created"]) == (0, "none")


def test_missing_indexes_are_detected_once_after_an_alter(project: Project) -> None:
    a_keyed_table(project, "dwd.orders", commits=2)
    a_keyed_table(project, "dwd.users", commits=2)

    def ticked(cursor: str | None) -> tuple[list[Any], str]:
        context = dg.build_sensor_context(project.instance, cursor, resources={"lakehouse": project.lakehouse})
        return list(missing_indexes(context)), context.cursor

    (nothing,), cursor = ticked(None)
    assert isinstance(nothing, dg.SkipReason)
    # There is no new snapshot: only the schema has changed.
    project.lakehouse.catalog().alter_table("dwd.users", INDEXED)
    (request,), cursor = ticked(cursor)
    assert request.run_config["ops"]["rewrite_index"]["config"]["table"] == "dwd.users"
    assert request.tags == {"lakehouse/maintains": "dwd.users"}
    (nothing,), cursor = ticked(cursor)
    assert isinstance(nothing, dg.SkipReason)
    project.table("dwd.users").rewrite_file_index()
    (nothing,), cursor = ticked(cursor)
    assert isinstance(nothing, dg.SkipReason)


def test_buckets_that_another_compaction_changed_are_reported() -> None:
    report = CompactionReport(dropped=(DroppedBucket("dt=a", 3, "a file is gone"), DroppedBucket("", 0, "as well")))
    told = dropped_buckets(report.dropped)["buckets dropped"].value
    assert told.splitlines()[2:] == ["| dt=a | 3 | a file is gone |", "| the table | 0 | as well |"]
    assert dropped_buckets(CompactionReport().dropped) == {}


def test_a_dry_run_of_an_expiry_reports_and_deletes_nothing(project: Project) -> None:
    a_keyed_table(project, "shop.items", commits=5)
    settings = {"table": "shop.items", "retain_max": 2, "retain_min": 1, "nobody_else_writes": True}
    tried = execute(project, "expire_table", dry_run=True, **settings)
    assert len(project.table("shop.items").snapshots()) == 5
    assert "| snapshots | 3 |" in tried["would be deleted"]
    told = execute(project, "expire_table", dry_run=False, **settings)
    assert [snapshot.id for snapshot in project.table("shop.items").snapshots()] == [4, 5]
    assert told["snapshot ids"] == tried["snapshot ids"] == "1; 2; 3"
    assert "| snapshots | 5 | 2 | -3 |" in told["before and after"]


def test_young_snapshots_stay_unless_other_writers_are_excluded(project: Project) -> None:
    a_keyed_table(project, "shop.items", commits=3)
    told = execute(project, "expire_table", table="shop.items", retain_max=1, retain_min=1, dry_run=False)
    assert told["snapshot ids"] == "none"
    assert "active writers" in told["the next is kept by"]


def tick(project: Project, cursor: str | None) -> Any:
    return external_snapshots(dg.build_sensor_context(cursor=cursor, resources={"lakehouse": project.lakehouse}))


def test_each_foreign_snapshot_is_reported_once(project: Project) -> None:
    (name,) = EXTERNAL_TABLES
    assert "does not exist" in tick(project, None).skip_reason.skip_message
    write_clicks(project.lakehouse, count=10)
    write_clicks(project.lakehouse, count=20)
    first = tick(project, None)
    found = [
        (event.metadata["paimon/snapshot_id"].value, event.metadata["paimon/added_rows"].value)
        for event in first.asset_events
    ]
    assert found == [(1, 10), (2, 20)]
    assert {event.asset_key for event in first.asset_events} == {dg.AssetKey(name.split("."))}
    versions = [event.tags["dagster/data_version"] for event in first.asset_events]
    assert [version.rsplit("-", 1)[0] for version in versions] == ["snapshot-1", "snapshot-2"]
    assert tick(project, first.cursor).asset_events == []
    write_clicks(project.lakehouse, count=30)
    assert [e.metadata["paimon/snapshot_id"].value for e in tick(project, first.cursor).asset_events] == [3]


def test_the_mart_of_clicks_is_computed_without_spark(project: Project) -> None:
    write_clicks(project.lakehouse, count=50)
    clicks = dg.AssetsDefinition(specs=[web_clicks])
    assert project.run([clicks, clicks_by_hour], selection=[clicks_by_hour]).success
    assert sum(row["clicks"] for row in project.rows("mart.clicks_by_hour")) == 50
    (snapshot,) = project.table("mart.clicks_by_hour").snapshots()
    assert snapshot.properties["consumed.ext.web_clicks"] == "1"


def test_a_table_that_was_created_again_is_detected_despite_equal_ids(project: Project) -> None:
    (name,) = EXTERNAL_TABLES
    for _ in range(3):
        write_clicks(project.lakehouse, count=10)
    cursor = tick(project, None).cursor
    project.lakehouse.catalog().drop_table(name)
    for _ in range(4):
        write_clicks(project.lakehouse, count=5)
    again = tick(project, cursor)
    assert [e.metadata["paimon/snapshot_id"].value for e in again.asset_events] == [1, 2, 3, 4]
    assert again.asset_events[0].metadata["paimon/rolled_back_from"].value == 3


def test_the_pressure_sensor_requests_one_compaction_of_the_table_that_needs_it(project: Project) -> None:
    a_keyed_table(project, "dwd.orders", commits=9)
    a_keyed_table(project, "dwd.users", commits=2)
    context = dg.build_sensor_context(resources={"lakehouse": project.lakehouse})
    (request,) = compaction_pressure(context)
    assert request.run_config["ops"]["compact"]["config"]["table"] == "dwd.orders"
    assert request.tags == {"lakehouse/maintains": "dwd.orders"}
    assert "pressure dwd.orders 9-" in request.run_key
    assert set(json.loads(context.cursor)) == {"dwd.orders", "dwd.users"}
    again = dg.build_sensor_context(
        cursor=context.cursor, resources={"lakehouse": project.lakehouse}, instance=project.instance
    )
    (nothing,) = compaction_pressure(again)
    assert isinstance(nothing, dg.SkipReason)


def test_orphans_are_reported_and_deleted(project: Project) -> None:
    a_keyed_table(project, "shop.items", commits=1)
    table = project.table("shop.items")
    left = table.store.paths.manifest("left")
    table.store.io.create(left, b"four")
    for settings, expected in (({}, ("orphans (dry run)", 1, 4)), ({"dry_run": False}, ("orphans", 1, 4))):
        told = execute(
            project, "clean_table", table="shop.items", older_than_hours=-1, nobody_else_writes=True, **settings
        )
        assert (told["maintenance"], told["orphans"], told["bytes"]) == expected
    assert table.store.io.status(left) is None


def test_health_is_measured_from_metadata(project: Project) -> None:
    a_keyed_table(project, "shop.items", commits=3)
    health = measure(project.table("shop.items").facts)
    assert (health.snapshots, health.live_files, health.level0_files, health.physical_rows) == (3, 3, 3, 6)

"""Commits by others become events of the asset of their table, with the partitions they changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from dagster_paimon import snapshot_sensor
from dagster_paimon.sensors import snapshots, tick_errors
from dagster_paimon.tables import column_keys
from dagster_paimon.tables.asset_keys import TableAssets
from tests.support.dagster_project import Project, a_project
from tests.support.sensor_ticks import Ticks, a_table, rows

DAYS = dg.StaticPartitionsDefinition(["mon", "tue", "wed"])


def ticks(project: Project, *assets: Any, tables: str = "foreign.visits") -> Ticks:
    return Ticks(snapshot_sensor(tables), project.instance, project.lakehouse, assets)


def managed(key: list[str], **arguments: Any) -> Any:
    @dg.asset(key=key, io_manager_key="paimon_io", **arguments)
    def made() -> None: ...

    return made


def test_an_external_table_is_materialized_once_for_each_snapshot_and_the_tick_reports_it(project: Project) -> None:
    table = a_table(project.lakehouse, "foreign.visits")
    sensor = ticks(project, dg.AssetSpec(["foreign", "visits"]))
    assert sensor.tick().skip_message == "foreign.visits has no snapshot after 0"
    table.append(rows((1, "mon", 1)))
    table.append(rows((2, "tue", 1)))
    told = sensor.tick()
    assert [type(event) for event in told.asset_events] == [dg.AssetMaterialization] * 2
    assert told.skip_message == "reported 2 materializations of foreign.visits, snapshot 1 to 2"
    assert sensor.tick().asset_events == []
    versions = {event.tags["dagster/data_version"] for event in told.asset_events}
    assert len(versions) == 2


def test_the_changed_partitions_of_an_external_asset_are_materialized(project: Project) -> None:
    table = a_table(project.lakehouse, "foreign.visits", partitions=["day"])
    sensor = ticks(project, dg.AssetSpec(["foreign", "visits"], partitions_def=DAYS))
    table.append(rows((1, "mon", 1), (2, "mon", 1), (3, "wed", 1), (4, "no day", 1)))
    events = sensor.tick().asset_events
    assert {e.partition: e.metadata["paimon/partition_added_rows"].value for e in events} == {"mon": 2, "wed": 1}
    assert "no day" in events[0].metadata["paimon/changed_partitions"].value
    assert project.instance.get_materialized_partitions(dg.AssetKey(["foreign", "visits"])) == {"mon", "wed"}


def test_the_partition_of_a_row_that_is_only_marked_as_deleted_is_materialized(project: Project) -> None:
    options = {"deletion-vectors.enabled": "true"}
    table = a_table(project.lakehouse, "foreign.visits", partitions=["day"], options=options)
    sensor = ticks(project, dg.AssetSpec(["foreign", "visits"], partitions_def=DAYS))
    table.append(rows((1, "mon", 1), (2, "mon", 1), (3, "wed", 1), (4, "wed", 1)))
    sensor.tick()
    table.delete("id = 3")
    events = sensor.tick().asset_events
    assert {e.partition: e.metadata["paimon/partition_added_rows"].value for e in events} == {"wed": -1}


def test_dynamic_partitions_that_others_write_are_added(project: Project) -> None:
    table = a_table(project.lakehouse, "foreign.visits", partitions=["day"])
    days = dg.DynamicPartitionsDefinition(name="days")
    sensor = ticks(project, dg.AssetSpec(["foreign", "visits"], partitions_def=days))
    table.append(rows((1, "mon", 1)))
    assert [event.partition for event in sensor.tick().asset_events] == ["mon"]
    assert list(project.instance.get_dynamic_partitions("days")) == ["mon"]


def test_null_is_not_a_partition_of_an_external_asset(project: Project) -> None:
    table = a_table(project.lakehouse, "foreign.visits", partitions=["day"])
    table.append(rows((1, "mon", 1), (2, None, 1), (3, "", 1), (4, "null", 1)))
    days = dg.DynamicPartitionsDefinition(name="days")
    events = ticks(project, dg.AssetSpec(["foreign", "visits"], partitions_def=days)).tick().asset_events
    assert [event.partition for event in events] == ["mon", "null"]
    assert events[-1].metadata["paimon/partition_added_rows"].value == 1
    assert "day=null; day=null" in events[0].metadata["paimon/changed_partitions"].value


def test_columns_determine_the_partitions_of_several_dimensions(project: Project) -> None:
    partitions = dg.MultiPartitionsDefinition({"when": DAYS, "size": dg.StaticPartitionsDefinition(["1", "2"])})
    table = a_table(project.lakehouse, "foreign.visits", partitions=["day", "amount"])
    expression = {"when": "day", "size": "amount"}
    asset = dg.AssetSpec(["foreign", "visits"], partitions_def=partitions, metadata={"partition_expr": expression})
    sensor = ticks(project, asset)
    table.append(rows((1, "mon", 1), (2, "tue", 2), (3, "tue", 7)))
    assert {event.partition for event in sensor.tick().asset_events} == {
        dg.MultiPartitionKey({"when": "mon", "size": "1"}),
        dg.MultiPartitionKey({"when": "tue", "size": "2"}),
    }


def test_a_new_value_is_added_to_the_dynamic_dimension_of_partitions(tmp_path: Path) -> None:
    sizes = dg.DynamicPartitionsDefinition(name="sizes")
    partitions = dg.MultiPartitionsDefinition({"day": DAYS, "amount": sizes})
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        stored = a_project(tmp_path, instance)
        table = a_table(stored.lakehouse, "foreign.visits", partitions=["day", "amount"])
        instance.add_dynamic_partitions("sizes", ["1"])
        sensor = ticks(stored, dg.AssetSpec(["foreign", "visits"], partitions_def=partitions))
        table.append(rows((1, "mon", 1), (2, "tue", 2)))
        events = sensor.tick().asset_events
        assert instance.get_dynamic_partitions("sizes") == ["1", "2"]
    assert {event.partition for event in events} == {
        dg.MultiPartitionKey({"day": "mon", "amount": "1"}),
        dg.MultiPartitionKey({"day": "tue", "amount": "2"}),
    }


def test_a_value_that_would_divide_a_key_is_not_a_partition_of_several_dimensions(project: Project) -> None:
    partitions = dg.MultiPartitionsDefinition(
        {"day": dg.DynamicPartitionsDefinition(name="days"), "amount": dg.StaticPartitionsDefinition(["1", "2"])}
    )
    table = a_table(project.lakehouse, "foreign.visits", partitions=["day", "amount"])
    sensor = ticks(project, dg.AssetSpec(["foreign", "visits"], partitions_def=partitions))
    table.append(rows((1, "mon", 1), (2, "mon|2", 1)))
    assert [event.partition for event in sensor.tick().asset_events] == ["1|mon"]
    assert project.instance.get_dynamic_partitions("days") == ["mon"]


def test_a_compaction_of_an_external_table_is_an_observation_without_a_version(project: Project) -> None:
    table = a_table(project.lakehouse, "foreign.visits", keys=["id"])
    sensor = ticks(project, dg.AssetSpec(["foreign", "visits"]))
    table.append(rows((1, "mon", 1)))
    table.append(rows((1, "tue", 1)))
    sensor.tick()
    table.compact(full=True)
    (event,) = sensor.tick().asset_events
    assert isinstance(event, dg.AssetObservation)
    assert event.description.startswith("same rows: snapshot 3, COMPACT by ")
    assert not event.tags


@pytest.mark.parametrize("options", [{"merge-engine": "first-row"}, {"bucket": "-2"}])
def test_a_compaction_that_shows_rows_to_readers_is_a_materialization_of_their_partitions(
    project: Project, options: dict[str, str]
) -> None:
    given = {"write-only": "true", **options}
    table = a_table(project.lakehouse, "foreign.visits", keys=["id", "day"], partitions=["day"], options=given)
    sensor = ticks(project, dg.AssetSpec(["foreign", "visits"], partitions_def=DAYS))
    for day in ("mon", "tue"):
        table.append(rows((1, day, 1)))
    assert table.scan().count() == 0
    sensor.tick()
    table.compact(full=True)
    assert table.scan().count() == 2
    events = sensor.tick().asset_events
    assert {(type(event), event.partition) for event in events} == {
        (dg.AssetMaterialization, "mon"),
        (dg.AssetMaterialization, "tue"),
    }


def test_a_commit_by_others_to_a_managed_table_is_an_observation(project: Project) -> None:
    table = a_table(project.lakehouse, "foreign.visits", keys=["id"])
    sensor = ticks(project, managed(["foreign", "visits"]))
    run = project.instance.create_run_for_job(_empty_job)
    table.append(rows((1, "mon", 1)), properties={"dagster.run_id": run.run_id})
    table.append(rows((2, "mon", 1)))
    table.append(rows((3, "mon", 1)), properties={"dagster.run_id": "of another instance"})
    table.compact(full=True)
    told = sensor.tick()
    assert [type(event) for event in told.asset_events] == [dg.AssetObservation] * 2
    assert [event.metadata["paimon/snapshot_id"].value for event in told.asset_events] == [2, 3]
    assert told.skip_message == "reported 2 observations of foreign.visits, snapshot 1 to 4"


@dg.job
def _empty_job() -> None: ...


def test_events_reach_an_asset_whose_key_differs_from_the_table_name(project: Project) -> None:
    for name in ("default.single", "foreign.visits"):
        a_table(project.lakehouse, name).append(rows((1, "mon", 1)))
    three_parts = dg.AssetSpec(["prod", "web", "clicks"], metadata={"paimon/table": "foreign.visits"})
    sensor = ticks(project, dg.AssetSpec("single"), three_parts, tables="*")
    events = sensor.tick().asset_events
    assert {event.asset_key for event in events} == {dg.AssetKey("single"), dg.AssetKey(["prod", "web", "clicks"])}


def test_a_rollback_and_a_table_that_was_created_again_are_reported_with_separate_versions(project: Project) -> None:
    table = a_table(project.lakehouse, "foreign.visits")
    sensor = ticks(project, dg.AssetSpec(["foreign", "visits"]))
    table.append(rows((1, "mon", 1)))
    table.append(rows((2, "tue", 1)))
    first, second = (event.tags["dagster/data_version"] for event in sensor.tick().asset_events)
    table.rollback_to(1)
    (back,) = sensor.tick().asset_events
    assert back.tags["dagster/data_version"] == first
    assert back.metadata["paimon/rolled_back_from"].value == 2
    table.append(rows((3, "wed", 1)))
    (other,) = sensor.tick().asset_events
    assert other.metadata["paimon/snapshot_id"].value == 2
    assert other.tags["dagster/data_version"] not in (first, second)
    project.lakehouse.catalog().drop_table("foreign.visits")
    assert sensor.tick().skip_message == "foreign.visits does not exist"
    a_table(project.lakehouse, "foreign.visits").append(rows((1, "mon", 1)))
    (again,) = sensor.tick().asset_events
    assert again.metadata["paimon/rolled_back_from"].value == 2


def test_a_rollback_is_reported_after_a_tick_that_other_tables_have_filled(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "EVENTS_PER_TICK", 2)
    busy, calm = (a_table(project.lakehouse, name) for name in ("foreign.busy", "foreign.calm"))
    sensor = ticks(project, tables="foreign.*")
    calm.append(rows((1, "mon", 1)))
    calm.append(rows((2, "mon", 1)))
    sensor.tick()
    calm.rollback_to(1)
    for number in range(2):
        busy.append(rows((number, "mon", 1)))
    assert "1 table waits for the next tick" in sensor.tick().skip_message
    [event] = sensor.tick().asset_events
    assert event.asset_key == dg.AssetKey(["foreign", "calm"])
    assert event.metadata["paimon/rolled_back_from"].value == 2


def test_the_events_of_a_tick_that_was_killed_before_its_cursor_was_stored_are_not_reported_twice(
    project: Project,
) -> None:
    table = a_table(project.lakehouse, "foreign.visits", partitions=["day"])
    asset = dg.AssetSpec(["foreign", "visits"], partitions_def=DAYS)
    sensor = ticks(project, asset)
    sensor.tick()
    table.append(rows((1, "mon", 1), (2, "tue", 1)))
    assert len(sensor.tick(is_killed=True).asset_events) == 2
    table.append(rows((3, "mon", 1)))
    told = sensor.tick()
    assert [(event.partition, event.metadata["paimon/snapshot_id"].value) for event in told.asset_events] == [
        ("mon", 2)
    ]
    assert "2 events were reported by a tick that was interrupted" in told.skip_message
    table.rollback_to(1)
    assert [event.partition for event in sensor.tick().asset_events] == ["mon", "tue"]


def test_the_observations_of_a_killed_tick_are_not_reported_twice(project: Project) -> None:
    table = a_table(project.lakehouse, "foreign.visits")
    sensor = ticks(project, managed(["foreign", "visits"]))
    sensor.tick()
    table.append(rows((1, "mon", 1)))
    assert len(sensor.tick(is_killed=True).asset_events) == 1
    assert sensor.tick().asset_events == []


def test_the_manifests_of_commits_by_runs_of_this_instance_are_not_read(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    @dg.asset(key=["foreign", "visits"], io_manager_key="paimon_io")
    def visits() -> pa.Table:
        return pa.table({"id": [1]})

    project.run(visits)
    monkeypatch.setattr(snapshots, "changed_rows", lambda *_: pytest.fail("read"))
    assert ticks(project, visits).tick().asset_events == []


def test_a_table_with_many_events_at_each_tick_does_not_keep_others_waiting(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "EVENTS_PER_TICK", 2)
    tables = [a_table(project.lakehouse, f"foreign.{name}") for name in ("busy", "calm", "quiet")]
    sensor = ticks(project, tables="foreign.*")
    for table in tables[1:]:
        table.append(rows((1, "mon", 1)))
    reported: set[str] = set()
    for number in range(3):
        for row in range(2):
            tables[0].append(rows((10 * number + row, "mon", 1)))
        reported |= {event.asset_key.path[-1] for event in sensor.tick().asset_events}
    assert reported == {"busy", "calm", "quiet"}


def test_a_tick_ends_after_the_snapshot_that_exceeds_its_events_and_the_next_goes_on(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "EVENTS_PER_TICK", 4)
    table = a_table(project.lakehouse, "foreign.visits", partitions=["day"])
    sensor = ticks(project, dg.AssetSpec(["foreign", "visits"], partitions_def=DAYS))
    for number in range(5):
        table.append(rows((number, "mon", 1), (number, "tue", 1), (number, "wed", 1)))
    seen = [[event.metadata["paimon/snapshot_id"].value for event in sensor.tick().asset_events] for _ in range(4)]
    assert seen == [[1, 1, 1, 2, 2, 2], [3, 3, 3, 4, 4, 4], [5, 5, 5], []]


def test_a_tick_searches_the_assets_once_however_many_tables_it_checks(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        a_table(project.lakehouse, f"foreign.t{number}").append(rows((number, "mon", 1)))
    searched, of_context = [], TableAssets.of_context
    monkeypatch.setattr(TableAssets, "of_context", lambda context: searched.append(context) or of_context(context))
    assert len(ticks(project, tables="foreign.*").tick().asset_events) == 4
    assert len(searched) == 1


def test_the_report_of_a_tick_over_many_tables_starts_with_news_and_is_short(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tick_errors, "_NOTES_SHOWN", 3)
    made = [a_table(project.lakehouse, f"foreign.t{number}") for number in range(6)]
    made[5].append(rows((1, "mon", 1)))
    told = ticks(project, tables="foreign.*").tick().skip_message
    assert told.startswith("reported 1 materialization of foreign.t5, snapshot 1; foreign.t0 has no snapshot after 0; ")
    assert told.endswith("; and 3 more")


def test_the_keys_of_an_asset_are_listed_once_for_each_snapshot(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = a_table(project.lakehouse, "foreign.visits", partitions=["day"])
    table.append(rows((1, "mon", 1), (2, "tue", 1), (3, "wed", 1)))
    listings, known_keys = [], column_keys.known_keys
    monkeypatch.setattr(column_keys, "known_keys", lambda *given: listings.append(given) or known_keys(*given))
    sensor = ticks(project, dg.AssetSpec(["foreign", "visits"], partitions_def=DAYS))
    assert {event.partition for event in sensor.tick().asset_events} == {"mon", "tue", "wed"}
    assert len(listings) == 1

"""A table that cannot be read does not keep a sensor from the other tables; a wrong cursor is explained."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest

from dagster_paimon import (
    PartitionColumn,
    changed_partitions_sensor,
    changelog_ready_sensor,
    compaction_pressure_sensor,
    freshness_sensor,
    missing_indexes_sensor,
    new_partitions_sensor,
    run_failure_cleanup,
    snapshot_sensor,
)
from table_format import SetOption, Table
from table_format.errors import InvalidInputError
from tests.support.dagster_project import Project
from tests.support.sensor_ticks import Ticks, a_table, rows


@dg.job
def compact_table() -> None: ...


@dg.job
def rewrite_index_table() -> None: ...


DAYS = dg.StaticPartitionsDefinition(["mon"])
OF_TABLES: dict[str, Callable[[], dg.SensorDefinition]] = {
    "snapshots": lambda: snapshot_sensor("crm.*"),
    "compaction pressure": lambda: compaction_pressure_sensor("crm.*"),
    "missing indexes": lambda: missing_indexes_sensor("crm.*"),
    "freshness": lambda: freshness_sensor("crm.*", allowed=timedelta(hours=1)),
}
ALL = {
    **OF_TABLES,
    "changed partitions": lambda: changed_partitions_sensor("crm/b", PartitionColumn("crm.a", "day")),
    "new partitions": lambda: new_partitions_sensor("crm.a", "day", dg.DynamicPartitionsDefinition(name="days")),
    "changelog": lambda: changelog_ready_sensor("crm.a", "reader", job=compact_table),
    "failed runs": run_failure_cleanup,
}


def ticks(project: Project, sensor: dg.SensorDefinition) -> Ticks:
    assets = [dg.AssetSpec(["crm", "b"], partitions_def=DAYS)]
    return Ticks(sensor, project.instance, project.lakehouse, assets, jobs=[compact_table, rewrite_index_table])


def a_due_table(project: Project, name: str) -> Table:
    table = a_table(project.lakehouse, name, options={"write-only": "true", "file-index.bloom-filter.columns": "id"})
    for number in range(6):
        table.append(rows((number, "mon", 1)))
    return table


def damage(table: Table) -> None:
    root = Path(table.store.paths.root)
    for path in [*root.glob("manifest/*"), *root.glob("snapshot/snapshot-*")]:
        path.write_bytes(b"x")


def refuse(table: Table) -> None:
    """Let the schemas be a file, so that the store cannot list them."""
    schemas = Path(table.store.paths.root) / "schema"
    for path in schemas.iterdir():
        path.unlink()
    schemas.rmdir()
    schemas.write_text("no directory")


@pytest.mark.parametrize("damage", [damage, refuse])
@pytest.mark.parametrize("make", OF_TABLES.values(), ids=OF_TABLES.keys())
def test_a_table_that_cannot_be_read_does_not_stop_a_sensor_of_several_tables(
    project: Project, make: Callable[[], dg.SensorDefinition], damage: Callable[[Table], None]
) -> None:
    damage(a_due_table(project, "crm.a"))
    alone = make()
    whole = a_due_table(project, "crm.b")
    if alone.name == "missing_indexes":
        project.lakehouse.catalog().alter_table(str(whole.identifier), _other_index())
    found = ticks(project, alone).tick()
    reported = [event.asset_key.path[-1] for event in found.asset_events]
    requested = [next(iter(r.run_config["ops"].values()))["config"]["table"] for r in found.run_requests or ()]
    assert {*reported, *requested} in ({"b"}, {"crm.b"})


def _other_index() -> SetOption:
    return SetOption("file-index.bsi.columns", "amount")


@pytest.mark.parametrize("make", ALL.values(), ids=ALL.keys())
@pytest.mark.parametrize("cursor", ["garbage", "7", '["crm.a"]'])
def test_the_error_about_a_wrong_cursor_says_what_to_do(
    project: Project, make: Callable[[], dg.SensorDefinition], cursor: str
) -> None:
    a_table(project.lakehouse, "crm.a")
    sensor = ticks(project, make())
    sensor.cursor = cursor
    with pytest.raises(InvalidInputError, match=r"the cursor of the sensor cannot be read \(.*\); reset it"):
        sensor.tick()

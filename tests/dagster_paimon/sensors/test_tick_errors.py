"""A table that cannot be read does not keep a sensor from the other tables; a wrong cursor is explained."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import copy
from datetime import timedelta
from pathlib import Path
from typing import Any

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


CURSORS = {
    "snapshots": {"crm.a": [[1, "0123456789ab", 1_700_000_000_000]]},
    "compaction pressure": {"crm.a": {"state": "1-ab", "looked_ms": 1, "run_key": "key", "requested_ms": 1}},
    "missing indexes": {"crm.a": {"run_key": "key", "failures": 1, "not_before_ms": 1, "successes": 1}},
    "freshness": {"crm.a": "True snapshot-1-ab"},
    "changed partitions": {
        "trails": {"crm.a": [[1, "manifest-list", ["mon"]]]},
        "waiting": ["mon"],
        "again": ["mon"],
        "requests": [["key", ["mon"], 1]],
        "failures": 1,
        "not_before_ms": 1,
        "rounds": 1,
    },
    "new partitions": {"trails": {"crm.a": [[1, "manifest-list", None]]}},
    "changelog": {"run_key": "key", "requested_ms": 1, "failures": 1, "not_before_ms": 1, "served": "1 snapshot-1"},
    "failed runs": {"since": 1.0, "done": ["run"], "here": ["run"], "cleaned": [["run", "crm.a"]]},
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


def edited(value: Any) -> Iterator[Any]:
    """Yield copies of a cursor, each with another odd value in one place."""
    yield from (None, True, -1, 2**70, 1.5, "x", ["x"], [[1]], {"a": 1})
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for place, member in members:
        for odd in edited(member):
            changed = copy(value)
            changed[place] = odd
            yield changed


@pytest.mark.parametrize("name", ALL)
def test_a_cursor_that_was_edited_by_hand_is_used_or_refused_but_raises_no_other_error(
    project: Project, name: str
) -> None:
    a_table(project.lakehouse, "crm.a").append(rows((1, "mon", 1)))
    sensor = ticks(project, ALL[name]())
    errors: set[str] = set()
    for cursor in edited(CURSORS[name]):
        sensor.cursor = json.dumps(cursor)
        try:
            sensor.tick()
        except InvalidInputError as error:
            errors.add(str(error))
    assert errors
    assert all("the cursor of the sensor cannot be read" in error for error in errors)
    sensor.cursor = json.dumps(CURSORS[name])
    sensor.tick()


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

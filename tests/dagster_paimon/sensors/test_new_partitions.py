"""Values that others write to a column become dynamic partitions."""

from __future__ import annotations

import dagster as dg
import pytest

from dagster_paimon import new_partitions_sensor
from table_format.errors import InvalidInputError
from tests.support.dagster_project import Project
from tests.support.sensor_ticks import Ticks, a_table, rows

REGIONS = dg.DynamicPartitionsDefinition(name="regions")


def regions(project: Project) -> list[str]:
    return list(project.instance.get_dynamic_partitions("regions"))


@pytest.mark.parametrize("partitions", [[], ["day"]])
def test_each_new_value_is_added_once_and_the_tick_reports_it(project: Project, partitions: list[str]) -> None:
    sensor = Ticks(new_partitions_sensor("crm.visits", "day", REGIONS), project.instance, project.lakehouse)
    assert sensor.tick().skip_message == "crm.visits does not exist"
    table = a_table(project.lakehouse, "crm.visits", partitions=partitions)
    table.append(rows((1, "north", 1), (2, "south", 1), (3, None, 1)))
    assert sensor.tick().skip_message == "added north, south of day in crm.visits"
    table.append(rows((4, "east", 1), (5, "north", 1)))
    assert sensor.tick().skip_message == "added east of day in crm.visits"
    assert sensor.tick().skip_message == "no new value of day in crm.visits"
    assert sorted(regions(project)) == ["east", "north", "south"]


def test_partitions_stay_after_a_rollback_and_after_the_table_is_created_again(project: Project) -> None:
    sensor = Ticks(new_partitions_sensor("crm.visits", "day", REGIONS), project.instance, project.lakehouse)
    table = a_table(project.lakehouse, "crm.visits")
    table.append(rows((1, "north", 1)))
    table.append(rows((2, "south", 1)))
    sensor.tick()
    table.rollback_to(1)
    sensor.tick()
    project.lakehouse.catalog().drop_table("crm.visits")
    sensor.tick()
    a_table(project.lakehouse, "crm.visits").append(rows((1, "west", 1)))
    sensor.tick()
    assert sorted(regions(project)) == ["north", "south", "west"]


def test_partitions_without_a_name_are_refused() -> None:
    nameless = dg.DynamicPartitionsDefinition(lambda _: ["a"])
    with pytest.raises(InvalidInputError, match=r"crm\.visits\.day"):
        new_partitions_sensor("crm.visits", "day", nameless)

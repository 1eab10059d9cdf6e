"""A table is reported as late when its data is older than its asset allows, without a run."""

from __future__ import annotations

from datetime import timedelta

import dagster as dg
import pytest

from dagster_paimon import freshness_sensor
from dagster_paimon.sensors import freshness
from tests.support.dagster_project import Project
from tests.support.sensor_ticks import Ticks, a_table, rows

HOUR_MS = 3_600_000


def test_a_table_becomes_late_and_fresh_again_and_each_is_reported_once(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = a_table(project.lakehouse, "crm.visits", keys=["id"], options={"write-only": "true"})
    table.append(rows((1, "mon", 1)))
    written = table.snapshots()[0].time_millis
    asset = dg.AssetSpec(["crm", "visits"], metadata={"paimon/freshness": "2 h"})
    sensor = Ticks(freshness_sensor(), project.instance, project.lakehouse, [asset])
    outcomes = []
    for hours in (0, 1, 3, 4):
        monkeypatch.setattr(freshness, "now_ms", lambda hours=hours: written + hours * HOUR_MS)
        data = sensor.tick()
        outcomes.append([(e.asset_key.to_user_string(), e.check_name, e.passed) for e in data.asset_events])
    assert outcomes == [[("crm/visits", "freshness", True)], [], [("crm/visits", "freshness", False)], []]
    assert "late: crm.visits: snapshot 1 wrote rows" in data.skip_message
    table.append(rows((2, "mon", 1)))
    table.compact(full=True)
    monkeypatch.setattr(freshness, "now_ms", lambda: table.snapshots()[1].time_millis)
    (again,) = sensor.tick().asset_events
    assert again.passed
    assert again.metadata["paimon/snapshot_id"].value == 2


def test_rows_whose_commit_has_expired_are_not_said_to_be_missing(project: Project) -> None:
    table = a_table(project.lakehouse, "crm.visits", keys=["id"])
    table.append(rows((1, "mon", 1)))
    table.analyze()
    table.expire_snapshots(retain_max=1, retain_min=1, retain_floor_ms=0)
    (late,) = (
        Ticks(freshness_sensor(allowed=timedelta(hours=1)), project.instance, project.lakehouse).tick().asset_events
    )
    assert not late.passed
    assert late.description.startswith("the last commit that wrote rows has expired: it was before ")
    assert late.description.endswith("the allowed age is 1 h, so retain snapshots for longer")


def test_only_tables_with_an_allowed_age_are_checked(project: Project) -> None:
    a_table(project.lakehouse, "crm.visits")
    assert Ticks(freshness_sensor(), project.instance, project.lakehouse).tick().asset_events == []
    sensor = Ticks(freshness_sensor(allowed=timedelta(hours=1)), project.instance, project.lakehouse)
    (empty,) = sensor.tick().asset_events
    assert (empty.passed, empty.description) == (False, "no commit has written rows; the allowed age is 1 h")


def test_an_invalid_age_is_reported_with_its_table_and_others_are_checked(project: Project) -> None:
    for name in ("crm.tickets", "crm.visits"):
        a_table(project.lakehouse, name)
    ages = {"tickets": "soon", "visits": "2 h"}
    assets = [dg.AssetSpec(["crm", name], metadata={"paimon/freshness": age}) for name, age in ages.items()]
    data = Ticks(freshness_sensor(), project.instance, project.lakehouse, assets).tick()
    assert [event.asset_key.to_user_string() for event in data.asset_events] == ["crm/visits"]
    assert "crm.tickets cannot be checked: paimon/freshness 'soon': expected" in data.skip_message

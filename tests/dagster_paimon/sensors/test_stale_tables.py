"""Materialized tables whose rows are too old are refreshed: one run at a time, and none while nothing has changed."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from dagster_paimon import SparkResource, materialized_table_assets, stale_tables_sensor
from dagster_paimon.sensors import stale_tables, watched_tables
from table_format import SetOption
from table_format.errors import InvalidInputError
from tests.support.code_blocks import code_blocks, run_block
from tests.support.dagster_project import Project
from tests.support.materialized_tables import a_materialized_table, refreshed
from tests.support.sensor_ticks import ROWS, Ticks, a_table, rows

PAGE = Path(__file__).parents[3] / "docs" / "materialized-tables.md"
NOW = 1_800_000_000_000
TOTALS = dg.AssetKey(["shop", "totals"])


class Sensor:
    """The sensor on one table, which was refreshed at ``NOW``, and a clock that a test moves."""

    def __init__(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.lakehouse, self.instance = NOW, project.lakehouse, project.instance
        self.catalog = project.lakehouse.catalog()
        self.source = a_table(project.lakehouse, "shop.visits")
        self.source.append(rows((1, "mon", 1)))
        a_materialized_table(self.catalog, "shop.totals", "SELECT * FROM `shop`.`visits`", ROWS)
        self.refresh()
        assets = materialized_table_assets(project.lakehouse, "shop.*")
        self.ticks = Ticks(
            stale_tables_sensor(assets),
            project.instance,
            project.lakehouse,
            assets=assets,
            resources={"spark": SparkResource()},
        )
        for module in (stale_tables, watched_tables):
            monkeypatch.setattr(module, "now_ms", lambda: self.now)
        self.skip = ""

    def refresh(self) -> None:
        refreshed(self.catalog, "shop.totals", self.source.scan().to_arrow(), at_ms=self.now)

    def tick(self) -> list[str]:
        """The run keys of one tick."""
        found = self.ticks.tick()
        self.skip = found.skip_message or ""
        assert all(list(request.asset_selection) == [TOTALS] for request in found.run_requests)
        return [str(request.run_key) for request in found.run_requests]

    def ended(self, run_key: str, status: dg.DagsterRunStatus) -> None:
        @dg.job
        def any_job() -> None: ...

        self.instance.create_run_for_job(any_job, tags={"dagster/run_key": run_key}, status=status)


@pytest.fixture
def sensor(project: Project, monkeypatch: pytest.MonkeyPatch) -> Sensor:
    return Sensor(project, monkeypatch)


def test_a_table_is_refreshed_when_it_is_stale_by_more_than_30_seconds_and_once_at_a_time(sensor: Sensor) -> None:
    sensor.source.append(rows((2, "tue", 2)))
    sensor.now += 29_000
    assert (sensor.tick(), sensor.skip) == ([], "no materialized table is stale")
    sensor.now += 2_000
    (first,) = sensor.tick()
    sensor.now += 60_000
    assert (sensor.tick(), sensor.skip) == ([], "the refresh of shop.totals is in progress")
    sensor.refresh()
    sensor.ended(first, dg.DagsterRunStatus.SUCCESS)
    assert sensor.tick() == []
    sensor.source.append(rows((3, "wed", 3)))
    sensor.now += 31_000
    (second,) = sensor.tick()
    assert second != first


def test_a_tick_ends_before_dagster_gives_it_up_and_the_next_one_goes_on_with_the_other_tables(
    sensor: Sensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_SENSOR_GRPC_TIMEOUT_SECONDS", "0.000001")  # enough for one table
    for name in ("shop.sums", "shop.ends"):
        a_materialized_table(sensor.catalog, name, "SELECT * FROM `shop`.`visits`", ROWS)
    assets = materialized_table_assets(sensor.lakehouse, "shop.*")
    of_all = Ticks(
        stale_tables_sensor(assets),
        sensor.instance,
        sensor.lakehouse,
        assets=assets,
        resources={"spark": SparkResource()},
    )
    sensor.source.append(rows((2, "tue", 2)))
    sensor.now += 31_000
    asked = [[request.asset_selection[0].path[-1] for request in of_all.tick().run_requests] for _ in range(4)]
    assert asked == [["ends"], ["sums"], ["totals"], []]


def test_a_refresh_that_failed_is_requested_again_after_a_pause(sensor: Sensor) -> None:
    sensor.source.append(rows((2, "tue", 2)))
    sensor.now += 31_000
    (first,) = sensor.tick()
    sensor.ended(first, dg.DagsterRunStatus.FAILURE)
    assert sensor.tick() == []
    sensor.now += 61_000
    assert sensor.tick() == [f"{first} attempt 2"]


def test_a_table_whose_sources_have_not_changed_is_reported_as_fresh_without_a_run(sensor: Sensor) -> None:
    materializations = sensor.instance.fetch_materializations
    sensor.now += 60_000
    assert sensor.tick() == []
    assert materializations(TOTALS, limit=9).records == []
    sensor.now += 1
    assert (sensor.tick(), sensor.skip) == ([], "shop.totals is fresh: no source has changed")
    sensor.now += 30_000
    assert sensor.tick() == []
    (reported,) = materializations(TOTALS, limit=9).records
    assert reported.asset_materialization is not None
    metadata = {key: value.value for key, value in reported.asset_materialization.metadata.items()}
    assert metadata["paimon/consumed"] == "shop.visits: snapshot 1"
    assert metadata["paimon/refresh"] == "unchanged: no source has changed"
    sensor.now += 31_000
    sensor.tick()
    assert len(materializations(TOTALS, limit=9).records) == 2


def test_a_suspended_table_is_left_alone_until_it_is_resumed(sensor: Sensor) -> None:
    status = "materialized-table.refresh-status"
    sensor.catalog.alter_table("shop.totals", SetOption(status, "SUSPENDED"))
    sensor.source.append(rows((2, "tue", 2)))
    sensor.now += 31_000
    assert (sensor.tick(), sensor.skip) == ([], "shop.totals is not refreshed: it is suspended")
    sensor.catalog.alter_table("shop.totals", SetOption(status, "ACTIVATED"))
    assert len(sensor.tick()) == 1


def test_a_table_that_is_gone_is_reported_and_a_sensor_needs_a_table(sensor: Sensor) -> None:
    sensor.catalog.drop_table("shop.totals")
    assert sensor.tick() == []
    assert "shop.totals cannot be checked" in sensor.skip
    with pytest.raises(InvalidInputError, match="no asset is given"):
        stale_tables_sensor([])


def test_assets_depend_on_their_sources_and_have_a_freshness_policy(project: Project) -> None:
    catalog = project.lakehouse.catalog()
    for name in ("visits", "users"):
        a_table(project.lakehouse, f"shop.{name}")
    a_materialized_table(
        catalog, "shop.m", "SELECT v.* FROM shop.visits v JOIN shop.users USING (id)", ROWS, seconds=3600
    )
    a_materialized_table(catalog, "shop.n", "SELECT * FROM shop.m", ROWS)
    visits = dg.AssetSpec(["raw", "clicks"], metadata={"paimon/table": "shop.visits"})
    first, second = materialized_table_assets(project.lakehouse, "shop.*", assets=[visits], group_name="marts")
    spec = first.get_asset_spec()
    assert [dep.asset_key.path for dep in spec.deps] == [["raw", "clicks"], ["shop", "users"]]
    assert [dep.asset_key.path for dep in second.get_asset_spec().deps] == [["shop", "m"]]
    assert (spec.group_name, spec.kinds) == ("marts", {"paimon", "spark"})
    assert spec.freshness_policy is not None
    policies = [one.get_asset_spec().freshness_policy for one in (first, second)]
    assert [
        (p.warn_window.to_timedelta().total_seconds(), p.fail_window.to_timedelta().total_seconds())
        for p in policies
        if p is not None
    ] == [(3600, 7200), (60, 120)]
    assert len(materialized_table_assets(project.lakehouse, "shop.n")) == 1
    with pytest.raises(InvalidInputError, match=r"'shop\.users' is not a materialized table"):
        materialized_table_assets(project.lakehouse, "shop.users")


def test_the_example_of_the_page_loads(sensor: Sensor) -> None:
    (program,) = (text for text in code_blocks(PAGE.read_text()) if "dagster" in text)
    names = {"warehouse": sensor.lakehouse.warehouse}
    run_block(program, names)
    defs = names["defs"]
    assert isinstance(defs, dg.Definitions)
    assert [spec.key for spec in defs.resolve_all_asset_specs()] == [TOTALS, dg.AssetKey(["shop", "visits"])]
    dg.Definitions.validate_loadable(defs)

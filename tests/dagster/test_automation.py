"""The requests of the automation of the shop, tick by tick, without manual runs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import dagster as dg
import pytest

from assets import TABLE_ASSETS
from definitions import defs

pytestmark = [
    pytest.mark.dagster,
    pytest.mark.filterwarnings("ignore::dagster.BetaWarning"),
]
AUTOMATED: Final = {"mart/user_ltv", "mart/order_funnel", "mart/clicks_by_hour", "ops/table_health"}


class Automation:
    """The automation sensor on an instance of its own; the clock begins at half past nine."""

    def __init__(self, instance: dg.DagsterInstance) -> None:
        self.instance = instance
        self.time = datetime(2026, 2, 1, 9, 30, tzinfo=UTC)
        self.cursor: Any = None
        self.tick()

    def made(self, asset: str, *partitions: str) -> None:
        for partition in partitions or (None,):
            self.instance.report_runless_asset_event(dg.AssetMaterialization(asset.split("/"), partition=partition))

    def tick(self, minutes: int = 1) -> set[str]:
        self.time += timedelta(minutes=minutes)
        result = dg.evaluate_automation_conditions(
            defs=defs, instance=self.instance, cursor=self.cursor, evaluation_time=self.time
        )
        self.cursor = result.cursor
        return {name for name in AUTOMATED if result.get_num_requested(dg.AssetKey(name.split("/")))}


@pytest.fixture
def automation() -> Iterator[Automation]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield Automation(instance)


def test_the_lifetime_values_are_updated_after_each_day_of_orders_even_if_later_days_are_missing(
    automation: Automation,
) -> None:
    assert automation.tick() == set()
    automation.made("dwd/orders", "2026-01-05")
    assert automation.tick() == {"mart/user_ltv"}
    automation.made("mart/user_ltv")
    assert automation.tick() == set()
    automation.made("dwd/orders", "2026-01-01", "2026-01-05")
    assert automation.tick() == {"mart/user_ltv"}


def test_the_funnel_is_refreshed_at_the_full_hour_after_orders_have_changed(automation: Automation) -> None:
    automation.made("dwd/orders", "2026-01-05")
    assert "mart/order_funnel" not in automation.tick()
    assert {"mart/order_funnel", "ops/table_health"} <= automation.tick(minutes=40)
    automation.made("mart/order_funnel")
    assert "mart/order_funnel" not in automation.tick(minutes=60)
    automation.made("dwd/orders", "2026-01-06")
    assert "mart/order_funnel" in automation.tick(minutes=60)


def test_the_mart_of_an_external_table_follows_its_snapshots(automation: Automation) -> None:
    automation.made("ext/web_clicks")
    assert automation.tick() == {"mart/clicks_by_hour"}


def test_every_other_table_is_materialized_by_a_job_or_by_its_sensor() -> None:
    conditions = {
        asset.key.to_user_string() for asset in TABLE_ASSETS if asset.get_asset_spec().automation_condition is not None
    }
    assert conditions == AUTOMATED

"""The freshness of a table: SQL intervals as cron expressions, policies and automation."""

from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg
import pytest

from dagster_paimon.tables.freshness import Freshness
from table_format.errors import InvalidInputError

pytestmark = [pytest.mark.dagster, pytest.mark.filterwarnings("ignore::dagster.BetaWarning")]


@pytest.mark.parametrize(
    ("interval", "cron", "length"),
    [
        ("INTERVAL '1' MINUTE", "*/1 * * * *", timedelta(minutes=1)),
        ("interval '15' minutes", "*/15 * * * *", timedelta(minutes=15)),
        ("INTERVAL '120' SECOND", "*/2 * * * *", timedelta(minutes=2)),
        ("INTERVAL '1' HOUR", "0 */1 * * *", timedelta(hours=1)),
        ("8 HOURS", "0 */8 * * *", timedelta(hours=8)),
        ("INTERVAL '1' DAY", "0 0 * * *", timedelta(days=1)),
    ],
)
def test_an_interval_becomes_a_cron_expression(interval: str, cron: str, length: timedelta) -> None:
    found = Freshness.of(interval)
    assert (found.cron, found.interval) == (cron, length)
    assert found.policy == dg.FreshnessPolicy.time_window(fail_window=2 * length, warn_window=length)


@pytest.mark.parametrize(
    "interval", ["INTERVAL '30' SECOND", "INTERVAL '7' HOUR", "INTERVAL '2' DAY", "soon", "0 HOUR"]
)
def test_an_interval_without_a_cron_expression_is_refused(interval: str) -> None:
    with pytest.raises(InvalidInputError, match="freshness"):
        Freshness.of(interval)


@pytest.mark.parametrize("partitions", [None, dg.StaticPartitionsDefinition(["eu", "us"])])
def test_a_table_is_refreshed_at_the_tick_after_its_source_has_changed(partitions: Any) -> None:
    def made(asset: dg.AssetsDefinition) -> None:
        dg.materialize([asset], instance=instance, partition_key="eu" if partitions else None)

    @dg.asset(partitions_def=partitions)
    def source() -> None: ...

    @dg.asset(deps=[source], automation_condition=Freshness.of("INTERVAL '1' HOUR").automation_condition)
    def mart() -> None: ...

    defs = dg.Definitions(assets=[source, mart])
    with dg.DagsterInstance.ephemeral() as instance:
        cursor: Any = None

        def requested(hour: int, minute: int) -> int:
            nonlocal cursor
            result = dg.evaluate_automation_conditions(
                defs, instance, cursor=cursor, evaluation_time=datetime(2026, 1, 1, hour, minute, tzinfo=UTC)
            )
            cursor = result.cursor
            return result.total_requested

        made(source)
        assert requested(10, 30) == 0  # the first tick of the automation only begins to watch the clock
        assert requested(11, 1) == 1
        instance.report_runless_asset_event(dg.AssetMaterialization(mart.key))
        assert requested(12, 1) == 0  # nothing has changed
        made(source)
        assert requested(12, 30) == 0  # the next full hour is still to come
        assert requested(13, 1) == 1

"""The nightly schedule loads one more day of the feed, and none twice."""

from datetime import UTC, datetime

import dagster as dg
import pytest

from assets.partitions import FEED_DAYS, daily
from jobs.pipelines import cdc_daily

pytestmark = [pytest.mark.dagster, pytest.mark.filterwarnings("ignore::dagster.BetaWarning")]


def requested(instance: dg.DagsterInstance) -> dg.RunRequest | dg.SkipReason:
    context = dg.build_schedule_context(instance=instance, scheduled_execution_time=datetime(2026, 11, 1, tzinfo=UTC))
    found = cdc_daily(context)
    assert isinstance(found, dg.RunRequest | dg.SkipReason)
    return found


def landed(instance: dg.DagsterInstance, *days: str) -> None:
    for day in days:
        instance.report_runless_asset_event(dg.AssetMaterialization(["dwd", "orders"], partition=day))


def test_the_first_day_that_was_never_loaded_is_requested() -> None:
    with dg.instance_for_test() as instance:
        landed(instance, "2026-01-01", "2026-01-03")
        found = requested(instance)
        assert isinstance(found, dg.RunRequest)
        assert found.partition_key == "2026-01-02"


def test_nothing_is_requested_when_the_whole_feed_is_loaded() -> None:
    with dg.instance_for_test() as instance:
        days = daily.get_partition_keys()
        assert len(days) == FEED_DAYS
        landed(instance, *days)
        assert isinstance(requested(instance), dg.SkipReason)

"""The jobs that materialize assets, and the schedule of the whole pipeline (UTC)."""

# No postponed annotations here: Dagster inspects the type of `context`.

from typing import Final

import dagster as dg

from assets.enriched import orders_enriched_staged
from assets.partitions import daily

_STAGED: Final = dg.AssetSelection.assets("dwd/orders_enriched_staged", "dwd/orders_enriched")
MAIN: Final = dg.AssetSelection.groups("landing", "ods", "dwd") - _STAGED

ingest: Final = dg.define_asset_job(
    "ingest",
    selection=MAIN,
    description="Land the change files of some days, append them to `ods`, and update `dwd`.",
)

main_pipeline: Final = dg.define_asset_job(
    "main_pipeline",
    selection=MAIN | dg.AssetSelection.assets("mart/daily_revenue"),
    description="Everything from landing to mart for one day or a range of days.",
)

marts: Final = dg.define_asset_job(
    "marts",
    selection=dg.AssetSelection.assets("mart/daily_revenue") | _STAGED,
    description="Compute the marts of some days from `dwd`; the enriched orders are audited before they are published.",
)

enrich: Final = dg.define_asset_job(
    "enrich",
    selection=_STAGED,
    description="Write the enriched orders of some days to a branch, audit them, and publish them.",
)

follow_changes: Final = dg.define_asset_job(
    "follow_changes",
    selection=dg.AssetSelection.assets("mart/user_ltv", "mart/order_funnel", "ops/table_health"),
    description="Update the marts that follow changes, and measure all tables. Needs no Spark.",
)

all_checks: Final = dg.define_asset_job(
    "all_checks",
    # The audit of a branch has nothing to check after the branch is published.
    selection=dg.AssetSelection.all_asset_checks() - dg.AssetSelection.checks_for_assets(orders_enriched_staged),
    description="Run every asset check on the current tables. Needs no Spark.",
)


@dg.schedule(
    job=main_pipeline, cron_schedule="10 1 * * *", description="The next day of the feed, from landing to mart."
)
def cdc_daily(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    """Request the first day that was never loaded."""
    loaded = context.instance.get_materialized_partitions(dg.AssetKey(["dwd", "orders"]))
    following = next((day for day in daily.get_partition_keys() if day not in loaded), None)
    if following is None:
        return dg.SkipReason("every day of the feed is loaded")
    return dg.RunRequest(run_key=f"feed {following}", partition_key=following)

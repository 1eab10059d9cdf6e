"""The jobs that make assets, and when the whole pipeline runs by the clock (UTC)."""

from __future__ import annotations

from typing import Final

import dagster as dg

from assets.enriched import orders_enriched_staged

_STAGED: Final = dg.AssetSelection.assets("dwd/orders_enriched_staged", "dwd/orders_enriched")
MAIN: Final = dg.AssetSelection.groups("landing", "ods", "dwd") - _STAGED

ingest: Final = dg.define_asset_job(
    "ingest",
    selection=MAIN,
    description="Land the change files of some days, append them to `ods`, bring `dwd` up to date.",
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
    description="Bring the marts that follow changes up to date, and measure all tables; needs no Spark.",
)

all_checks: Final = dg.define_asset_job(
    "all_checks",
    # The audit of a branch has nothing to look at once the branch is published.
    selection=dg.AssetSelection.all_asset_checks() - dg.AssetSelection.checks_for_assets(orders_enriched_staged),
    description="Run every asset check on the tables as they are; needs no Spark.",
)

cdc_daily: Final = dg.build_schedule_from_partitioned_job(
    main_pipeline, name="cdc_daily", hour_of_day=1, minute_of_hour=10, description="Yesterday, from landing to mart."
)

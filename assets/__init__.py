"""The assets of the lakehouse and their checks: landing, ods, dwd, mart, and tables that others write."""

from __future__ import annotations

import warnings
from typing import Final

import dagster as dg

with warnings.catch_warnings():
    # Single-run backfills and windows beyond the last partition are "beta" and used on purpose.
    warnings.simplefilter("ignore", category=dg.BetaWarning)
    from assets.checks import checks_of
    from assets.dwd import orders, users
    from assets.enriched import audit, orders_enriched, orders_enriched_staged
    from assets.external import clicks_by_hour, web_clicks
    from assets.landing import landing_assets
    from assets.mart import daily_revenue
    from assets.ods import orders_cdc, users_cdc
    from assets.ops import table_health
    from assets.totals import order_funnel, user_ltv

PIPELINE: Final = (orders_cdc, users_cdc, orders, users, daily_revenue)
TABLE_ASSETS: Final = (*PIPELINE, orders_enriched, user_ltv, order_funnel, clicks_by_hour, table_health)


def table_of(asset: dg.AssetsDefinition) -> str:
    """Return the table of an asset of this project."""
    return ".".join(asset.key.path[-2:])


PIPELINE_TABLES: Final = tuple(table_of(asset) for asset in PIPELINE)
MANAGED_TABLES: Final = tuple(table_of(asset) for asset in TABLE_ASSETS)
"""The tables of the maintenance jobs."""

all_assets: Final[tuple[dg.AssetsDefinition | dg.AssetSpec, ...]] = (
    *landing_assets,
    *TABLE_ASSETS,
    orders_enriched_staged,
    web_clicks,
)
all_checks: Final = (*checks_of(PIPELINE_TABLES, PIPELINE), audit)

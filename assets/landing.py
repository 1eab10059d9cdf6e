"""``landing``: a directory of JSON lines for each table of the shop and day, from the seeded generator.

In production, a connector would write these files. All downstream assets read them.
"""

# No postponed annotations here: Dagster inspects the type of `context`.

from datetime import date
from typing import Final

import dagster as dg
from pydantic import Field

from assets.feed import FEED_TABLES, FeedPlan, FeedTable, json_lines, source_columns
from assets.partitions import ONE_RUN, daily
from dagster_paimon.resources.progress import Progress
from dagster_paimon.resources.secrets import Guarded
from resources.landing import LandingZone


class ShopFeed(Guarded):
    """The generated change feed of the shop. The same settings always give the same bytes."""

    seed: int = Field(default=7, description="The random seed. Another seed gives another shop.")
    events_per_day: int = Field(
        default=5_000, description="Approximate events per day: four fifths orders, one fifth users."
    )
    late_share: float = Field(default=0.02, description="Share of events that arrive one to three days late.")
    duplicate_share: float = Field(default=0.01, description="Share of events that arrive twice.")
    disorder_share: float = Field(default=0.05, description="Share of events out of order within their file.")
    delete_share: float = Field(default=0.02, description="Share of orders and users that are deleted in the end.")
    schema_change_day: int = Field(default=8, description="Day on which orders get `coupon` and a wider `amount`.")

    def plan(self) -> FeedPlan:
        """Return the settings for the generator."""
        return FeedPlan(
            seed=self.seed,
            events_per_day=self.events_per_day,
            late_share=self.late_share,
            duplicate_share=self.duplicate_share,
            disorder_share=self.disorder_share,
            delete_share=self.delete_share,
            schema_change_day=self.schema_change_day,
        )


def feed_asset(table: FeedTable) -> dg.AssetsDefinition:
    """Return the asset that lands the change files of one table."""

    @dg.asset(
        name=f"{table}_feed",
        key_prefix="landing",
        group_name="landing",
        partitions_def=daily,
        backfill_policy=ONE_RUN,
        kinds={"json", "python"},
        code_version="1",
        description=f"Change events of the shop's `{table}` by day of arrival: late, duplicate and out of order.",
    )
    def land(context: dg.AssetExecutionContext, feed: ShopFeed, landing: LandingZone) -> None:
        plan = feed.plan()
        progress = Progress(context.log.info, len(context.partition_keys), f"days of {table} landed")
        for key in context.partition_keys:
            index = plan.index(date.fromisoformat(key))
            columns = source_columns(plan, table, index)
            landed = landing.land(table, key, json_lines(plan, table, index), columns)
            context.add_asset_metadata(
                {
                    "dagster/partition_row_count": landed.lines,
                    "path": dg.MetadataValue.path(str(landed.directory)),
                    "size_bytes": landed.size_bytes,
                    "sha256": landed.digest,
                    "columns": dg.MetadataValue.json(columns),
                },
                partition_key=key,
            )
            progress.advance()
        # The settings determine the bytes, so the same settings give the same data version.
        context.set_data_version(context.asset_key, dg.DataVersion(feed_version(plan)))

    return land


def feed_version(plan: FeedPlan) -> str:
    """Return a data version from the settings of the files."""
    shares = f"{plan.late_share}/{plan.duplicate_share}/{plan.disorder_share}/{plan.delete_share}"
    return f"seed {plan.seed}, {plan.events_per_day} events, {shares}, change on day {plan.schema_change_day}"


landing_assets: Final = tuple(feed_asset(table) for table in FEED_TABLES)

"""``mart``: the reports of the shop."""

# No postponed annotations here: Dagster inspects the type of `context`.

from datetime import timedelta
from typing import Any, Final

import dagster as dg

from assets.daily_table import daily_table
from assets.feed.plan import LIFECYCLE_DAYS, MAX_LATE_DAYS
from assets.partitions import WEEKS
from dagster_paimon.io.frames import SparkFrame

SOLD: Final = ("paid", "shipped")
REVENUE_COLUMNS: Final = ("status", "amount", "user_id")
"""The columns of `dwd.orders`, besides the day of order, that affect the mart."""

REVENUE_MAX_AGE: Final = timedelta(hours=36)
"""The maximum age of the rows of `mart.daily_revenue`."""

_LAST_ARRIVAL: Final = LIFECYCLE_DAYS + MAX_LATE_DAYS + 1
"""The number of days after its creation on which events of an order can arrive."""


def _lineage(**sources: str) -> dg.TableColumnLineage:
    orders = dg.AssetKey(["dwd", "orders"])
    return dg.TableColumnLineage(
        {column: [dg.TableColumnDep(orders, name) for name in names.split()] for column, names in sources.items()}
    )


_METADATA: Final[dict[str, Any]] = {
    "partition_expr": "dt",
    "paimon/write_mode": "overwrite_partition",
    "paimon/comment": "Sales by day of order",
    "paimon/comments": {
        "dt": "day the orders were created",
        "orders": "orders paid or shipped",
        "customers": "users with one of these orders",
        "revenue": "their amounts",
        "cancelled": "orders cancelled",
    },
    "dagster/column_lineage": _lineage(
        dt="created_at", orders="order_id status", customers="user_id", revenue="amount status", cancelled="status"
    ),
}


@daily_table(
    "mart",
    "daily_revenue",
    ins={
        "orders": dg.AssetIn(
            key=["dwd", "orders"],
            partition_mapping=dg.TimeWindowPartitionMapping(
                end_offset=_LAST_ARRIVAL, allow_nonexistent_upstream_partitions=True
            ),
        )
    },
    metadata=_METADATA,
    backfill_policy=WEEKS,
    # No automation condition: Dagster knows which days of arrival changed, but not the order days of their events. The
    # sensor `revenue_of_changed_days` reads these from the commits of `dwd.orders`.
    freshness_policy=dg.FreshnessPolicy.time_window(fail_window=REVENUE_MAX_AGE, warn_window=timedelta(hours=26)),
)
def daily_revenue(context: dg.AssetExecutionContext, orders: SparkFrame) -> SparkFrame:
    """Orders, customers and revenue by day of order. A day changes as long as events of its orders arrive."""
    from pyspark.sql import functions as F

    sold = F.col("status").isin(list(SOLD))
    return (
        orders.where(F.col("order_date").isin(list(context.partition_keys)))
        .groupBy(F.col("order_date").alias("dt"))
        .agg(
            F.count(F.when(sold, 1)).alias("orders"),
            F.count_distinct(F.when(sold, F.col("user_id"))).alias("customers"),
            F.coalesce(F.sum(F.when(sold, F.col("amount"))), F.lit(0)).cast("decimal(18, 2)").alias("revenue"),
            F.count(F.when(F.col("status") == "cancelled", 1)).alias("cancelled"),
        )
    )

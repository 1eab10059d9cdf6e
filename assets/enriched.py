"""``dwd.orders_enriched``: orders with their users, written to a branch, audited there, and then published.

Readers of the table never see a day that has not passed the audit: the staged asset writes to a branch of its run, the
checks read this branch, and then the table is fast-forwarded to the branch.
"""
# No postponed annotations here: Dagster inspects the type of `context`.

from typing import Any, Final

import dagster as dg
import pyarrow.compute as pc

from assets.daily_table import daily_table
from assets.feed.plan import LIFECYCLE_DAYS, MAX_LATE_DAYS
from assets.links import maintenance_links
from assets.partitions import ONE_RUN
from dagster_paimon import SparkFrame, branch_audit, published_table
from table_format import Table

TABLE: Final = "dwd.orders_enriched"
_POOL: Final = "write_dwd_orders_enriched"
"""Of both assets: a run begins its branch only after the run before it has published its own."""
_LAST_ARRIVAL: Final = LIFECYCLE_DAYS + MAX_LATE_DAYS + 1
_METADATA: Final[dict[str, Any]] = {
    "paimon/table": TABLE,
    "paimon/wap": True,
    "partition_expr": "dt",
    "paimon/write_mode": "overwrite_partition",
    "paimon/comment": "Orders by day of order, with the city and tier of their users",
    "paimon/comments": {"dt": "day the order was created", "city": "null when the user is gone"},
}


def _arrived(table: str) -> dg.AssetIn:
    """Return an input with all days on which events of the orders of a day can arrive."""
    return dg.AssetIn(
        key=["dwd", table],
        partition_mapping=dg.TimeWindowPartitionMapping(
            end_offset=_LAST_ARRIVAL, allow_nonexistent_upstream_partitions=True
        ),
    )


@daily_table(
    "dwd",
    "orders_enriched_staged",
    ins={"orders": _arrived("orders"), "users": _arrived("users")},
    metadata=_METADATA,
    pool=_POOL,
)
def orders_enriched_staged(context: dg.AssetExecutionContext, orders: SparkFrame, users: SparkFrame) -> SparkFrame:
    """Orders with the city and tier of their users, on a branch of this run."""
    from pyspark.sql import functions as F

    days = orders.where(F.col("order_date").isin(list(context.partition_keys)))
    return days.join(users.select("user_id", "city", "tier"), "user_id", "left").select(
        F.col("order_date").alias("dt"), "order_id", "user_id", "city", "tier", "status", "amount"
    )


def _one_row_for_each_order(table: Table) -> dg.AssetCheckResult:
    orders = table.scan(columns=["order_id"]).to_arrow()["order_id"]
    distinct = pc.count_distinct(orders).as_py()
    metadata = {"rows": dg.MetadataValue.int(len(orders)), "distinct orders": dg.MetadataValue.int(distinct)}
    return dg.AssetCheckResult(passed=distinct == len(orders), metadata=metadata)


audit: Final = branch_audit(
    orders_enriched_staged,
    "one_row_for_each_order",
    _one_row_for_each_order,
    description="The join has neither lost nor duplicated an order. If this check fails, the rows are not published.",
)

orders_enriched: Final = published_table(
    orders_enriched_staged,
    metadata=maintenance_links(TABLE),
    group_name="dwd",
    backfill_policy=ONE_RUN,
    owners=["team:shop"],
    pool=_POOL,
)

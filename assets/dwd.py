"""``dwd``: the current rows of the shop, in one primary-key table for each source table, maintained by upsert.

Days may be run in any order and repeated; the resulting table is the same. ``sequence.field`` alone does not ensure
this: a full compaction removes deletes, and an older event that arrives after the compaction would restore the row.
Therefore a run writes, for every key in its days, the last event of *all* days that may contain one: up to
``MAX_LATE_DAYS`` before, and every later day.
"""

# No postponed annotations here: Dagster inspects the type of `context`.

from collections.abc import Sequence
from typing import Any, Final

import dagster as dg

from assets.daily_table import daily_table
from assets.feed import FeedTable
from assets.feed.plan import COLUMN_COMMENTS, KEY_COLUMN, MAX_LATE_DAYS
from assets.ods import EVENT_COLUMNS
from dagster_paimon.io.frames import SparkFrame

ARRIVED: Final = "_arrived"
"""The column with the days of the run whose events affect a row. It is counted but not stored."""


def _metadata(table: FeedTable) -> dict[str, Any]:
    return {
        "paimon/write_mode": "upsert",
        "paimon/primary_key": [KEY_COLUMN[table]],
        # The asset is partitioned by day of arrival; the table is not partitioned.
        "paimon/partition_scope": "input",
        "paimon/row_partition": ARRIVED,
        "paimon/options": {
            "bucket": "2",
            "merge-engine": "deduplicate",
            "sequence.field": "lsn",
            # Marts read the changes of these tables.
            "changelog-producer": "lookup",
        },
        "paimon/comments": {
            **COLUMN_COMMENTS[table],
            "lsn": "position in the source's log of the event that made the row",
            "order_date": "day of the order, as the marts count it",
        },
        "paimon/comment": f"The shop's {table} as they are now",
    }


def _events(table: FeedTable) -> dg.AssetIn:
    return dg.AssetIn(
        key=["ods", f"{table}_cdc"],
        partition_mapping=dg.TimeWindowPartitionMapping(
            # One day more than the maximum delay of an event, because a duplicate arrives up to a day after its
            # original.
            start_offset=-MAX_LATE_DAYS - 1,
            allow_nonexistent_upstream_partitions=True,
        ),
        metadata={"paimon/open_end": True},
    )


@daily_table("dwd", "orders", ins={"events": _events(FeedTable.ORDERS)}, metadata=_metadata(FeedTable.ORDERS))
def orders(context: dg.AssetExecutionContext, events: SparkFrame) -> SparkFrame:
    """The current orders, with the column `order_date` and without deleted orders."""
    from pyspark.sql import functions as F

    rows = current_rows(events, FeedTable.ORDERS, context.partition_keys)
    return rows.withColumn("order_date", F.date_format("created_at", "yyyy-MM-dd"))


@daily_table("dwd", "users", ins={"events": _events(FeedTable.USERS)}, metadata=_metadata(FeedTable.USERS))
def users(context: dg.AssetExecutionContext, events: SparkFrame) -> SparkFrame:
    """The current users, without deleted users."""
    return current_rows(events, FeedTable.USERS, context.partition_keys)


def current_rows(events: SparkFrame, table: FeedTable, days: Sequence[str]) -> SparkFrame:
    """Return the last row of all events, or the delete, for every key in these days, with the row kind in
    ``_row_kind``.

    ``_arrived`` holds the days with events of the key.
    """
    from pyspark.sql import functions as F

    key = KEY_COLUMN[table]
    touched = events.where(F.col("dt").isin(list(days))).groupBy(key).agg(F.collect_set("dt").alias(ARRIVED))
    columns = [name for name in events.columns if name not in EVENT_COLUMNS and name != key]
    last = F.max_by(F.struct("op", "lsn", *columns), "lsn").alias("last")
    return (
        events.join(touched, key)
        .groupBy(key)
        .agg(last, F.first(ARRIVED).alias(ARRIVED))
        .select(
            key,
            *(F.col(f"last.{name}") for name in columns),
            F.col("last.lsn"),
            ARRIVED,
            F.when(F.col("last.op") == "d", "-D").otherwise("+I").alias("_row_kind"),
        )
    )

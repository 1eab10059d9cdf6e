"""``dwd``: the rows of the shop as they are now, one primary-key table for each source table, kept by upsert.

Days may be run in any order and again, and the table ends the same. ``sequence.field`` alone does not give that: a full
compaction forgets deletes, and an event older than the delete that arrives after it would bring the row back. So a run
writes, for every key its days touch, the last event of *all* days that can hold one: those up to ``MAX_LATE_DAYS``
before, and every later day there is.
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
"""The days of the run whose events a row comes from; they are counted and not stored."""


def _metadata(table: FeedTable) -> dict[str, Any]:
    return {
        "paimon/write_mode": "upsert",
        "paimon/primary_key": [KEY_COLUMN[table]],
        # Partitioned in Dagster by day of arrival; the table itself is not.
        "paimon/partition_scope": "input",
        "paimon/row_partition": ARRIVED,
        "paimon/options": {
            "bucket": "2",
            "merge-engine": "deduplicate",
            "sequence.field": "lsn",
            # Marts follow the changes of these tables.
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
            # One day more than an event can be late: a repeated one comes up to a day after its original.
            start_offset=-MAX_LATE_DAYS - 1,
            allow_nonexistent_upstream_partitions=True,
        ),
        metadata={"paimon/open_end": True},
    )


@daily_table("dwd", "orders", ins={"events": _events(FeedTable.ORDERS)}, metadata=_metadata(FeedTable.ORDERS))
def orders(context: dg.AssetExecutionContext, events: SparkFrame) -> SparkFrame:
    """Orders as they are now, `order_date` among their columns; deleted ones are gone."""
    from pyspark.sql import functions as F

    rows = current_rows(events, FeedTable.ORDERS, context.partition_keys)
    return rows.withColumn("order_date", F.date_format("created_at", "yyyy-MM-dd"))


@daily_table("dwd", "users", ins={"events": _events(FeedTable.USERS)}, metadata=_metadata(FeedTable.USERS))
def users(context: dg.AssetExecutionContext, events: SparkFrame) -> SparkFrame:
    """Users as they are now; deleted ones are gone."""
    return current_rows(events, FeedTable.USERS, context.partition_keys)


def current_rows(events: SparkFrame, table: FeedTable, days: Sequence[str]) -> SparkFrame:
    """For every key that those days touch, its last row of all the events, or its delete, as ``_row_kind`` says.

    ``_arrived`` are those of the days that touch the key.
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

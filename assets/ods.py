"""``ods``: the change events as they arrived, in one append table for each source table, partitioned by day of arrival.

A day is overwritten as a whole, so running a day again does not duplicate its rows.
"""

# No postponed annotations here: Dagster inspects the type of `context`.

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import dagster as dg

from assets.daily_table import daily_table
from assets.feed import FeedTable
from assets.feed.plan import COLUMN_COMMENTS, KEY_COLUMN
from dagster_paimon.io.frames import SparkFrame
from dagster_paimon.resources.spark import SparkResource
from resources.landing import LandingZone

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

EVENT_COLUMNS: Final = ("op", "lsn", "event_time", "dt")
"""The columns of an event besides the columns of its row."""

_IN_JSON: Final = {"TIMESTAMP": "BIGINT"}
_COMMENTS: Final = {
    "op": "c created, u updated, d deleted",
    "lsn": "position in the source's log: which of two events is the later",
    "event_time": "when it happened",
    "dt": "day of arrival",
}


def _metadata(table: FeedTable) -> dict[str, Any]:
    return {
        "partition_expr": "dt",
        "paimon/write_mode": "overwrite_partition",
        "paimon/comments": {**COLUMN_COMMENTS[table], **_COMMENTS},
        "paimon/comment": f"Change events of the shop's {table}, as they arrived",
    }


@daily_table("ods", "orders_cdc", deps=[["landing", "orders_feed"]], metadata=_metadata(FeedTable.ORDERS))
def orders_cdc(context: dg.AssetExecutionContext, landing: LandingZone, spark: SparkResource) -> SparkFrame:
    """Raw change events of orders: late, duplicate and out of order, with `coupon` from the eighth day on."""
    return read_feed(spark.session(context.log.info), landing, FeedTable.ORDERS, context.partition_keys)


@daily_table("ods", "users_cdc", deps=[["landing", "users_feed"]], metadata=_metadata(FeedTable.USERS))
def users_cdc(context: dg.AssetExecutionContext, landing: LandingZone, spark: SparkResource) -> SparkFrame:
    """Raw change events of users."""
    return read_feed(spark.session(context.log.info), landing, FeedTable.USERS, context.partition_keys)


def read_feed(session: "SparkSession", landing: LandingZone, table: FeedTable, days: Sequence[str]) -> SparkFrame:
    """Return the landed events of these days as rows: the columns of the source and the columns of the event.

    The schema of the source only adds and widens columns, so the columns of the last day fit all rows.
    """
    from pyspark.sql import functions as F

    columns: dict[str, str] = {}
    for day in days:
        columns |= landing.columns(table, day)
    key = KEY_COLUMN[table]
    after = ", ".join(f"{name}: {_json_type(sql_type)}" for name, sql_type in columns.items())
    envelope = (
        f"op STRING, ts_ms BIGINT, lsn BIGINT, before STRUCT<{key}: {columns[key]}>, after STRUCT<{after}>, dt STRING"
    )
    reader = (
        session.read.schema(envelope).option("mode", "FAILFAST").option("basePath", str(landing.table_directory(table)))
    )
    events = reader.json([str(landing.directory(table, day)) for day in days])
    row = [
        F.coalesce(F.col(f"after.{key}"), F.col(f"before.{key}")).alias(key)
        if name == key
        else _from_json(F.col(f"after.{name}"), sql_type).alias(name)
        for name, sql_type in columns.items()
    ]
    return events.select("op", "lsn", F.timestamp_millis("ts_ms").alias("event_time"), *row, "dt")


def _json_type(sql_type: str) -> str:
    """Return the JSON type of a column in the feed: amounts are text, times are milliseconds."""
    return "STRING" if sql_type.startswith("DECIMAL") else _IN_JSON.get(sql_type, sql_type)


def _from_json(value: "Column", sql_type: str) -> "Column":
    from pyspark.sql import functions as F

    return F.timestamp_millis(value) if sql_type == "TIMESTAMP" else value.cast(sql_type)

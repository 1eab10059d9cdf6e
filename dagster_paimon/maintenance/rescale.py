"""Another number of buckets for partitions of a table: after an ALTER of ``bucket``, or where buckets are postponed.

It changes where rows lie and nothing else. A retried step finds the partitions rescaled and does nothing.
"""
# Annotations are not postponed here: Dagster looks at the type of `context` itself.

import time
from typing import Any

import dagster as dg
from pydantic import Field

from dagster_paimon.maintenance.ops import PartitionsConfig, maintenance_op, observe
from dagster_paimon.reporting.metadata import before_and_after, listed
from dagster_paimon.resources.lakehouse import LakehouseCatalog
from dagster_paimon.resources.spark import SparkResource
from dagster_paimon.tables.measure import measure
from table_format.options.bucket_mode import total_buckets


class RescaleConfig(PartitionsConfig):
    """Which table, and how many buckets."""

    bucket: int | None = Field(default=None, description="Buckets of each partition; without it, the table's option.")
    on_spark: bool = Field(default=True, description="In Spark's tasks; otherwise in this process.")


@maintenance_op
def rescale(
    context: dg.OpExecutionContext, config: RescaleConfig, lakehouse: LakehouseCatalog, spark: SparkResource
) -> None:
    """Write the rows of partitions to another number of buckets; rows stay the same."""
    table = lakehouse.table(config.table)
    before, began = measure(table.facts), time.monotonic()
    partitions = config.partitions or None
    if config.on_spark:
        with spark.following(context.log.info, f"rescaling {config.table}") as session:
            made = lakehouse.lake(session).rescale(config.table, config.bucket, partitions=partitions)
    else:
        made = table.rescale(config.bucket, partitions=partitions)
    after = measure(lakehouse.table(config.table).facts)
    metadata: dict[str, Any] = {
        "maintenance": "rescaling",
        "buckets": config.bucket or total_buckets(table.facts.bucket_mode),
        "seconds": round(time.monotonic() - began, 2),
        "snapshots made": listed(str(snapshot.id) for snapshot in made),
        **before_and_after(before, after),
    }
    observe(context, config.table, metadata)


@dg.job(description="Give partitions of one table another number of buckets.")
def rescale_table() -> None:
    """One op."""
    rescale()

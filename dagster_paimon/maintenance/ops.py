"""What all maintenance jobs of one table share: how their op is retried, which table it is for, and what it reports."""
# Annotations are not postponed here: Dagster looks at the types of configurations itself.

from collections.abc import Callable, Sequence
from typing import Any

import dagster as dg
from pydantic import Field

from dagster_paimon.resources.lakehouse import asset_key
from table_format.table.upkeep.compaction_report import DroppedBucket


class TableConfig(dg.Config):
    """Which table."""

    table: str = Field(description="database.table")


class PartitionsConfig(TableConfig):
    """Which table, and which of its partitions."""

    partitions: list[dict[str, str]] = Field(
        default_factory=list, description="Only these, each by values of partition columns; all without."
    )


def maintenance_op(work: Callable[..., None]) -> dg.OpDefinition:
    """An op that is tried again after a failure: all maintenance may be repeated."""
    retries = dg.RetryPolicy(max_retries=2, delay=2, jitter=dg.Jitter.PLUS_MINUS)
    return dg.op(retry_policy=retries, tags={"kind": "maintenance"})(work)


def observe(context: dg.OpExecutionContext, table: str, metadata: dict[str, Any]) -> None:
    """Report what was done as an observation on the asset of the table: nothing downstream becomes stale."""
    context.log_event(dg.AssetObservation(asset_key=asset_key(table), metadata=metadata))


def warn_of_dropped(context: dg.OpExecutionContext, table: str, dropped: Sequence[DroppedBucket]) -> None:
    """Log each bucket that was left to others."""
    for lost in dropped:
        context.log.warning("%s: %s bucket %s was left to others: %s", table, lost.partition, lost.bucket, lost.reason)


def dropped_buckets(dropped: Sequence[DroppedBucket]) -> dict[str, Any]:
    """The buckets that were left to others, if there are any, as metadata."""
    if not dropped:
        return {}
    rows = (f"| {d.partition or 'the table'} | {d.bucket} | {d.reason} |" for d in dropped)
    lines = ["| partition | bucket | why |", "|:--|--:|:--|", *rows]
    return {"buckets dropped": dg.MetadataValue.md("\n".join(lines))}

"""Changes the number of buckets of a table, including its option ``bucket``, or of some partitions. Rows do not
change. A retried step finds the partitions already rescaled and does nothing.
"""

from __future__ import annotations

from typing import Final

from pydantic import Field

from dagster_paimon.maintenance.compaction import made
from dagster_paimon.maintenance.config import PartitionsConfig
from dagster_paimon.maintenance.kinds import Maintenance, Outcome, Visit
from table_format import Table
from table_format.counted import counted
from table_format.engine import declared_buckets
from table_format.engine.support import require_partitions
from table_format.errors import InvalidInputError


class RescaleConfig(PartitionsConfig):
    """The tables and the number of buckets."""

    bucket: int | None = Field(
        default=None, description="Number of buckets of each partition; by default the table option."
    )
    on_spark: bool = Field(default=True, description="Run in Spark tasks; otherwise in this process.")


def rescale_one(visit: Visit, config: RescaleConfig) -> Outcome:
    """Rewrite the rows of a table or of partitions to another number of buckets. Rows do not change."""
    partitions = config.partitions or None
    if config.on_spark:
        with visit.session("rescaling") as session:
            snapshots = visit.lakehouse.lake(session).rescale(visit.name, config.bucket, partitions=partitions)
    else:
        snapshots = visit.table().rescale(config.bucket, partitions=partitions)
    declared = declared_buckets(visit.table().facts)
    buckets = config.bucket or declared
    return Outcome(
        title="rescaling",
        summary=f"{counted(buckets, 'bucket')} in {'some partitions' if partitions else 'each partition'}"
        f"{'' if snapshots else ', as before'}",
        metadata={"buckets": buckets, "option bucket": str(declared), **made(snapshots)},
        snapshots=snapshots,
    )


def _check(table: Table, config: RescaleConfig) -> None:
    require_partitions(table, config.partitions)
    if config.bucket is not None and config.bucket < 1:
        message = f"bucket {config.bucket}: expected 1 or more"
        raise InvalidInputError(message)


RESCALE: Final = Maintenance(
    job="rescale_table",
    op="rescale",
    description="Change the number of buckets of a table or of some partitions.",
    config=RescaleConfig,
    work=rescale_one,
    check=_check,
    uses_spark=True,
)

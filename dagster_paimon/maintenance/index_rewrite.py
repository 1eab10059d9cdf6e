"""New indexes for the data files of a table, after the options that declare indexes have changed.

Files with the right indexes are left alone, and work is committed in groups: a retried step goes on where it ended.
"""
# Annotations are not postponed here: Dagster looks at the type of `context` itself.

import time

import dagster as dg
from pydantic import Field

from dagster_paimon.maintenance.ops import PartitionsConfig, dropped_buckets, maintenance_op, observe, warn_of_dropped
from dagster_paimon.reporting.metadata import listed
from dagster_paimon.resources.lakehouse import LakehouseCatalog
from dagster_paimon.resources.spark import SparkResource
from table_format.table.upkeep.declared_indexes import IndexCoverage, index_coverage


class RewriteIndexConfig(PartitionsConfig):
    """Which table, and which of its partitions."""

    on_spark: bool = Field(default=True, description="In Spark's tasks; otherwise in this process.")


@maintenance_op
def rewrite_index(
    context: dg.OpExecutionContext, config: RewriteIndexConfig, lakehouse: LakehouseCatalog, spark: SparkResource
) -> None:
    """Make the indexes that files lack and remove those that nothing declares; data files stay as they are."""
    table = lakehouse.table(config.table)
    before, began = index_coverage(table.facts), time.monotonic()
    partitions = config.partitions or None
    context.log.info("%s: %s", config.table, covered(before))
    if config.on_spark:
        with spark.following(context.log.info, f"indexing {config.table}") as session:
            report = lakehouse.lake(session).rewrite_file_index(config.table, partitions=partitions)
    else:
        report = table.rewrite_file_index(partitions=partitions)
    after = index_coverage(lakehouse.table(config.table).facts)
    warn_of_dropped(context, config.table, report.dropped)
    observe(
        context,
        config.table,
        {
            "maintenance": "index rewrite",
            "seconds": round(time.monotonic() - began, 2),
            "snapshots made": listed(str(snapshot.id) for snapshot in report.snapshots),
            "files looked at": report.files,
            "files rewritten": report.rewritten,
            "partitions rewritten": len(report.partitions),
            "index coverage before": covered(before),
            "index coverage after": covered(after),
            **dropped_buckets(report.dropped),
        },
    )


def covered(coverage: IndexCoverage) -> str:
    """The coverage in words.

    >>> covered(IndexCoverage(4, {"dt=a": 1}))
    '3 of 4 files have the declared indexes'
    """
    return f"{coverage.files - sum(coverage.differing.values())} of {coverage.files} files have the declared indexes"


@dg.job(description="Give the data files of one table the indexes that its options declare.")
def rewrite_index_table() -> None:
    """One op."""
    rewrite_index()

"""New indexes for the data files of a table, after the options that declare indexes have changed.

Files with the right indexes are left alone, and work is committed in groups: a retried step continues where it ended.
"""

from __future__ import annotations

from typing import Final

from pydantic import Field

from dagster_paimon.maintenance.compaction import made
from dagster_paimon.maintenance.config import PartitionsConfig
from dagster_paimon.maintenance.dropped import dropped_buckets, warn_of_dropped
from dagster_paimon.maintenance.kinds import Maintenance, Outcome, Visit
from dagster_paimon.maintenance.targets import require_partitions
from table_format.table.table import Table
from table_format.table.upkeep.declared_indexes import IndexCoverage, index_coverage


class RewriteIndexConfig(PartitionsConfig):
    """Which tables, and which of their partitions."""

    on_spark: bool = Field(default=True, description="In Spark's tasks; otherwise in this process.")


def rewrite_one(visit: Visit, config: RewriteIndexConfig) -> Outcome:
    """Make the indexes that files lack and remove those that nothing declares; data files stay as they are."""
    before = index_coverage(visit.table().facts)
    partitions = config.partitions or None
    visit.log.info("%s: %s", visit.name, covered(before))
    if config.on_spark:
        with visit.session("indexing") as session:
            report = visit.lakehouse.lake(session).rewrite_file_index(visit.name, partitions=partitions)
    else:
        report = visit.table().rewrite_file_index(partitions=partitions)
    warn_of_dropped(visit, report.dropped)
    after = covered(index_coverage(visit.table().facts))
    return Outcome(
        title="index rewrite",
        summary=f"{report.rewritten} files have new indexes; {after}",
        metadata={
            **made(report.snapshots),
            "files looked at": report.files,
            "files rewritten": report.rewritten,
            "partitions rewritten": len(report.partitions),
            "index coverage before": covered(before),
            "index coverage after": after,
            **dropped_buckets(report.dropped),
        },
    )


def covered(coverage: IndexCoverage) -> str:
    """The coverage in words.

    >>> covered(IndexCoverage(4, {"dt=a": 1}))
    '3 of 4 files have the declared indexes'
    """
    return f"{coverage.files - sum(coverage.differing.values())} of {coverage.files} files have the declared indexes"


def _check(table: Table, config: RewriteIndexConfig) -> None:
    require_partitions(table, config.partitions)


REWRITE_INDEX: Final = Maintenance(
    job="rewrite_index_table",
    op="rewrite_index",
    description="Give the data files the indexes that the options of their table declare.",
    config=RewriteIndexConfig,
    work=rewrite_one,
    check=_check,
    uses_spark=True,
)

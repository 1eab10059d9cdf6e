"""Builds new indexes for the data files of a table after a change of the index options. Files with the right indexes
are skipped, and work is committed in groups, so a retried step resumes.
"""

from __future__ import annotations

from typing import Final

from pydantic import Field

from dagster_paimon.maintenance.compaction import made
from dagster_paimon.maintenance.config import PartitionsConfig
from dagster_paimon.maintenance.dropped import dropped_buckets, warn_of_dropped
from dagster_paimon.maintenance.kinds import Maintenance, Outcome, Visit
from table_format import Table
from table_format.counted import counted
from table_format.engine import IndexCoverage, index_coverage
from table_format.engine.support import require_partitions


class RewriteIndexConfig(PartitionsConfig):
    """The tables and their partitions."""

    on_spark: bool = Field(default=True, description="Run in Spark tasks; otherwise in this process.")


def rewrite_one(visit: Visit, config: RewriteIndexConfig) -> Outcome:
    """Build missing indexes and remove undeclared ones. Data files stay unchanged."""
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
        summary=f"{counted(report.rewritten, 'file has', 'files have')} new indexes; {after}",
        metadata={
            **made(report.snapshots),
            "files checked": report.files,
            "files rewritten": report.rewritten,
            "partitions rewritten": len(report.partitions),
            "index coverage before": covered(before),
            "index coverage after": after,
            **dropped_buckets(report.dropped),
        },
    )


def _idle(visit: Visit, config: RewriteIndexConfig) -> Outcome | None:  # noqa: ARG001
    """Return the outcome for a table whose files all have the declared indexes. No session needs to start for it."""
    coverage = index_coverage(visit.table().facts)
    if not coverage.is_complete:
        return None
    return Outcome(
        title="index rewrite",
        summary=f"nothing to rewrite; {covered(coverage)}",
        metadata={
            **made(()),
            "files checked": coverage.files,
            "files rewritten": 0,
            "index coverage before": covered(coverage),
            "index coverage after": covered(coverage),
        },
    )


def covered(coverage: IndexCoverage) -> str:
    """Describe the coverage.

    >>> covered(IndexCoverage(4, {"dt=a": 1}))
    '3 of 4 files have the declared indexes'
    """
    indexed = coverage.files - sum(coverage.differing.values())
    return f"{indexed} of {counted(coverage.files, 'file has', 'files have')} the declared indexes"


def _check(table: Table, config: RewriteIndexConfig) -> None:
    require_partitions(table, config.partitions)


REWRITE_INDEX: Final = Maintenance(
    job="rewrite_index_table",
    op="rewrite_index",
    description="Update the indexes of data files to the current table options.",
    config=RewriteIndexConfig,
    work=rewrite_one,
    check=_check,
    idle=_idle,
    uses_spark=True,
)

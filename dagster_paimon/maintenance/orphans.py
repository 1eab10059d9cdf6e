"""Cleaning of orphans: files of a table that nothing reaches, as a job with a report of names and bytes."""
# Annotations are not postponed here: Dagster looks at the type of `context` itself.

from typing import Final

import dagster as dg
from pydantic import Field

from dagster_paimon.maintenance.ops import TableConfig, maintenance_op, observe
from dagster_paimon.reporting.metadata import listed
from dagster_paimon.resources.lakehouse import LakehouseCatalog
from table_format.metastore.expiry.orphans import GRACE_MS

_HOUR_MS: Final = 3_600_000


class CleanConfig(TableConfig):
    """Which table, and from which age on."""

    dry_run: bool = Field(default=False, description="Only tell what would be deleted.")
    older_than_hours: float = Field(
        default=GRACE_MS / _HOUR_MS,
        description="Younger files stay: they may belong to a commit still to come.",
    )
    nobody_else_writes: bool = Field(
        default=False, description="Allow less than a day: it would delete the files of writers at work."
    )


@maintenance_op
def clean(context: dg.OpExecutionContext, config: CleanConfig, lakehouse: LakehouseCatalog) -> None:
    """Delete files of one table that no snapshot, tag, branch or changelog reaches."""
    table = lakehouse.table(config.table)
    before_ms = table.store.runtime.clock.now_ms() - int(config.older_than_hours * _HOUR_MS)
    report = table.remove_orphan_files(
        older_than_ms=before_ms, dry_run=config.dry_run, nobody_else_writes=config.nobody_else_writes
    )
    verb = "would delete" if config.dry_run else "deleted"
    context.log.info("%s: %s %s orphans, %s bytes", config.table, verb, len(report.files), report.bytes)
    metadata = {
        "maintenance": "orphans (dry run)" if config.dry_run else "orphans",
        "orphans": len(report.files),
        "bytes": report.bytes,
        "files": listed(report.paths),
    }
    observe(context, config.table, metadata)


@dg.job(description="Delete files of one table that nothing reaches; dry_run only tells.")
def clean_table() -> None:
    """One op."""
    clean()

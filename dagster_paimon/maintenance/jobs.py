"""All maintenance jobs of a code location, made by one call."""

from __future__ import annotations

import dagster as dg

from dagster_paimon.maintenance.compaction import compact_table
from dagster_paimon.maintenance.expiry import expire_table
from dagster_paimon.maintenance.index_rewrite import rewrite_index_table
from dagster_paimon.maintenance.orphans import clean_table
from dagster_paimon.maintenance.rescale import rescale_table


def maintenance_jobs() -> tuple[dg.JobDefinition, ...]:
    """The maintenance jobs. Each takes the name of its table as configuration.

    >>> sorted(job.name for job in maintenance_jobs())
    ['clean_table', 'compact_table', 'expire_table', 'rescale_table', 'rewrite_index_table']
    """
    return (compact_table, expire_table, rescale_table, rewrite_index_table, clean_table)

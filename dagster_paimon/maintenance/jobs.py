"""Creates all maintenance jobs of a code location."""

from __future__ import annotations

from typing import Any, Final

import dagster as dg

from dagster_paimon.maintenance.branches import CREATE_BRANCH, DELETE_BRANCH, PUBLISH_BRANCH
from dagster_paimon.maintenance.compaction import COMPACT
from dagster_paimon.maintenance.config import known_tables
from dagster_paimon.maintenance.expiry import EXPIRE
from dagster_paimon.maintenance.index_rewrite import REWRITE_INDEX
from dagster_paimon.maintenance.kinds import Maintenance
from dagster_paimon.maintenance.maintain import MAINTAIN
from dagster_paimon.maintenance.options import ALTER_OPTIONS
from dagster_paimon.maintenance.orphans import CLEAN
from dagster_paimon.maintenance.partitions import EXPIRE_PARTITIONS, MARK_PARTITIONS
from dagster_paimon.maintenance.rescale import RESCALE
from dagster_paimon.maintenance.rollback import ROLLBACK
from dagster_paimon.maintenance.runner import maintenance_job
from dagster_paimon.maintenance.statistics import ANALYZE, HEALTH
from dagster_paimon.maintenance.tags import AUTOMATIC_TAGS, CREATE_TAG, DELETE_TAG
from dagster_paimon.maintenance.verify import VERIFY
from dagster_paimon.tables.selection import TableNames, TableSelection

KINDS: Final[tuple[Maintenance[Any], ...]] = (
    MAINTAIN,
    COMPACT,
    EXPIRE,
    EXPIRE_PARTITIONS,
    MARK_PARTITIONS,
    REWRITE_INDEX,
    RESCALE,
    CLEAN,
    CREATE_TAG,
    DELETE_TAG,
    AUTOMATIC_TAGS,
    CREATE_BRANCH,
    DELETE_BRANCH,
    PUBLISH_BRANCH,
    ROLLBACK,
    ALTER_OPTIONS,
    ANALYZE,
    VERIFY,
    HEALTH,
)


def maintenance_jobs(tables: TableNames = "*") -> tuple[dg.JobDefinition, ...]:
    """Return the maintenance jobs. Each takes one or more tables or a pattern as configuration.

    If ``tables`` are names, the launchpad completes them and refuses others. If there is a pattern among them, the
    launchpad accepts any name.

    >>> [job.name for job in maintenance_jobs()][:3]
    ['maintain_table', 'compact_table', 'expire_table']
    """
    names = TableSelection.of(tables).plain_names
    return tuple(maintenance_job(kind, known_tables(kind.config, names)) for kind in KINDS)

"""Deletes old snapshots, long-lived changelogs and orphans of an opened table, as methods of ``Table``."""

from __future__ import annotations

from table_format.metastore.expiry.expire_changelogs import ChangelogExpiryReport
from table_format.metastore.expiry.expire_changelogs import expire_changelogs as _expire_changelogs
from table_format.metastore.expiry.expire_snapshots import ExpiryReport
from table_format.metastore.expiry.expire_snapshots import expire_snapshots as _expire_snapshots
from table_format.metastore.expiry.orphans import GRACE_MS, OrphanReport
from table_format.metastore.expiry.orphans import remove_orphan_files as _remove
from table_format.model.arguments import flag
from table_format.options.declare import Operation
from table_format.table.facts import HasFacts


def expire_snapshots(
    table: HasFacts,
    *,
    dry_run: bool = False,
    retain_max: int | None = None,
    retain_min: int | None = None,
    older_than_ms: int | None = None,
    limit: int | None = None,
    retain_floor_ms: int | None = None,
) -> ExpiryReport:
    """See ``Table.expire_snapshots``."""
    flag(dry_run, "dry_run")
    facts = table.current_facts
    facts.require(Operation.EXPIRE)
    return _expire_snapshots(
        facts.store,
        facts.options,
        dry_run=dry_run,
        retain_max=retain_max,
        retain_min=retain_min,
        older_than_ms=older_than_ms,
        limit=limit,
        retain_floor_ms=retain_floor_ms,
    )


def expire_changelogs(
    table: HasFacts,
    *,
    dry_run: bool = False,
    retain_max: int | None = None,
    retain_min: int | None = None,
    older_than_ms: int | None = None,
    limit: int | None = None,
    everything: bool = False,
) -> ChangelogExpiryReport:
    """See ``Table.expire_changelogs``."""
    flag(dry_run, "dry_run")
    flag(everything, "everything")
    facts = table.current_facts
    facts.require(Operation.EXPIRE)
    return _expire_changelogs(
        facts.store,
        facts.options,
        dry_run=dry_run,
        retain_max=retain_max,
        retain_min=retain_min,
        older_than_ms=older_than_ms,
        limit=limit,
        everything=everything,
    )


def remove_orphan_files(
    table: HasFacts, *, older_than_ms: int | None = None, dry_run: bool = False, nobody_else_writes: bool = False
) -> OrphanReport:
    """See ``Table.remove_orphan_files``."""
    flag(dry_run, "dry_run")
    flag(nobody_else_writes, "nobody_else_writes")
    facts = table.current_facts
    facts.require(Operation.EXPIRE)
    grace_ms = 0 if nobody_else_writes and older_than_ms is not None else GRACE_MS
    return _remove(facts.store, facts.options, older_than_ms=older_than_ms, dry_run=dry_run, grace_ms=grace_ms)

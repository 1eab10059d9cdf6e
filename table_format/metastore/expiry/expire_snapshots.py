"""Expiry of old snapshots with the files that only they need.

The steps and their order are those of every expiry (``expire``). If changes outlive snapshots (``changelog.*-retained``
above ``snapshot.*-retained``), a snapshot becomes a long-lived changelog just before it is deleted, and the files of
its changes stay: changelog files with their manifests or, without a changelog producer, the files that commits wrote
with all manifests. Format chapter 10, section 9; Java ``ExpireSnapshotsImpl``.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import lru_cache, partial

from table_format.io.table_store import TableStore
from table_format.metastore.expiry.expirable import ExpirableSnapshots
from table_format.metastore.expiry.expire import expire
from table_format.metastore.expiry.expiry_outcome import ExpiryOutcome
from table_format.metastore.expiry.retention import ExpiryRange, Retention, RetentionOverrides, default_retain_floor_ms
from table_format.metastore.expiry.table_history import TableHistory
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.snapshot.changelog_store import KeptChanges
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.arguments import optional_whole_number
from table_format.options.expire import NUM_RETAINED_MAX
from table_format.options.table_options import TableOptions

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiryReport(ExpiryOutcome):
    """The result of an expiry of snapshots, or of a dry run. With ``keeps_changelogs`` their changes are kept."""

    keeps_changelogs: bool = False

    @property
    def snapshot_ids(self) -> tuple[int, ...]:
        """The ids of the deleted snapshots."""
        return self.ids

    @property
    def changelog_ids(self) -> tuple[int, ...]:
        """The ids of the snapshots whose changes are kept as long-lived changelogs."""
        return self.ids if self.keeps_changelogs else ()


def expire_snapshots(
    store: TableStore,
    options: TableOptions,
    *,
    dry_run: bool = False,
    retain_max: int | None = None,
    retain_min: int | None = None,
    older_than_ms: int | None = None,
    limit: int | None = None,
    retain_floor_ms: int | None = None,
    at_least: int = 1,
    snapshots: SnapshotStore | None = None,
    manifests: ManifestStore | None = None,
) -> ExpiryReport:
    """Delete the oldest snapshots that the options allow. Arguments override the table options.

    ``older_than_ms`` is in epoch milliseconds: a snapshot expires if the next snapshot is older. Snapshots younger than
    ``retain_floor_ms`` never expire; pass 0 only if no other process writes to the table. Nothing happens if fewer than
    ``at_least`` snapshots can expire, so that an expiry after every commit rarely has to do work.

    If more snapshots than ``snapshot.num-retained.max`` stay, because they are younger than the floor, the report
    counts them, and a warning is logged once in a process.

    Raises:
        InvalidOption: the bounds contradict each other.
        CorruptionError: the files that must stay cannot be determined; nothing was deleted.
        OSError: the store failed; the next expiry deletes the remaining files.
    """
    now_ms = store.runtime.clock.now_ms()
    floor_ms = optional_whole_number(retain_floor_ms, "retain_floor_ms", minimum=0)
    given = RetentionOverrides(retain_min=retain_min, retain_max=retain_max, older_than_ms=older_than_ms, limit=limit)
    rules = _rules(options, given, floor_ms, now_ms)
    what = ExpirableSnapshots(TableHistory(store, options, snapshots, manifests))
    report = partial(ExpiryReport, keeps_changelogs=what.kept_changes is not KeptChanges.NOTHING)
    outcome = expire(what, rules, report, dry_run=dry_run, at_least=at_least)
    if outcome.beyond_max:
        _warn_of_floor(
            store.paths.branch_root(store.paths.branch), rules.retain_max, (now_ms + 1 - rules.floor_ms) / 60_000
        )
    return outcome


@lru_cache(maxsize=1024)
def _warn_of_floor(table: str, retain_max: int, minutes: float) -> None:
    """Log that a table keeps more snapshots than the option allows; only once, because every commit would repeat it."""
    _log.warning(
        "%s keeps more than '%s' = %d snapshots: snapshots younger than %g minutes do not expire, because a writer "
        "may still use them; write less often, or lower commit.attempt-timeout and commit.request-timeout",
        table,
        NUM_RETAINED_MAX.key,
        retain_max,
        minutes,
    )


def expirable_snapshots(store: TableStore, options: TableOptions) -> ExpiryRange | None:
    """Return the snapshots that can expire now; ``None`` if the table has no snapshot. Nothing is deleted.

    Raises:
        BadEncoding: a snapshot or a consumer cannot be read.
    """
    rules = _rules(options, RetentionOverrides(), None, store.runtime.clock.now_ms())
    return ExpirableSnapshots(TableHistory(store, options)).choose(rules)


def _rules(options: TableOptions, given: RetentionOverrides, floor_ms: int | None, now_ms: int) -> Retention:
    defaults = options.expire
    kept_ms = default_retain_floor_ms(options.commit) if floor_ms is None else floor_ms
    return given.over(
        retain_min=defaults.num_retained_min,
        retain_max=defaults.num_retained_max,
        older_than_ms=now_ms - defaults.time_retained_ms,
        floor_ms=now_ms - kept_ms + 1,
        limit=defaults.limit,
    )

"""Expiry of long-lived changelogs with the files that only they need.

The steps and their order are those of every expiry (``expire``). A changelog is deleted with its changelog files or, if
changes are read from deltas, with the files that its delta removed. Format chapter 10, section 9; Java
``ExpireChangelogImpl``, ``ChangelogDeletion``.
"""

from __future__ import annotations

from dataclasses import dataclass

from table_format.errors import InvalidInputError
from table_format.io.table_store import TableStore
from table_format.metastore.expiry.expirable import ExpirableChangelogs
from table_format.metastore.expiry.expire import expire
from table_format.metastore.expiry.expiry_outcome import ExpiryOutcome
from table_format.metastore.expiry.retention import ExpiryRange, Retention, RetentionOverrides
from table_format.metastore.expiry.table_history import TableHistory
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.options.expire import CHANGELOG_NUM_RETAINED_MIN
from table_format.options.table_options import TableOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogExpiryReport(ExpiryOutcome):
    """The result of an expiry of long-lived changelogs, or of a dry run."""

    @property
    def changelog_ids(self) -> tuple[int, ...]:
        """The ids of the deleted changelogs."""
        return self.ids


def expire_changelogs(
    store: TableStore,
    options: TableOptions,
    *,
    dry_run: bool = False,
    retain_max: int | None = None,
    retain_min: int | None = None,
    older_than_ms: int | None = None,
    limit: int | None = None,
    everything: bool = False,
    snapshots: SnapshotStore | None = None,
    manifests: ManifestStore | None = None,
) -> ChangelogExpiryReport:
    """Delete the oldest long-lived changelogs that the options allow. Arguments override the table options.

    Commits are counted from the latest snapshot. As in the reference, the last changelog stays. ``everything`` deletes
    all of them, regardless of options and consumers, so it takes no bounds.

    Raises:
        InvalidInputError: ``everything`` is given with a bound.
        InvalidOption: the bounds contradict each other.
        CorruptionError: the files that must stay cannot be determined; nothing was deleted.
        OSError: the store failed; the next expiry deletes the remaining files.
    """
    given = RetentionOverrides(retain_min=retain_min, retain_max=retain_max, older_than_ms=older_than_ms, limit=limit)
    if everything and given.names:
        message = f"{', '.join(given.names)}: no effect if all changelogs are deleted; leave it out"
        raise InvalidInputError(message)
    rules = _rules(options, given, store.runtime.clock.now_ms())
    what = ExpirableChangelogs(TableHistory(store, options, snapshots, manifests), everything=everything)
    return expire(what, rules, ChangelogExpiryReport, dry_run=dry_run)


def expirable_changelogs(store: TableStore, options: TableOptions) -> ExpiryRange | None:
    """Return the long-lived changelogs that can expire now; ``None`` if there are no changelogs. Nothing is deleted.

    Raises:
        BadEncoding: a changelog or a consumer cannot be read.
    """
    rules = _rules(options, RetentionOverrides(), store.runtime.clock.now_ms())
    return ExpirableChangelogs(TableHistory(store, options)).choose(rules)


def _rules(options: TableOptions, given: RetentionOverrides, now_ms: int) -> Retention:
    defaults = options.expire
    return given.over(
        retain_min=defaults.changelog_num_retained_min,
        retain_max=defaults.changelog_num_retained_max,
        older_than_ms=now_ms - defaults.changelog_retained_ms,
        floor_ms=now_ms,  # ids of changelogs are never reused
        limit=defaults.limit,
        option=CHANGELOG_NUM_RETAINED_MIN.key,
    )

"""Expiry of long-lived changelogs with the files only they need (format chapter 10, section 9; Java
``ExpireChangelogImpl``, ``ChangelogDeletion``).

With a changelog go its changelog files and, where commits are read instead, the files that its delta removed: while
deltas are read, what a commit wrote outlives its removal from the table. Tags, branches, consumers and the changelogs
that stay keep what they need.

Order of effects: 1 data and changelog files, 2 manifests, 3 the lists that name them, 4 changelogs, oldest first, 5 the
hint EARLIEST. A crash between any two leaves enough to find the rest again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from table_format.io.table_store import TableStore
from table_format.metastore.expiry.expiry_facts import ExpiryFacts, ExpiryReader
from table_format.metastore.expiry.retention import ExpiryRange, RetentionOverrides
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.references.snapshot_files import DataPaths, Deletions
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.options.expire import CHANGELOG_NUM_RETAINED_MIN
from table_format.options.table_options import TableOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogExpiryReport:
    """Which long-lived changelogs an expiry deleted, or would delete; the members as those of ``ExpiryReport``."""

    changelog_ids: tuple[int, ...] = ()
    deletions: Deletions = field(default_factory=Deletions)
    kept_by: str = ""
    unreadable: tuple[str, ...] = ()
    bytes: int = 0
    dry_run: bool = False


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
    """Delete the oldest long-lived changelogs that the options let go; arguments replace the table's options.

    Commits are counted from the latest snapshot, and as in the reference the last changelog stays. ``everything`` lets
    all of them go, whatever the options and consumers say.

    Raises:
        InvalidOption: the bounds contradict each other.
        CorruptionError: what must stay cannot be determined; nothing was deleted.
        OSError: the store failed; what was not deleted is deleted the next time.
    """
    reader = ExpiryReader(store, options, snapshots or SnapshotStore(store), manifests or ManifestStore(store, options))
    defaults, now_ms = options.expire, store.runtime.clock.now_ms()
    asked = RetentionOverrides(retain_min=retain_min, retain_max=retain_max, older_than_ms=older_than_ms, limit=limit)
    rules = asked.over(
        retain_min=defaults.changelog_num_retained_min,
        retain_max=defaults.changelog_num_retained_max,
        older_than_ms=now_ms - defaults.changelog_retained_ms,
        floor_ms=now_ms,  # ids of changelogs are never used again
        limit=defaults.limit,
        option=CHANGELOG_NUM_RETAINED_MIN.key,
    )
    found = _everything(reader) if everything else reader.choose_changelogs(rules)
    if found is None or not found.ids:
        return ChangelogExpiryReport(kept_by="" if found is None else found.kept_by, dry_run=dry_run)
    facts = reader.changelog_facts(found, reader.tags())
    deletions = _deletions(facts, store, DataPaths(store, reader.partitions), options)
    if not dry_run:
        deletions.apply(store)
        if everything:
            reader.changelogs.delete_hints()
        else:
            reader.changelogs.write_earliest_hint(found.end)
    return ChangelogExpiryReport(
        changelog_ids=tuple(c.id for c in facts.snapshots),
        deletions=deletions,
        kept_by=found.kept_by,
        unreadable=facts.unreadable,
        bytes=facts.bytes,
        dry_run=dry_run,
    )


def _everything(reader: ExpiryReader) -> ExpiryRange | None:
    ids = reader.changelogs.ids()
    return ExpiryRange(ids[0], ids[-1] + 1, "") if ids else None


def _deletions(facts: ExpiryFacts, store: TableStore, paths: DataPaths, options: TableOptions) -> Deletions:
    data_files = paths.files_of(facts.removed, facts.protected)
    changelog_files = paths.files_of(facts.changelog, facts.protected)
    clean = options.expire.clean_empty_directories
    return replace(
        facts.names.deletions_except(facts.needed, paths),
        data_files=data_files,
        changelog_files=changelog_files,
        empty_directories=paths.directories_of((*data_files, *changelog_files)) if clean else (),
        changelogs=tuple(store.paths.changelog(changelog.id) for changelog in facts.snapshots),
    )

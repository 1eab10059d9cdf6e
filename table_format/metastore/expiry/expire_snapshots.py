"""Expiry of old snapshots with the files only they need (format chapter 10, section 9; Java ``ExpireSnapshotsImpl``).

Everything that must stay is read before the first file is deleted; when any of it cannot be read nothing is deleted.
Where a snapshot's own delta cannot be read, its files stay behind as orphans. What is deleted is first a plan, which a
dry run returns.

A file removed by snapshot n is still needed by n - 1, so expiring [begin, end) deletes what the deltas of (begin, end]
removed. It stays when the nearest tag before n, another branch, or the retained history has it.

Order of effects: 1 a notice says what goes, 2 data files, 3 changelog files, 4 directories, 5 manifests, index files
and statistics, 6 the lists that name them, 7 snapshots, oldest first, 8 the notice goes, 9 the hint EARLIEST. By the
notice a tag made meanwhile knows, and a reader of a snapshot half gone is told that it has expired. The notice of an
expiry that died goes with the next.

What goes is chosen from the list of snapshots, and what stays from all that is listed: tags, branches, changelogs,
consumers, and snapshots below a hole in the ids, which a rollback may be going back to. Hints decide nothing. Where two
expire at once, one may find that files it wants to read are gone with the other: it looks again, and leaves to the
other what that has begun.

Where changes outlive snapshots (``changelog.*-retained`` above ``snapshot.*-retained``) a snapshot becomes a long-lived
changelog just before it goes, and what it needs stays: changelog files with their manifests or, without a
changelog-producer, the files that commits wrote with all manifests.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from table_format.errors import MissingFile, SnapshotNotFound, TableFormatError
from table_format.io.table_store import TableStore
from table_format.metastore.expiry.expiry_facts import ExpiryFacts, ExpiryReader
from table_format.metastore.expiry.retention import ExpiryRange, RetentionOverrides, default_retain_floor_ms
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.references.snapshot_files import DataPaths, Deletions
from table_format.metastore.snapshot.changelog_store import KeptChanges
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.arguments import optional_whole_number
from table_format.model.snapshot import Snapshot
from table_format.options.table_options import TableOptions

_TRIES: Final = 4
_OTHERS: Final = "another expiry, or the deletion of a tag, that is at work"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiryReport:
    """What an expiry deleted, or would delete.

    ``changelog_ids`` are the snapshots whose changes are kept as long-lived changelogs. ``kept_by`` says what keeps the
    earliest snapshot that stays; ``unreadable`` are broken files whose snapshots' data files were left alone; ``bytes``
    counts data and changelog files.
    """

    snapshot_ids: tuple[int, ...] = ()
    changelog_ids: tuple[int, ...] = ()
    deletions: Deletions = field(default_factory=Deletions)
    kept_by: str = ""
    unreadable: tuple[str, ...] = ()
    bytes: int = 0
    dry_run: bool = False


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
    """Delete the oldest snapshots that the options let go; arguments replace the table's options.

    ``older_than_ms`` is an epoch time: a snapshot may go when its successor is older. ``retain_floor_ms`` is an age
    below which nothing goes; give 0 only when nobody else writes to the table. Nothing happens while fewer than
    ``at_least`` snapshots may go, so that an expiry after every commit has something to do only now and then.

    Raises:
        InvalidOption: the bounds contradict each other.
        CorruptionError: what must stay cannot be determined; nothing was deleted.
        OSError: the store failed; what was not deleted is deleted the next time.
    """
    reader = ExpiryReader(store, options, snapshots or SnapshotStore(store), manifests or ManifestStore(store, options))
    now_ms = store.runtime.clock.now_ms()
    asked_floor_ms = optional_whole_number(retain_floor_ms, "retain_floor_ms")
    floor_ms = default_retain_floor_ms(options.commit) if asked_floor_ms is None else asked_floor_ms
    defaults = options.expire
    asked = RetentionOverrides(retain_min=retain_min, retain_max=retain_max, older_than_ms=older_than_ms, limit=limit)
    rules = asked.over(
        retain_min=defaults.num_retained_min,
        retain_max=defaults.num_retained_max,
        older_than_ms=now_ms - defaults.time_retained_ms,
        floor_ms=now_ms - floor_ms + 1,
        limit=defaults.limit,
    )
    for _ in range(_TRIES):
        found = reader.choose(rules)
        if found is None or len(found.ids) < max(at_least, 1):
            if found is not None and not dry_run:
                reader.snapshots.tidy(found.begin)
            return ExpiryReport(kept_by="" if found is None else found.kept_by, dry_run=dry_run)
        try:
            return _expire(reader, found, options, store, dry_run=dry_run)
        except (MissingFile, SnapshotNotFound):
            # Nothing was deleted. Somebody else who deletes may have been here; otherwise it is damage.
            if not reader.is_overtaken(found):
                raise
    return ExpiryReport(kept_by=_OTHERS, dry_run=dry_run)


def _expire(
    reader: ExpiryReader, found: ExpiryRange, options: TableOptions, store: TableStore, *, dry_run: bool
) -> ExpiryReport:
    tags = reader.tags()
    report = _report(reader, found, tags, options, store)
    if dry_run:
        return replace(report, dry_run=True)
    # Said before the tags are looked at for the last time: a tag made later finds its snapshot going, and one made
    # earlier is seen.
    notice = reader.snapshots.announce_earliest(found.end)
    try:
        tags_now = reader.tags()
        if tags_now != tags:
            report = _report(reader, found, tags_now, options, store)
    except (TableFormatError, OSError):
        with suppress(OSError):
            store.io.delete(notice)  # nothing was deleted
        raise
    _apply(report, reader, store)
    store.io.delete(notice)
    reader.snapshots.tidy(found.end)
    return report


def _apply(report: ExpiryReport, reader: ExpiryReader, store: TableStore) -> None:
    if not report.changelog_ids:
        report.deletions.apply(store)
        return
    replace(report.deletions, snapshots=()).apply(store)
    for snapshot_id in report.snapshot_ids:
        # One by one, as the reference does: those who read changes find each in one place or the other.
        reader.changelogs.keep(snapshot_id)
        reader.snapshots.delete(snapshot_id)


def _report(
    reader: ExpiryReader,
    found: ExpiryRange,
    tags: Mapping[str, Snapshot],
    options: TableOptions,
    store: TableStore,
) -> ExpiryReport:
    facts = reader.facts(found, tags)
    paths = DataPaths(store, reader.partitions)
    ids = tuple(s.id for s in facts.snapshots)
    return ExpiryReport(
        snapshot_ids=ids,
        changelog_ids=ids if facts.kept_changes is not KeptChanges.NOTHING else (),
        deletions=plan_deletions(facts, paths, clean_directories=options.expire.clean_empty_directories),
        kept_by=found.kept_by,
        unreadable=facts.unreadable,
        bytes=facts.bytes,
    )


def plan_deletions(facts: ExpiryFacts, paths: DataPaths, *, clean_directories: bool) -> Deletions:
    """The files that go with the snapshots; a pure function of the facts."""
    data_files = paths.files_of(facts.removed, facts.protected)
    changelog_files = paths.files_of(facts.changelog, facts.protected)
    directories = paths.directories_of((*data_files, *changelog_files)) if clean_directories else ()
    return replace(
        facts.names.deletions_except(facts.needed, paths),
        data_files=data_files,
        changelog_files=changelog_files,
        empty_directories=directories,
        snapshots=tuple(paths.paths.snapshot(snapshot.id) for snapshot in facts.snapshots),
    )

"""Deletion of a tag with the files that only it needs (format chapter 10, section 9; Java ``TagDeletion``).

While the tag's snapshot is retained, or another tag keeps it, only the tag's file is deleted. Otherwise the files that
nothing else needs are deleted too: no other tag, no listed snapshot of any branch, and no long-lived changelog. The
reference checks only the neighbours in the history, and finds them with a hint. No hint is used here, because after an
interrupted rollback or fast-forward the neighbours in the history are not known. Because everything else is read,
several tags are deleted together: what must stay is then read once.

Order of effects: 1 a notice announces the deletion, 2 the files, contents before the lists that name them, 3 the tag,
4 the notice. An interrupted deletion can be repeated from every step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Final

from table_format.errors import CorruptionError, MissingFile, SnapshotNotFound, TableFormatError
from table_format.io.table_store import TableStore
from table_format.metastore.expiry.branch_needs import needs_beside_tags
from table_format.metastore.expiry.file_deletions import FileDeletions, NamedFiles, plan_deletions
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.manifest.partitions import Partitions
from table_format.metastore.references.data_paths import DataPaths
from table_format.metastore.references.snapshot_files import (
    EntryKey,
    MetadataNames,
    entry_key,
    metadata_names,
    without_changelog,
)
from table_format.metastore.references.tag_store import TagStore
from table_format.metastore.scan.file_plan import live_files
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.manifest import ManifestEntry
from table_format.model.snapshot import Snapshot
from table_format.model.tag import Tag
from table_format.options.table_options import TableOptions

_TRIES: Final = 5
_WAIT_MS: Final = 20


def delete_tag(store: TableStore, options: TableOptions, name: str) -> FileDeletions:
    """Delete a tag and the files that only it needs. Return the other deleted files.

    Raises:
        TagNotFound: there is no such tag.
        CorruptionError: the files that must stay cannot be determined; nothing was deleted.
        OSError: the store failed; delete the tag again.
    """
    return _delete(store, options, {name: TagStore(store).load(name).snapshot})


def delete_tags(store: TableStore, options: TableOptions, names: Iterable[str]) -> FileDeletions:
    """Delete tags and the files that only they need. Return the other deleted files. Names of no tag are ignored.

    Raises:
        CorruptionError: the files that must stay cannot be determined; only tags of kept snapshots were deleted.
        OSError: the store failed; delete the tags again.
    """
    tags = TagStore(store)
    found = ((name, tags.find(name)) for name in names)
    return _delete(store, options, {name: tag.snapshot for name, tag in found if tag is not None})


def _delete(store: TableStore, options: TableOptions, doomed: Mapping[str, Snapshot]) -> FileDeletions:
    tags = TagStore(store)
    is_kept = _kept_otherwise(store, beside=frozenset(doomed))
    last = {name: snapshot for name, snapshot in doomed.items() if not is_kept(snapshot)}
    for name in doomed:
        if name not in last:
            tags.remove(name)
    if not last:
        return FileDeletions()
    # Before the needs are read: a tag or branch that is created from one of them later finds the notice; earlier ones
    # are read.
    announced = [name for name in last if not tags.is_being_deleted(name)]
    try:
        for name in announced:
            tags.announce_deletion(name)
        deletions = _plan_beside_expiry(store, options, last.values(), beside=frozenset(last))
    except (TableFormatError, OSError):
        for name in announced:
            tags.withdraw_deletion(name)  # nothing was deleted
        raise
    deletions.apply(store, options.expire.delete_threads)
    for name in last:
        tags.remove(name)
    return deletions


def replace_tag(
    store: TableStore, options: TableOptions, name: str, snapshot: Snapshot, *, time_retained_ms: int | None = None
) -> Tag:
    """Move a tag to another snapshot, and delete the files that only the old one needs.

    Raises:
        TagNotFound: there is no such tag.
        SnapshotExpired: the new snapshot has expired, and no other tag keeps it; the tag is unchanged.
        CorruptionError: the files that must stay cannot be determined; the tag is replaced, and nothing was deleted.
        OSError: the store failed; files that only the old snapshot needs may be left.
    """
    tags = TagStore(store)
    before = tags.load(name)
    replaced = tags.replace(name, snapshot, time_retained_ms=time_retained_ms)
    # Last, because until then the tag keeps the old snapshot. The tag counts too: it may keep the same snapshot again.
    if not _kept_otherwise(store)(before.snapshot):
        _plan_beside_expiry(store, options, [before.snapshot]).apply(store, options.expire.delete_threads)
    return replaced


def _kept_otherwise(store: TableStore, *, beside: frozenset[str] = frozenset()) -> Callable[[Snapshot], bool]:
    """Return a test whether a snapshot is listed, or kept by a tag that is not among ``beside``.

    The tags are read once, when the first snapshot is not listed.
    """
    snapshots, tags = SnapshotStore(store), TagStore(store)

    @cache
    def tagged() -> Mapping[int, Sequence[tuple[str, Snapshot]]]:
        found: dict[int, list[tuple[str, Snapshot]]] = {}
        for name, tag in tags.all().items():
            if name not in beside:
                found.setdefault(tag.snapshot.id, []).append((name, tag.snapshot))
        return found

    def is_kept(snapshot: Snapshot) -> bool:
        listed = snapshots.find(snapshot.id)
        if listed is not None and listed.is_same(snapshot):
            return True
        same = (name for name, other in tagged().get(snapshot.id, ()) if other.is_same(snapshot))
        return any(not tags.is_being_deleted(name) for name in same)

    return is_kept


def _plan_beside_expiry(
    store: TableStore, options: TableOptions, doomed: Collection[Snapshot], *, beside: frozenset[str] = frozenset()
) -> FileDeletions:
    for attempt in range(_TRIES - 1):
        # A running expiry may delete a snapshot while it is read; the snapshot then needs no files any more. Apache
        # Paimon deletes the snapshot after its files.
        with suppress(MissingFile, SnapshotNotFound):
            return _plan(store, options, doomed, beside=beside)
        store.runtime.clock.sleep_ms(_WAIT_MS << attempt)
    return _plan(store, options, doomed, beside=beside)


def _plan(
    store: TableStore, options: TableOptions, doomed: Collection[Snapshot], *, beside: frozenset[str]
) -> FileDeletions:
    schema = SchemaStore(store).latest()
    manifests = ManifestStore(store, options)
    metadata = MetadataNames()
    entries: dict[EntryKey, ManifestEntry] = {}
    for snapshot in map(without_changelog, doomed):
        # Otherwise an earlier deletion of this tag was interrupted here; or the tag is broken, and its files stay.
        with suppress(CorruptionError):
            live = live_files(manifests, snapshot, schema=schema, schemas={}).entries
            entries |= {entry_key(entry): entry for entry in live}
        metadata.add(metadata_names(snapshot, manifests, passing_over=CorruptionError))
    names = frozenset(entry.file.file_name for entry in entries.values())
    needs = needs_beside_tags(store, manifests, beside, names)
    named = NamedFiles(metadata=metadata, data=tuple(entries.values()))
    return plan_deletions(named, needs, DataPaths(store, Partitions(schema, options)))

"""Deletion of a tag with the files that only it needs (format chapter 10, section 9; Java ``TagDeletion``).

While the tag's snapshot is retained, or another tag keeps it, only the tag's file is deleted. Otherwise the files that
nothing else needs are deleted too: no other tag, no listed snapshot of any branch, and no long-lived changelog. The
reference checks only the neighbours in the history, and finds them with a hint. No hint is used here, because after an
interrupted rollback or fast-forward the neighbours in the history are not known.

Order of effects: 1 a notice announces the deletion, 2 the files, contents before the lists that name them, 3 the tag,
4 the notice. An interrupted deletion can be repeated from every step.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from table_format.errors import CorruptionError, MissingFile, SnapshotNotFound, TableFormatError
from table_format.io.table_store import TableStore
from table_format.metastore.expiry.branch_needs import needs_beside_tag
from table_format.metastore.expiry.file_deletions import FileDeletions, NamedFiles, plan_deletions
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.manifest.partitions import Partitions
from table_format.metastore.references.data_paths import DataPaths
from table_format.metastore.references.snapshot_files import metadata_names, without_changelog
from table_format.metastore.references.tag_store import TagStore
from table_format.metastore.scan.file_plan import live_files
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
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
    tags = TagStore(store)
    snapshot = tags.load(name).snapshot
    deletions = FileDeletions()
    if not _is_kept_otherwise(store, snapshot, beside=name):
        # Before the needs are read: a tag or branch that is created from it later finds the notice; earlier ones are
        # read.
        was_being_deleted = tags.is_being_deleted(name)
        tags.announce_deletion(name)
        try:
            deletions = _plan_beside_expiry(store, options, snapshot, beside=name)
        except (TableFormatError, OSError):
            if not was_being_deleted:
                tags.withdraw_deletion(name)  # nothing was deleted
            raise
        deletions.apply(store, options.expire.delete_threads)
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
    # Last, because until then the tag keeps the old snapshot.
    if not _is_kept_otherwise(store, before.snapshot):
        _plan_beside_expiry(store, options, before.snapshot).apply(store, options.expire.delete_threads)
    return replaced


def _is_kept_otherwise(store: TableStore, snapshot: Snapshot, *, beside: str | None = None) -> bool:
    """Return whether the same snapshot is listed, or another tag keeps it."""
    found = SnapshotStore(store).find(snapshot.id)
    if found is not None and found.is_same(snapshot):
        return True
    tags = TagStore(store)
    same = (name for name, tag in tags.all().items() if name != beside and tag.snapshot.is_same(snapshot))
    return any(not tags.is_being_deleted(name) for name in same)


def _plan_beside_expiry(
    store: TableStore, options: TableOptions, snapshot: Snapshot, *, beside: str | None = None
) -> FileDeletions:
    for attempt in range(_TRIES - 1):
        # A running expiry may delete a snapshot while it is read; the snapshot then needs no files any more. Apache
        # Paimon deletes the snapshot after its files.
        with suppress(MissingFile, SnapshotNotFound):
            return _plan(store, options, snapshot, beside=beside)
        store.runtime.clock.sleep_ms(_WAIT_MS << attempt)
    return _plan(store, options, snapshot, beside=beside)


def _plan(store: TableStore, options: TableOptions, snapshot: Snapshot, *, beside: str | None = None) -> FileDeletions:
    schema = SchemaStore(store).latest()
    manifests = ManifestStore(store, options)
    kept = without_changelog(snapshot)
    try:
        entries = live_files(manifests, kept, schema=schema, schemas={}).entries
    except CorruptionError:
        # An earlier deletion of this tag was interrupted here; or the tag is broken, and its files stay.
        entries = ()
    names = metadata_names(kept, manifests, passing_over=CorruptionError)
    needs = needs_beside_tag(store, manifests, beside, frozenset(entry.file.file_name for entry in entries))
    named = NamedFiles(metadata=names, data=entries)
    return plan_deletions(named, needs, DataPaths(store, Partitions(schema, options)))

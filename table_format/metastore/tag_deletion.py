"""Deletion of a tag with the files only it needs (format chapter 10, section 9; Java ``TagDeletion``).

While the tag's snapshot is retained, or another tag has it, only the tag's file goes. Otherwise the files go that
neither neighbour in history has: the tag before, and the tag or retained snapshot after; nor, unlike in Java, a
long-lived changelog. The tag's file goes last, so that a deletion that was interrupted can be repeated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from table_format.errors import CorruptionError, MissingFile, SnapshotNotFound
from table_format.io.table_store import TableStore
from table_format.metastore.branch_needs import needs_of_changelogs, needs_of_other_branches
from table_format.metastore.deletions import (
    DataPaths,
    Deletions,
    FileKey,
    MetadataNames,
    file_key,
    metadata_names,
    without_changelog,
)
from table_format.metastore.manifests import ManifestStore
from table_format.metastore.partitions import Partitions
from table_format.metastore.plan import live_files
from table_format.metastore.schemas import SchemaStore
from table_format.metastore.snapshots import SnapshotStore
from table_format.metastore.tags import TagStore
from table_format.model.manifest import ManifestEntry
from table_format.model.snapshot import Snapshot
from table_format.model.tag import Tag
from table_format.options.table_options import TableOptions

_TRIES: Final = 3


def delete_tag(store: TableStore, options: TableOptions, name: str) -> Deletions:
    """Delete a tag and what only it kept; the files deleted beside its own.

    Raises:
        TagNotFound: there is no such tag.
        CorruptionError: what its neighbours need cannot be determined; nothing was deleted.
        OSError: the store failed; delete the tag again.
    """
    tags = TagStore(store)
    snapshot = tags.load(name).snapshot
    others = [tag.snapshot for other, tag in tags.all().items() if other != name]
    deletions = _delete_what_only_it_kept(store, options, snapshot, others)
    tags.remove(name)
    return deletions


def replace_tag(
    store: TableStore, options: TableOptions, name: str, snapshot: Snapshot, *, time_retained_ms: int | None = None
) -> Tag:
    """Let a tag keep another snapshot, and delete what only the old one kept.

    Raises:
        TagNotFound: there is no such tag.
        CorruptionError: what its neighbours need cannot be determined; the tag is replaced, and nothing was deleted.
        OSError: the store failed; what only the old snapshot needs may stay behind.
    """
    tags = TagStore(store)
    before = tags.load(name).snapshot
    replaced = tags.replace(name, snapshot, time_retained_ms=time_retained_ms)
    # Last, since until then the old snapshot is what the tag promises.
    _delete_what_only_it_kept(store, options, before, [tag.snapshot for tag in tags.all().values()])
    return replaced


def _delete_what_only_it_kept(
    store: TableStore, options: TableOptions, snapshot: Snapshot, others: Sequence[Snapshot]
) -> Deletions:
    if not SnapshotStore(store).is_going(snapshot.id) or any(other.id == snapshot.id for other in others):
        return Deletions()
    deletions = _plan_beside_expiry(store, options, snapshot, others)
    deletions.apply(store)
    return deletions


def _plan_beside_expiry(
    store: TableStore, options: TableOptions, snapshot: Snapshot, others: Sequence[Snapshot]
) -> Deletions:
    for _ in range(_TRIES - 1):
        # An expiry at work may take the neighbour away while it is read; then there is another.
        with suppress(MissingFile, SnapshotNotFound):
            return _plan(store, options, without_changelog(snapshot), _neighbours(snapshot, others, store))
    return _plan(store, options, without_changelog(snapshot), _neighbours(snapshot, others, store))


def _neighbours(snapshot: Snapshot, tagged: Iterable[Snapshot], store: TableStore) -> Sequence[Snapshot]:
    found = list(tagged)
    snapshots = SnapshotStore(store)
    earliest_id = snapshots.earliest_kept_id()
    if earliest_id is not None:
        found.append(snapshots.load(earliest_id))
    before = [s for s in found if s.id < snapshot.id]
    after = [s for s in found if s.id > snapshot.id]
    ends = [max(before, key=lambda s: s.id, default=None), min(after, key=lambda s: s.id, default=None)]
    return [without_changelog(end) for end in ends if end is not None]


def _plan(store: TableStore, options: TableOptions, snapshot: Snapshot, neighbours: Sequence[Snapshot]) -> Deletions:
    schema = SchemaStore(store).latest()
    manifests = ManifestStore(store, options)
    needed = MetadataNames()
    protected: set[FileKey] = set()
    for needs in (needs_of_other_branches(store, manifests), needs_of_changelogs(store, manifests)):
        needed.add(needs.names)
        protected |= needs.files
    for neighbour in neighbours:
        needed.add(metadata_names(neighbour, manifests))
        plan = live_files(manifests, neighbour, schema=schema, schemas={})
        protected.update(file_key(entry) for entry in plan.entries)
    try:
        entries: Sequence[ManifestEntry] = live_files(manifests, snapshot, schema=schema, schemas={}).entries
    except CorruptionError:
        # An earlier deletion of this tag went past here; or it is broken, and what it kept stays behind.
        entries = ()
    paths = DataPaths(store, Partitions(schema, options))
    names = metadata_names(snapshot, manifests, passing_over=CorruptionError)
    metadata = names.deletions_except(needed, paths)
    return replace(metadata, data_files=paths.files_of(entries, frozenset(protected)))

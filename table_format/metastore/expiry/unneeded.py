"""Deletes the files of a removed history, after a rollback, a fast-forward or the deletion of a branch.

The order makes it safe: first the files of the history are recorded, then the history is removed, and only then the
files that all remaining branches, tags and snapshots need are read. Anything that cannot be read is kept. The
reference leaves all of this to the orphan cleanup.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from table_format.errors import CorruptionError
from table_format.io.table_store import TableStore
from table_format.metastore.expiry.branch_needs import needs_of_all_branches
from table_format.metastore.expiry.file_deletions import FileDeletions, NamedFiles, plan_deletions
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.manifest.partitions import Partitions
from table_format.metastore.references.data_paths import DataPaths
from table_format.metastore.references.snapshot_files import EntryKey, MetadataNames, entry_key, metadata_names
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.model.manifest import ManifestEntry
from table_format.model.snapshot import Snapshot
from table_format.options.table_options import TableOptions


def named_files(snapshots: Iterable[Snapshot], manifests: ManifestStore) -> NamedFiles:
    """Return the files that snapshots name, live or not, as far as they can be read."""
    metadata = MetadataNames()
    entries: dict[EntryKey, ManifestEntry] = {}
    seen: set[str] = set()
    for snapshot in snapshots:
        metadata.add(metadata_names(snapshot, manifests, passing_over=CorruptionError))
        for name in (snapshot.base_manifest_list, snapshot.delta_manifest_list, snapshot.changelog_manifest_list):
            if name is None:
                continue
            with suppress(CorruptionError):
                for manifest in manifests.read_list(name, size=snapshot.list_size(name)):
                    # Snapshots share most of their manifests.
                    if manifest.file_name in seen:
                        continue
                    for entry in manifests.read(manifest):
                        entries.setdefault(entry_key(entry), entry)
                    seen.add(manifest.file_name)
    return NamedFiles(metadata=metadata, data=tuple(entries.values()))


def delete_unneeded(store: TableStore, options: TableOptions, named: NamedFiles) -> FileDeletions:
    """Delete the files that no branch names any longer. Return the deleted files.

    Raises:
        CorruptionError: the needed files cannot be determined; nothing was deleted.
        OSError: the store failed; remaining files are orphans.
    """
    deletions = plan_unneeded(store, options, named)
    deletions.apply(store, options.expire.delete_threads)
    return deletions


def plan_unneeded(store: TableStore, options: TableOptions, named: NamedFiles) -> FileDeletions:
    """Return the files that ``delete_unneeded`` would delete now; raises the same errors."""
    if not named.metadata.manifest_lists:
        return FileDeletions()
    # A new store, because cached files may have been deleted.
    needed = needs_of_all_branches(store, ManifestStore(store, options))
    return plan_deletions(named, needed, DataPaths(store, Partitions(SchemaStore(store).latest(), options)))

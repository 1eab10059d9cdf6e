"""Files that a history named which is no more: what rollback, fast-forward and the end of a branch leave behind.

The order makes it safe: first it is noted what the history names, then the history is removed, and only then is it
asked what all branches, tags and snapshots that are left need. Whatever cannot be read is left alone. The reference
leaves all of it to the clean-up of orphans.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from table_format.errors import CorruptionError
from table_format.io.table_store import TableStore
from table_format.metastore.expiry.branch_needs import needs_of_all_branches
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.manifest.partitions import Partitions
from table_format.metastore.references.snapshot_files import (
    DataPaths,
    Deletions,
    FileKey,
    MetadataNames,
    file_key,
    metadata_names,
)
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.model.manifest import ManifestEntry
from table_format.model.snapshot import Snapshot
from table_format.options.table_options import TableOptions


@dataclass(frozen=True, slots=True)
class NamedFiles:
    """The files that some snapshots name, live or not."""

    names: MetadataNames = field(default_factory=MetadataNames)
    entries: dict[FileKey, ManifestEntry] = field(default_factory=dict)


def named_files(snapshots: Iterable[Snapshot], manifests: ManifestStore) -> NamedFiles:
    """What snapshots name, as far as it can be read."""
    found = NamedFiles()
    for snapshot in snapshots:
        found.names.add(metadata_names(snapshot, manifests, passing_over=CorruptionError))
        for name in (snapshot.base_manifest_list, snapshot.delta_manifest_list, snapshot.changelog_manifest_list):
            if name is None:
                continue
            with suppress(CorruptionError):
                for manifest in manifests.read_list(name, size=snapshot.list_size(name)):
                    _add(manifests.read(manifest), found)
    return found


def _add(entries: Iterable[ManifestEntry], found: NamedFiles) -> None:
    for entry in entries:
        # What lies outside the table is not ours to delete.
        if entry.file.external_path is None:
            found.entries.setdefault(file_key(entry), entry)


def delete_unneeded(store: TableStore, options: TableOptions, named: NamedFiles) -> Deletions:
    """Delete those files that nothing in any branch names any more; what was deleted.

    Raises:
        CorruptionError: what is needed cannot be determined; nothing was deleted.
        OSError: the store failed; what is left is an orphan.
    """
    deletions = plan_unneeded(store, options, named)
    deletions.apply(store)
    return deletions


def plan_unneeded(store: TableStore, options: TableOptions, named: NamedFiles) -> Deletions:
    """What ``delete_unneeded`` would delete at this moment; raises as it does."""
    if not named.names.manifest_lists:
        return Deletions()
    # Read anew: what this process remembers may be gone.
    needs = needs_of_all_branches(store, ManifestStore(store, options))
    paths = DataPaths(store, Partitions(SchemaStore(store).latest(), options))
    metadata = named.names.deletions_except(needs.names, paths)
    return replace(metadata, data_files=paths.files_of(named.entries.values(), needs.files))

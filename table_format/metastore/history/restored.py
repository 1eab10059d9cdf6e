"""The first snapshot of a history that begins with what only a tag keeps."""

from __future__ import annotations

from table_format.io.table_store import TableStore
from table_format.metastore.references.snapshot_files import without_changelog
from table_format.metastore.snapshot.changelog_store import ChangelogStore
from table_format.model.snapshot import Snapshot


def restored(store: TableStore, kept: Snapshot) -> Snapshot:
    """Return an expired snapshot, which a tag keeps, as it becomes a snapshot again.

    Its changelog was deleted with it, unless changelogs live longer than snapshots.
    """
    changelog = ChangelogStore(store).find(kept.id)
    is_kept = changelog is not None and changelog.changelog_manifest_list == kept.changelog_manifest_list
    return kept if is_kept else without_changelog(kept)

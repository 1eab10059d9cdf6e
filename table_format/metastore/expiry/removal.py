"""Finds the files that an expiry removes together with snapshots or long-lived changelogs.

Snapshot n - 1 still needs a file that snapshot n removed. So with the snapshots [begin, end), an expiry deletes the
files that the deltas of (begin, end] removed. A changelog is deleted with the files that its own delta removed, because
these files were kept as long as deltas are read as changes. Files of states that cannot be read are not deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from table_format.errors import CorruptionError, MissingFile
from table_format.metastore.expiry.file_deletions import NamedFiles
from table_format.metastore.manifest.manifest_store import ManifestStore
from table_format.metastore.references.snapshot_files import (
    FileKey,
    MetadataNames,
    added_files,
    extra_keys,
    file_key,
    metadata_names,
    removed_files,
    replaced_extras,
)
from table_format.model.manifest import FileKind, ManifestEntry, ManifestFileMeta
from table_format.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """The states that one expiry removes, oldest first; a state is a snapshot or a long-lived changelog.

    ``deltas`` are the states, with ids ``delta_ids``, whose deltas removed files; those that ``takes`` accepts are
    deleted. With ``with_changelog_files`` the changelog files of the states are deleted. ``cut`` reduces a state to the
    metadata that is deleted with it. ``first_retained`` is the first snapshot that stays. ``also_retained`` are further
    states whose metadata stays, as far as it exists. After ``last_delta`` the history may have restored a file.
    """

    states: Sequence[Snapshot]
    deltas: Sequence[Snapshot]
    delta_ids: range
    takes: Callable[[ManifestEntry], bool]
    with_changelog_files: bool
    cut: Callable[[Snapshot], Snapshot]
    first_retained: Snapshot
    last_delta: Snapshot
    also_retained: Sequence[Snapshot] = ()


def read_removed(removal: Removal, manifests: ManifestStore) -> tuple[NamedFiles, tuple[str, ...]]:
    """Return the files to delete with the states unless something needs them, and the paths of ignored broken files."""
    unreadable: list[str] = []
    removed, replaced = _removed(removal.deltas, manifests, unreadable)
    changelog: list[ManifestEntry] = []
    names = MetadataNames()
    for state in removal.states:
        if removal.with_changelog_files:
            changelog += _entries(manifests.changelog_manifests, state, manifests, unreadable) or ()
        names.add(metadata_names(removal.cut(state), manifests, passing_over=CorruptionError))
    named = NamedFiles(
        metadata=names,
        data=[entry for entry in removed.values() if removal.takes(entry)],
        changelog=changelog,
        replaced={key: entry for key, entry in replaced.items() if removal.takes(entry)},
    )
    return named, tuple(unreadable)


def _removed(
    states: Iterable[Snapshot], manifests: ManifestStore, unreadable: list[str]
) -> tuple[Mapping[FileKey, ManifestEntry], Mapping[FileKey, ManifestEntry]]:
    """Return the data files and extra files that the deltas of successive states removed and did not add again."""
    removed: dict[FileKey, ManifestEntry] = {}
    replaced: dict[FileKey, ManifestEntry] = {}
    for state in states:
        delta = _entries(manifests.delta_manifests, state, manifests, unreadable)
        if delta is None:
            # It may have added any of them again.
            removed.clear()
            replaced.clear()
            continue
        for key in added_files(delta) & removed.keys():
            del removed[key]
        for entry in delta:
            if entry.kind is FileKind.ADD:
                for key in extra_keys(entry):
                    replaced.pop(key, None)
        removed.update((file_key(entry), entry) for entry in removed_files(delta))
        replaced.update(replaced_extras(delta))
    return removed, replaced


def _entries(
    manifests_of: Callable[[Snapshot], Sequence[ManifestFileMeta]],
    state: Snapshot,
    manifests: ManifestStore,
    unreadable: list[str],
) -> Sequence[ManifestEntry] | None:
    try:
        return [entry for manifest in manifests_of(state) for entry in manifests.read(manifest)]
    except MissingFile:
        return None  # an expiry that did not finish has deleted the data files before
    except CorruptionError as e:
        unreadable.append(e.path)
        return None

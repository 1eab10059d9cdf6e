"""What an expiry removes: snapshots, or long-lived changelogs, with the files that their deltas took out of the table.

A file removed by snapshot n is still needed by n - 1, so with the snapshots of [begin, end) go the files that the
deltas of (begin, end] removed. With a changelog goes what its own delta removed: while deltas are read as changes, what
a commit wrote outlives its removal from the table.

What is to be deleted and cannot be read is left alone.
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

    ``deltas`` are states whose deltas took out files that may go, of which those go that ``takes`` admits, and
    ``delta_ids`` their ids. With ``with_changelog_files`` the states' changelog files go. ``cut`` reduces a state to
    the metadata that goes with it. ``first_retained`` is the first snapshot that stays, ``also_retained`` are further
    states whose metadata stays as far as it is there, and after ``last_delta`` history may have brought a file back.
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
    """The files that go with the states unless something needs them, and the paths of broken files passed over."""
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
    """What the deltas of successive states took out and did not bring back: data files, and files beside others."""
    removed: dict[FileKey, ManifestEntry] = {}
    replaced: dict[FileKey, ManifestEntry] = {}
    for state in states:
        delta = _entries(manifests.delta_manifests, state, manifests, unreadable)
        if delta is None:
            # It may have brought any of them back.
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
        return None  # an expiry that did not finish was here, and it deleted the data files first
    except CorruptionError as e:
        unreadable.append(e.path)
        return None

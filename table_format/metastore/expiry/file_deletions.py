"""Plans and performs the deletion of files (format chapter 10, section 9; Java ``FileDeletionBase``).

All deletions that depend on the history use this module: expiry of snapshots and changelogs, deletion of tags and
branches, rollback, fast-forward. They delete the files that the removed states name and that nothing else needs. Data
is deleted before metadata, contents before the lists that name them, and the snapshot last: a crash between any two
deletions leaves enough to find the remaining files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Final

from table_format.io.deletion import delete_files
from table_format.io.table_store import TableStore
from table_format.metastore.references.data_paths import DataPaths
from table_format.metastore.references.snapshot_files import FileKey, MetadataNames
from table_format.model.manifest import ManifestEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFiles:
    """The files that states of a table name; ``data`` and ``changelog`` are entries of their manifests.

    ``replaced`` are replaced extra files of data files that stay, with the entries that named them.
    """

    metadata: MetadataNames = field(default_factory=MetadataNames)
    data: Sequence[ManifestEntry] = ()
    changelog: Sequence[ManifestEntry] = ()
    replaced: Mapping[FileKey, ManifestEntry] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NeededFiles:
    """The files that must stay: metadata by name, data files by key, and their extra files by key and by name.

    ``extra_files`` has the names of the extra files of all data files, even if the keys are limited to some files.
    """

    metadata: MetadataNames
    files: frozenset[FileKey]
    extra_files: frozenset[str] = frozenset()


_IN_ORDER: Final = frozenset({"empty_directories", "changelogs", "snapshots"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDeletions:
    """Full paths in groups, in the order of deletion."""

    data_files: tuple[str, ...] = ()
    changelog_files: tuple[str, ...] = ()
    empty_directories: tuple[str, ...] = ()
    manifests: tuple[str, ...] = ()
    index_files: tuple[str, ...] = ()
    statistics: tuple[str, ...] = ()
    manifest_lists: tuple[str, ...] = ()
    index_manifests: tuple[str, ...] = ()
    changelogs: tuple[str, ...] = ()
    snapshots: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """All files, in the order of deletion."""
        groups = (getattr(self, f.name) for f in fields(self) if f.name != "empty_directories")
        return tuple(path for group in groups for path in group)

    def apply(self, store: TableStore, threads: int | None) -> None:
        """Delete everything, group by group; see ``delete_files`` for the order and ``threads`` within a group.

        The files of the history itself are deleted one by one, in order. Raises ``OSError``; the deletion of the
        remaining files can be planned again.
        """
        for group in fields(self):
            paths = getattr(self, group.name)
            if group.name not in _IN_ORDER:
                delete_files(store.io, paths, threads)
                continue
            delete = store.io.delete_empty_directory if group.name == "empty_directories" else store.io.delete
            for path in paths:
                delete(path)


def plan_deletions(
    named: NamedFiles, needed: NeededFiles, paths: DataPaths, *, clean_directories: bool = False
) -> FileDeletions:
    """Plan to delete named files that are not needed; ``clean_directories`` adds directories that may then be empty."""
    replaced = {key: entry for key, entry in named.replaced.items() if paths.is_own(entry)}
    data_files = (
        *paths.files_of(filter(paths.is_own, named.data), needed.files),
        *paths.beside(replaced, needed.files),
    )
    changelog_files = paths.files_of(filter(paths.is_own, named.changelog), needed.files)
    table, has, needs = paths.paths, named.metadata, needed.metadata
    index_files = sorted(key for key in has.index_files - needs.index_files if paths.is_own_index(key))
    return FileDeletions(
        data_files=data_files,
        changelog_files=changelog_files,
        empty_directories=paths.directories_of((*data_files, *changelog_files)) if clean_directories else (),
        manifests=tuple(map(table.manifest, sorted(has.manifests - needs.manifests))),
        index_files=tuple(map(paths.index_file, index_files)),
        statistics=tuple(map(table.statistics, sorted(has.statistics - needs.statistics))),
        manifest_lists=tuple(map(table.manifest, sorted(has.manifest_lists - needs.manifest_lists))),
        index_manifests=tuple(map(table.manifest, sorted(has.index_manifests - needs.index_manifests))),
    )

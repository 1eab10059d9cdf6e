"""Merges small manifests in a commit (format chapter 04, section 8; Java ``ManifestFileMerger``, all 1.x versions).

If much has changed, all manifests are rewritten without the removed files. Otherwise adjacent manifests are merged when
there are enough of them. The decision needs no reads; ``read`` and ``write`` perform it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from table_format.metastore.manifest.replay import merge_entries
from table_format.model.manifest import FileIdentifier, FileKind, ManifestEntry, ManifestFileMeta
from table_format.options.manifest import ManifestOptions

ReadManifest: TypeAlias = Callable[[ManifestFileMeta], Sequence[ManifestEntry]]
WriteManifests: TypeAlias = Callable[[Sequence[ManifestEntry]], tuple[ManifestFileMeta, ...]]
MayHoldPartitions: TypeAlias = Callable[[ManifestFileMeta, frozenset[bytes]], bool]


@dataclass(frozen=True, slots=True)
class MergeRules:
    """The sizes in bytes, and the count, at which manifests are merged."""

    target_size: int
    min_count: int
    full_threshold: int

    @classmethod
    def of(cls, options: ManifestOptions) -> MergeRules:
        """Return the rules in the options of a table."""
        return cls(options.target_file_size, options.merge_min_count, options.full_compaction_threshold)

    def must_change(self, manifest: ManifestFileMeta) -> bool:
        """Return whether a full rewrite improves this manifest: it is small, or has deletions."""
        return manifest.num_deleted_files > 0 or manifest.file_size < self.target_size

    def wants_full(self, manifests: Sequence[ManifestFileMeta]) -> bool:
        """Return whether so much has changed that all manifests are rewritten."""
        return sum(m.file_size for m in manifests if self.must_change(m)) >= self.full_threshold

    def minor_groups(self, manifests: Sequence[ManifestFileMeta]) -> Iterator[tuple[ManifestFileMeta, ...]]:
        """Yield the manifests in order, in groups to merge; a group of one does not change."""
        group: list[ManifestFileMeta] = []
        size = 0
        for manifest in manifests:
            group.append(manifest)
            size += manifest.file_size
            if size >= self.target_size:
                yield tuple(group)
                group, size = [], 0
        if len(group) >= self.min_count:
            yield tuple(group)
        else:
            yield from ((manifest,) for manifest in group)


@dataclass(frozen=True, slots=True)
class MergedManifests:
    """The manifests of a new base list, in replay order, and those that were newly written."""

    before: tuple[ManifestFileMeta, ...]
    after: tuple[ManifestFileMeta, ...]
    written: tuple[ManifestFileMeta, ...] = field(default=())

    def on_top_of(self, current: Sequence[ManifestFileMeta]) -> MergedManifests | None:
        """Return this merge applied to a longer state; ``None`` if that does not begin with the merged manifests."""
        if not self.before or tuple(current[: len(self.before)]) != self.before:
            return None
        return MergedManifests(tuple(current), (*self.after, *current[len(self.before) :]), self.written)


def merge_manifests(
    manifests: Sequence[ManifestFileMeta],
    rules: MergeRules,
    *,
    read: ReadManifest,
    write: WriteManifests,
    may_hold: MayHoldPartitions,
) -> MergedManifests:
    """Merge the manifests of a state without changing the state.

    ``may_hold`` returns whether a manifest may have entries of some partitions.

    Raises:
        ReplayError: the manifests contradict each other.
    """
    manifests = tuple(manifests)
    if rules.wants_full(manifests):
        merged = _rewrite_all(manifests, rules, read, write, may_hold)
        if merged is not None:
            return merged
    after: list[ManifestFileMeta] = []
    written: list[ManifestFileMeta] = []
    for group in rules.minor_groups(manifests):
        if len(group) == 1:
            after.extend(group)
            continue
        # A DELETE whose ADD is in an earlier manifest must stay, or the file would reappear.
        entries = merge_entries(entry for manifest in group for entry in read(manifest))
        joined = write(tuple(entries.values()))
        after.extend(joined)
        written.extend(joined)
    return MergedManifests(manifests, tuple(after), tuple(written))


def _rewrite_all(
    manifests: tuple[ManifestFileMeta, ...],
    rules: MergeRules,
    read: ReadManifest,
    write: WriteManifests,
    may_hold: MayHoldPartitions,
) -> MergedManifests | None:
    deleted = _deleted(manifests, read)
    partitions = frozenset(identifier[0] for identifier in deleted)
    untouched = [m for m in manifests if not rules.must_change(m) and not (deleted and may_hold(m, partitions))]
    rest = [m for m in manifests if m not in set(untouched)]
    if len(rest) <= 1:
        return None
    kept, entries = list(untouched), []
    for manifest in rest:
        alive = [e for e in read(manifest) if e.kind is FileKind.ADD and e.identifier not in deleted]
        if not rules.must_change(manifest) and len(alive) == manifest.num_added_files:
            kept.append(manifest)
        else:
            entries.extend(alive)
    written = write(entries)
    return MergedManifests(manifests, (*kept, *written), written)


def _deleted(manifests: Sequence[ManifestFileMeta], read: ReadManifest) -> frozenset[FileIdentifier]:
    return frozenset(
        entry.identifier
        for manifest in manifests
        if manifest.num_deleted_files
        for entry in read(manifest)
        if entry.kind is FileKind.DELETE
    )

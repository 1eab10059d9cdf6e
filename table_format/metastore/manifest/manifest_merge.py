"""Merging of small manifests at commit (format chapter 04, section 8; Java ``ManifestFileMerger``, all 1.x versions).

Two ways: when much has changed, everything is rewritten without the files that are gone; otherwise neighbours are
joined once there are enough of them. What to do is decided without reading; ``read`` and ``write`` do it.
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
    """Sizes in bytes at which manifests are merged."""

    target_size: int
    min_count: int
    full_threshold: int

    @classmethod
    def of(cls, options: ManifestOptions) -> MergeRules:
        """The rules that the options of a table state."""
        return cls(options.target_file_size, options.merge_min_count, options.full_compaction_threshold)

    def must_change(self, manifest: ManifestFileMeta) -> bool:
        """Whether a full rewrite has something to gain from this manifest."""
        return manifest.num_deleted_files > 0 or manifest.file_size < self.target_size

    def wants_full(self, manifests: Sequence[ManifestFileMeta]) -> bool:
        """Whether so much has changed that everything is rewritten."""
        return sum(m.file_size for m in manifests if self.must_change(m)) >= self.full_threshold

    def minor_groups(self, manifests: Sequence[ManifestFileMeta]) -> Iterator[tuple[ManifestFileMeta, ...]]:
        """The manifests in order, in the groups that become one; a group of one stays as it is."""
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
    """The manifests of a new base list, in replay order, and those of them that were written for it."""

    before: tuple[ManifestFileMeta, ...]
    after: tuple[ManifestFileMeta, ...]
    written: tuple[ManifestFileMeta, ...] = field(default=())

    def on_top_of(self, current: Sequence[ManifestFileMeta]) -> MergedManifests | None:
        """This merge carried over to a longer state, when that begins with what was merged."""
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
    """Merge the manifests of a state; the state they stand for is the same before and after.

    ``may_hold`` says whether a manifest may hold entries of some partitions.

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
        # A DELETE whose ADD lies in an earlier manifest must stay, or that file would come back.
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

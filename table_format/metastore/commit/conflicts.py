"""Checks whether a commit fits the latest snapshot (format chapter 10, section 4; Java ``ConflictDetection``).

The functions are pure: they take the live files of the affected partitions and the changes, and return an error or
``None``. A conflict is final for the finished work. Only a lost race for the snapshot id is retried.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from table_format.counted import counted
from table_format.errors import BucketCountChanged, ConflictError, FileConflict, LsmConflict
from table_format.lsm.keys import KeyRangeOf
from table_format.lsm.levels import levels_fingerprint
from table_format.metastore.manifest.partitions import Partitions
from table_format.metastore.manifest.replay import ReplayError, live_entries, merge_entries
from table_format.model.bucket_id import BucketId
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import FileKind, IndexManifestEntry, ManifestEntry
from table_format.model.snapshot import CommitKind

_ADVICE = (
    "Another commit changed the same bucket; read the table again and redo the work, and give each bucket one "
    "writer and one compaction at a time"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFacts:
    """The facts for a conflict check.

    ``base`` are the live files of the affected buckets, and ``bucket_counts`` the bucket counts of the affected
    partitions, at the snapshot ``base_id`` of ``base_user``. ``index`` are the index files that would be live after the
    commit, which include its own ``new_index_files``. ``levels`` are the fingerprints of the files above level 0 in
    which compactions looked up keys. ``key_range_of`` is ``None`` for tables without a primary key.
    """

    base: Sequence[ManifestEntry]
    delta: Sequence[ManifestEntry]
    kind: CommitKind
    base_id: int
    base_user: str
    commit_user: str
    partitions: Partitions
    index: Sequence[IndexManifestEntry] = ()
    new_index_files: frozenset[str] = frozenset()
    bucket_counts: Mapping[bytes, set[int]] = field(default_factory=dict)
    levels: Mapping[BucketId, bytes] = field(default_factory=dict)
    key_range_of: KeyRangeOf | None = None


def find_conflict(facts: CommitFacts) -> ConflictError | None:
    """Return the error if the commit cannot be published on its base, else ``None``."""
    if facts.kind is not CommitKind.OVERWRITE:
        changed = find_bucket_change(facts.bucket_counts, facts.delta, facts.partitions)
        if changed is not None:
            return changed
    try:
        # The entries of a file that is added and removed in one delta would cancel out, and its rows would be lost.
        if len(merge_entries(facts.delta)) != len(facts.delta):
            return FileConflict(_message("File deletion conflicts detected!", facts, "A file is added and removed"))
        live = live_entries(merge_entries(facts.delta, merge_entries(facts.base)))
    except ReplayError as e:
        return FileConflict(_message("File deletion conflicts detected!", facts, _of_entry(e, facts)))
    return _find_overlap(live, facts) or _find_dangling_vector(live, facts) or _find_other_levels(facts)


def find_bucket_change(
    counts: Mapping[bytes, set[int]], delta: Iterable[ManifestEntry], partitions: Partitions
) -> BucketCountChanged | None:
    """Return the error if a new file has a different bucket count than its partition, else ``None``.

    Only additions are checked, because files that a compaction removes may have been written with another count.
    """
    known = {partition: set(numbers) for partition, numbers in counts.items()}
    for entry in delta:
        if entry.total_buckets <= 0 or entry.kind is not FileKind.ADD:
            continue
        numbers = known.setdefault(entry.partition, {entry.total_buckets})
        if entry.total_buckets not in numbers:
            before = min(numbers)
            shown = partitions.shown(entry.partition)
            return BucketCountChanged(
                f"Total buckets of {shown} changed from {before} to {entry.total_buckets} without overwrite. Give up "
                f"committing. Try to write {shown} with a new bucket num {entry.total_buckets}, but the previous "
                f"bucket num is {before}: overwrite it to give it {counted(entry.total_buckets, 'bucket')}"
            )
    return None


def _find_overlap(live: Iterable[ManifestEntry], facts: CommitFacts) -> LsmConflict | None:
    range_of = facts.key_range_of
    if range_of is None:
        return None
    levels: dict[tuple[bytes, int, int], list[ManifestEntry]] = {}
    for entry in live:
        if entry.file.level >= 1:
            levels.setdefault((entry.partition, entry.bucket, entry.file.level), []).append(entry)
    changed = {(e.partition, e.bucket, e.file.level) for e in facts.delta if e.kind is FileKind.ADD}
    for level in sorted(changed & levels.keys()):
        entries = sorted(levels[level], key=lambda e: range_of(e.file))
        for left, right in pairwise(entries):
            if range_of(left.file)[1] >= range_of(right.file)[0]:
                return LsmConflict(_message("LSM conflicts detected!", facts, _of_overlap(left, right, facts)))
    return None


def _find_dangling_vector(live: Iterable[ManifestEntry], facts: CommitFacts) -> FileConflict | None:
    if not facts.index:
        return None
    gone = {(e.partition, e.file.file_name) for e in facts.delta if e.kind is FileKind.DELETE}
    names = {(e.partition, e.file.file_name) for e in live}
    for entry in facts.index:
        is_new = entry.index_file.file_name in facts.new_index_files
        for vector in entry.index_file.deletion_vector_ranges or ():
            key = (entry.partition, vector.data_file)
            # Report only vectors that this commit itself would leave without a data file.
            if key in names or not (is_new or key in gone):
                continue
            data_file = vector.data_file
            what = f"The deletion vector of '{data_file}' in index file '{entry.index_file.file_name}' has no data file"
            return FileConflict(_message("File deletion conflicts detected!", facts, what))
    return None


def _find_other_levels(facts: CommitFacts) -> FileConflict | None:
    if not facts.levels:
        return None
    found: dict[BucketId, list[DataFileMeta]] = {bucket: [] for bucket in facts.levels}
    for entry in facts.base:
        if entry.bucket_id in found:
            found[entry.bucket_id].append(entry.file)
    for (partition, bucket), fingerprint in facts.levels.items():
        if levels_fingerprint(found[BucketId(partition, bucket)]) != fingerprint:
            where = f"In {facts.partitions.shown(partition)}, bucket {bucket}"
            what = f"{where}, other files are above level 0 than those in which the compaction looked up keys"
            return FileConflict(_message("File deletion conflicts detected!", facts, what))
    return None


def _of_entry(error: ReplayError, facts: CommitFacts) -> str:
    return f"In {facts.partitions.shown(error.entry.partition)}, {error}"


def _of_overlap(left: ManifestEntry, right: ManifestEntry, facts: CommitFacts) -> str:
    return (
        f"In {facts.partitions.shown(left.partition)}, bucket {left.bucket}, level {left.file.level}, the keys of "
        f"'{left.file.file_name}' and '{right.file.file_name}' overlap"
    )


def _message(headline: str, facts: CommitFacts, what: str) -> str:
    return (
        f"{headline} Give up committing. {what}. The commit of user '{facts.commit_user}' ({facts.kind.value}) "
        f"does not fit the latest snapshot, {facts.base_id} of user '{facts.base_user}'. {_ADVICE}."
    )

"""What a snapshot says, worked out from its files alone: an independent replay that trusts nothing.

Only the codecs are shared with the code under test. Every check of one snapshot against the one before is here (I3, I6,
I7); the text of a violation begins with the number of the invariant.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from table_format.codecs.manifest_avro import decode_manifest, decode_manifest_list
from table_format.model.manifest import FileIdentifier, FileKind, ManifestEntry, ManifestFileMeta
from table_format.model.snapshot import CommitKind, Snapshot
from tests.simulation.sum_table import BUCKETS, PATHS, Content, decode_rows, key_of, path_of
from tests.simulation.world import Violation

Read = Callable[[str], bytes]


@dataclass(frozen=True)
class State:
    """One snapshot: its live files, the amounts they come to, and every path it needs."""

    snapshot: Snapshot
    files: dict[FileIdentifier, ManifestEntry]
    content: Content
    paths: frozenset[str]


@dataclass(frozen=True)
class Intent:
    """What a job means to do: amounts to add, after removing partitions (all of them for ``None``)."""

    rows: Content = field(default_factory=Counter)
    replaced: frozenset[bytes] | None = frozenset()


def replay(entries: Iterable[ManifestEntry], files: dict[FileIdentifier, ManifestEntry], where: str) -> None:
    """Apply entries to the live files.

    Raises:
        Violation: I7, a file is added that is alive, or removed that is not.
    """
    for entry in entries:
        if entry.kind is FileKind.ADD:
            if entry.identifier in files:
                raise Violation(f"I7 {where} adds {entry.file.file_name}, which is alive")
            files[entry.identifier] = entry
        elif files.pop(entry.identifier, None) is None:
            raise Violation(f"I7 {where} removes {entry.file.file_name}, which is not alive")


@lru_cache(2048)
def _manifests_in(data: bytes, path: str) -> tuple[ManifestFileMeta, ...]:
    return tuple(decode_manifest_list(data, path=path))


@lru_cache(2048)
def _entries_in(data: bytes, path: str) -> tuple[ManifestEntry, ...]:
    return tuple(decode_manifest(data, path=path))


class StateReader:
    """Derives the state of a new snapshot from the store and the state before."""

    def __init__(self, read: Read) -> None:
        self._read = read

    def derive(self, snapshot: Snapshot, before: State | None, intent: Intent | None) -> State:
        """The new state, checked against the state before and what its job meant to do.

        Raises:
            Violation: I3, I6 or I7.
        """
        where = f"snapshot {snapshot.id}"
        files = dict(before.files) if before else {}
        base_paths = self._check_base(snapshot, files)
        delta, delta_paths = self._entries(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size, where)
        replay(delta, files, where)
        content = Counter(before.content) if before else Counter()
        for entry in delta:
            sign = 1 if entry.kind is FileKind.ADD else -1
            for key, amount in self._rows(entry, where).items():
                content[entry.partition, entry.bucket, key] += sign * amount
        content = Counter({key: amount for key, amount in content.items() if amount})
        _check_counts(snapshot, delta, before)
        _check_levels(files.values(), where)
        _check_content(snapshot, content, before, intent)
        paths = {path_of(e.partition, e.bucket, e.file) for e in files.values()} | base_paths | delta_paths
        return State(snapshot, files, content, frozenset(paths))

    def _check_base(self, snapshot: Snapshot, expected: dict[FileIdentifier, ManifestEntry]) -> set[str]:
        where = f"the base of snapshot {snapshot.id}"
        entries, paths = self._entries(snapshot.base_manifest_list, snapshot.base_manifest_list_size, where)
        found: dict[FileIdentifier, ManifestEntry] = {}
        replay(entries, found, where)
        if found != expected:
            lost = sorted(e.file.file_name for i, e in expected.items() if i not in found)
            extra = sorted(e.file.file_name for i, e in found.items() if i not in expected)
            raise Violation(f"I7 {where} is not the state before: lost {lost}, extra {extra}")
        return paths

    def _entries(self, list_name: str, size: int | None, where: str) -> tuple[list[ManifestEntry], set[str]]:
        path = PATHS.manifest(list_name)
        metas = _manifests_in(self._sized(path, size, where), path)
        entries, paths = [], {path}
        for meta in metas:
            manifest_path = PATHS.manifest(meta.file_name)
            paths.add(manifest_path)
            found = _entries_in(self._sized(manifest_path, meta.file_size, where), manifest_path)
            _check_meta(meta, found, where)
            entries += found
        return entries, paths

    def _rows(self, entry: ManifestEntry, where: str) -> dict[int, int]:
        if entry.kind is FileKind.DELETE:
            # Its content was checked when it was added; expiry may have taken it since only if something is wrong.
            return decode_rows(self._present(path_of(entry.partition, entry.bucket, entry.file), where))
        data = self._sized(path_of(entry.partition, entry.bucket, entry.file), entry.file.file_size, where)
        rows = decode_rows(data)
        bounds = (key_of(entry.file.min_key), key_of(entry.file.max_key))
        if (min(rows), max(rows)) != bounds or len(rows) != entry.file.row_count:
            raise Violation(f"I7 {where}: {entry.file.file_name} does not hold what its metadata says")
        return rows

    def _sized(self, path: str, size: int | None, where: str) -> bytes:
        data = self._present(path, where)
        if size is not None and len(data) != size:
            raise Violation(f"I3 {where}: {path} has {len(data)} bytes, expected {size}")
        return data

    def _present(self, path: str, where: str) -> bytes:
        try:
            return self._read(path)
        except FileNotFoundError:
            raise Violation(f"I3 {where} needs {path}, which does not exist") from None


def _check_meta(meta: ManifestFileMeta, entries: Sequence[ManifestEntry], where: str) -> None:
    added = sum(entry.kind is FileKind.ADD for entry in entries)
    if (meta.num_added_files, meta.num_deleted_files) != (added, len(entries) - added):
        raise Violation(f"I7 {where}: manifest {meta.file_name} holds other entries than its list says")


def _check_counts(snapshot: Snapshot, delta: Sequence[ManifestEntry], before: State | None) -> None:
    changed = sum(e.file.row_count if e.kind is FileKind.ADD else -e.file.row_count for e in delta)
    total = (before.snapshot.total_record_count or 0 if before else 0) + changed
    if (snapshot.delta_record_count, snapshot.total_record_count) != (changed, total):
        raise Violation(f"I7 snapshot {snapshot.id} counts its rows wrongly")


def _check_levels(files: Iterable[ManifestEntry], where: str) -> None:
    runs: dict[tuple[bytes, int, int], list[tuple[int, int]]] = defaultdict(list)
    for entry in files:
        if entry.total_buckets != BUCKETS:
            raise Violation(f"I7 {where}: {entry.file.file_name} was written with {entry.total_buckets} buckets")
        if entry.file.level > 0:
            place = (entry.partition, entry.bucket, entry.file.level)
            runs[place].append((key_of(entry.file.min_key), key_of(entry.file.max_key)))
    for (_, bucket, level), ranges in runs.items():
        ranges.sort()
        if any(left[1] >= right[0] for left, right in pairwise(ranges)):
            raise Violation(f"I7 {where}: files of bucket {bucket}, level {level} overlap")


def _check_content(snapshot: Snapshot, content: Content, before: State | None, intent: Intent | None) -> None:
    expected = Counter(before.content) if before else Counter()
    if snapshot.commit_kind is not CommitKind.COMPACT:
        if intent is None:
            who = f"{snapshot.commit_user} {snapshot.commit_identifier}"
            raise Violation(f"I2 snapshot {snapshot.id} is of {who}, who never meant to commit that")
        for key in list(expected):
            if intent.replaced is None or key[0] in intent.replaced:
                del expected[key]
        expected.update(intent.rows)
    expected = Counter({key: amount for key, amount in expected.items() if amount})
    if content != expected:
        wrong = {key: (content[key], expected[key]) for key in content | expected if content[key] != expected[key]}
        raise Violation(f"I6 snapshot {snapshot.id} ({snapshot.commit_kind}): found and expected amounts {wrong}")

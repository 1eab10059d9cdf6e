"""Checks the live files of one state against each other. Pure: only metadata, no file is opened.

Levels and sorted runs, key ranges, buckets and their numbers, deletion vectors and hash indexes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from table_format.counted import counted
from table_format.errors import CorruptionError
from table_format.lsm.keys import KeyRangeOf
from table_format.model.bucket_id import BucketId
from table_format.model.data_file import DataFileMeta
from table_format.model.manifest import DELETION_VECTORS, HASH, IndexManifestEntry, ManifestEntry
from table_format.options.bucket_mode import BucketMode, Dynamic
from table_format.table.verify.report import Finding, Severity


@dataclass(frozen=True, slots=True)
class State:
    """The live files of a state by bucket, and its index files.

    ``key_range_of`` is ``None`` for tables without primary key. ``path_of`` and ``index_path`` give the paths of files,
    ``text_of`` the text of a partition.
    """

    files: Mapping[BucketId, Sequence[ManifestEntry]]
    index: Sequence[IndexManifestEntry]
    bucket_mode: BucketMode
    key_range_of: KeyRangeOf | None
    text_of: Callable[[bytes], str]
    path_of: Callable[[BucketId, DataFileMeta], str]
    index_path: Callable[[IndexManifestEntry], str]


def check_structure(state: State) -> Iterator[Finding]:
    """Return the contradictions between the live files."""
    for bucket_id, entries in state.files.items():
        at = _Place(state, bucket_id)
        files = [entry.file for entry in entries]
        yield from _check_bucket_numbers(at, entries)
        yield from _check_names(at, files)
        if bucket_id.bucket >= 0:
            yield from _check_levels(at, files)
    yield from _check_bucket_counts(state)
    yield from _check_vectors(state)
    yield from _check_hash_indexes(state)


@dataclass(frozen=True, slots=True)
class _Place:
    """A bucket, for findings in it."""

    state: State
    bucket_id: BucketId

    def finding(
        self, check: str, file: DataFileMeta, expected: str, found: str, severity: Severity = Severity.ERROR
    ) -> Finding:
        path = self.state.path_of(self.bucket_id, file)
        return Finding(severity, check, path, expected, found, self.text, self.bucket_id.bucket)

    @property
    def text(self) -> str:
        return self.state.text_of(self.bucket_id.partition)


def _check_bucket_numbers(at: _Place, entries: Sequence[ManifestEntry]) -> Iterator[Finding]:
    for entry in entries:
        if 0 < entry.total_buckets <= entry.bucket:
            found = f"bucket {entry.bucket}"
            yield at.finding("bucket number", entry.file, f"a bucket below {entry.total_buckets}", found)


def _check_names(at: _Place, files: Sequence[DataFileMeta]) -> Iterator[Finding]:
    seen: dict[str, int] = {}
    for file in files:
        if file.file_name in seen:
            found = f"on levels {seen[file.file_name]} and {file.level}"
            yield at.finding("file name", file, "a file that is live once", found)
        seen[file.file_name] = file.level


def _check_levels(at: _Place, files: Sequence[DataFileMeta]) -> Iterator[Finding]:
    key_range_of = at.state.key_range_of
    if key_range_of is None:
        yield from (
            at.finding("level", file, "level 0 of an append table", f"level {file.level}")
            for file in files
            if file.level != 0
        )
        return
    ranges = {}
    for file in files:
        try:
            low, high = ranges[file] = key_range_of(file)
        except CorruptionError as error:
            yield at.finding("key range", file, "keys of the primary key's types", str(error))
            continue
        if low > high:
            yield at.finding("key range", file, "a smallest key up to the largest", f"{low} and {high}")
    for level in {file.level for file in ranges if file.level > 0}:
        run = sorted((file for file in ranges if file.level == level), key=lambda file: ranges[file])
        for left, right in pairwise(run):
            if ranges[right][0] <= ranges[left][1]:
                found = f"keys that overlap those of {left.file_name}"
                yield at.finding("sorted run", right, f"disjoint files on level {level}", found)


def _check_bucket_counts(state: State) -> Iterator[Finding]:
    counts: dict[bytes, dict[int, tuple[BucketId, DataFileMeta]]] = {}
    for bucket_id, entries in state.files.items():
        for entry in entries:
            if bucket_id.bucket >= 0 and entry.total_buckets > 0:
                known = counts.setdefault(bucket_id.partition, {})
                known.setdefault(entry.total_buckets, (bucket_id, entry.file))
    for numbers in counts.values():
        if len(numbers) > 1:
            bucket_id, file = numbers[max(numbers)]
            found = " and ".join(map(str, sorted(numbers)))
            yield _Place(state, bucket_id).finding("bucket count", file, "one number of buckets in a partition", found)


def _check_vectors(state: State) -> Iterator[Finding]:
    rows = {
        (bucket_id, entry.file.file_name): entry.file.row_count
        for bucket_id, entries in state.files.items()
        for entry in entries
    }
    seen: dict[tuple[BucketId, str], str] = {}
    for entry in state.index:
        if entry.index_file.index_type != DELETION_VECTORS:
            continue
        for vector in entry.index_file.deletion_vector_ranges or ():
            key = (entry.bucket_id, vector.data_file)
            count = rows.get(key)
            if count is None:
                found = f"a vector of '{vector.data_file}', which is not live"
                yield _of_index(state, entry, "vectors of live files", found, Severity.WARNING)
            elif vector.cardinality is not None and vector.cardinality > count:
                found = counted(vector.cardinality, "row")
                yield _of_index(state, entry, f"at most {counted(count, 'deleted row')} of '{vector.data_file}'", found)
            if key in seen:
                found = f"another in '{seen[key]}'"
                yield _of_index(state, entry, f"one vector of '{vector.data_file}'", found)
            seen[key] = entry.index_file.file_name


def _check_hash_indexes(state: State) -> Iterator[Finding]:
    if not isinstance(state.bucket_mode, Dynamic):
        return
    indexed: set[BucketId] = set()
    for entry in state.index:
        if entry.index_file.index_type != HASH:
            continue
        if entry.bucket_id in indexed:
            yield _of_index(state, entry, "one hash index of a bucket", "another", check="hash index")
        indexed.add(entry.bucket_id)
    for bucket_id, entries in state.files.items():
        if bucket_id.bucket >= 0 and bucket_id not in indexed:
            yield _Place(state, bucket_id).finding("hash index", entries[0].file, "a hash index of the bucket", "none")


def _of_index(
    state: State,
    entry: IndexManifestEntry,
    expected: str,
    found: str,
    severity: Severity = Severity.ERROR,
    check: str = "deletion vector",
) -> Finding:
    text = state.text_of(entry.partition)
    return Finding(severity, check, state.index_path(entry), expected, found, text, entry.bucket)

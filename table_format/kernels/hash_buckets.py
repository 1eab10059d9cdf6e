"""Assigns key hashes to the buckets of a partition: existing and new ones (format chapter 11, section 1).

Java ``PartitionIndex`` and ``SimpleHashBucketAssigner``. Hashes are kept sorted together with their buckets, in six
bytes each, and divided into shards by their upper bits, so that adding new ones copies little. A large sorted index
file is not added to the shards but searched directly, until the searches have cost as much as adding it. So a write of
few rows does not have to load all keys of a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from table_format.errors import InvalidInputError

Hashes: TypeAlias = npt.NDArray[np.int32]
Buckets: TypeAlias = npt.NDArray[np.int16]

UNKNOWN: Final = -1
MAX_DYNAMIC_BUCKETS: Final = 32_767
"""The highest bucket number, because Java stores buckets in 16 bits."""

LOADED_AT_ONCE: Final = 1 << 21
"""The number of hashes of index files that are sorted together, at 14 bytes each; a bucket has fewer by default."""

FILE_HASHES: Final = 1 << 16
"""The minimum number of hashes of an index file that is searched directly."""

SEARCHES_PER_HASH: Final = 4
"""The number of searches per hash after which such a file is added to the shards, which costs as much."""

_BUCKET_BITS: Final = 16
_ROW_BITS: Final = 32
_ROW_MASK: Final = (1 << _ROW_BITS) - 1
_SHARD_BITS: Final = 24
_SHARDS: Final = 256
_SHARD_STARTS: Final = (np.arange(1, _SHARDS, dtype=np.int64) - 128) << _SHARD_BITS


class HashBuckets:
    """The buckets of the key hashes of one partition, to which new hashes can be added."""

    def __init__(self) -> None:
        empty = (np.empty(0, np.int32), np.empty(0, np.int16))
        self._shards: list[tuple[Hashes, Buckets]] = [empty] * _SHARDS
        self._files: list[tuple[int, Hashes]] = []
        self._searches = 0
        self.counts: dict[int, int] = {}
        """The number of hashes by bucket. A hash in two large files counts twice while these are searched directly."""

    def __len__(self) -> int:
        return sum(self.counts.values())

    @property
    def nbytes(self) -> int:
        """The size of hashes and buckets in memory, in bytes."""
        shards = sum(hashes.nbytes + buckets.nbytes for hashes, buckets in self._shards)
        return shards + sum(hashes.nbytes for _, hashes in self._files)

    def find(self, hashes: Hashes) -> Buckets:
        """Return the bucket of each hash in a sorted array, or ``UNKNOWN``.

        >>> index = HashBuckets()
        >>> index.put(np.array([-5, 7], np.int32), np.array([1, 0], np.int16))
        >>> index.find(np.array([-5, 0, 7], np.int32)).tolist()
        [1, -1, 0]
        """
        self._searches += len(hashes) * len(self._files)
        if self._searches > SEARCHES_PER_HASH * sum(len(known) for _, known in self._files):
            self._take_files_in()
        return self._find(hashes)

    def _find(self, hashes: Hashes) -> Buckets:
        found = np.full(len(hashes), UNKNOWN, np.int16)
        for bucket, known in reversed(self._files):
            at = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
            found[known[at] == hashes] = bucket
        for shard, start, stop in _pieces(hashes):
            known, buckets = self._shards[shard]
            if not len(known):
                continue
            piece = hashes[start:stop]
            at = np.minimum(np.searchsorted(known, piece), len(known) - 1)
            found[start:stop] = np.where(known[at] == piece, buckets[at], found[start:stop])
        return found

    def _take_files_in(self) -> None:
        """Add the hashes of all files to the shards, those of the first file first."""
        files, self._files, self._searches = self._files, [], 0
        for bucket, hashes in files:
            self.counts[bucket] -= len(hashes)
        self._load_all(files)

    def put(self, hashes: Hashes, buckets: Buckets) -> None:
        """Add unknown hashes: a sorted array without repetitions, and the bucket of each."""
        for shard, start, stop in _pieces(hashes):
            self._shards[shard] = _merged(self._shards[shard], hashes[start:stop], buckets[start:stop])
        counts = np.bincount(buckets)
        for bucket in np.flatnonzero(counts).tolist():
            self.counts[bucket] = self.counts.get(bucket, 0) + int(counts[bucket])

    def load(self, files: Iterable[tuple[int, Hashes]]) -> None:
        """Add the hashes of the index files of some buckets; a known hash stays in its bucket.

        Load many files at once, because each call rebuilds every shard. Memory is bounded.
        """
        self._load_all(self._not_searched(files))

    def _not_searched(self, files: Iterable[tuple[int, Hashes]]) -> Iterator[tuple[int, Hashes]]:
        """Yield the files that are not searched directly."""
        for bucket, hashes in files:
            if len(hashes) < FILE_HASHES or not (hashes[1:] > hashes[:-1]).all():
                yield bucket, hashes
                continue
            self._files.append((bucket, hashes))
            self.counts[bucket] = self.counts.get(bucket, 0) + len(hashes)

    def _load_all(self, files: Iterable[tuple[int, Hashes]]) -> None:
        waiting: list[tuple[int, Hashes]] = []
        count = 0
        for bucket, hashes in files:
            self.counts.setdefault(bucket, 0)
            for start in range(0, len(hashes), LOADED_AT_ONCE):
                piece = hashes[start : start + LOADED_AT_ONCE]
                if count + len(piece) > LOADED_AT_ONCE:
                    self._load(waiting, count)
                    waiting, count = [], 0
                waiting.append((bucket, piece))
                count += len(piece)
        self._load(waiting, count)

    def _load(self, files: Sequence[tuple[int, Hashes]], count: int) -> None:
        # Sorting pairs as one number is several times faster than sorting positions.
        pairs = np.empty(count, np.int64)
        start = 0
        for bucket, hashes in files:
            part = pairs[start : start + len(hashes)]
            part[:] = hashes
            part <<= _BUCKET_BITS
            part |= bucket
            start += len(hashes)
        pairs.sort()
        buckets = pairs.astype(np.int16)
        pairs >>= _BUCKET_BITS
        ordered = pairs.astype(np.int32)
        del pairs
        is_fresh = _is_first(ordered)
        if len(self):
            is_fresh &= self._find(ordered) == UNKNOWN
        if not is_fresh.all():
            ordered, buckets = ordered[is_fresh], buckets[is_fresh]
        self.put(ordered, buckets)

    def hashes_of(self, bucket: int) -> Hashes:
        """Return all hashes of a bucket, ascending."""
        own = np.concatenate([hashes[buckets == bucket] for hashes, buckets in self._shards])
        files = [hashes for owner, hashes in self._files if owner == bucket]
        return distinct(np.concatenate([own, *files])) if files else own


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignRules:
    """The rules by which new hashes get buckets.

    A bucket is full with ``target_rows`` rows. A ``max_buckets`` of ``None`` means the maximum of the format. Each of
    ``assigners`` owns the hashes and the buckets with its number as the remainder.
    """

    target_rows: int
    max_buckets: int | None = None
    assigners: int = 1

    @property
    def bucket_limit(self) -> int:
        """The maximum number of buckets."""
        return MAX_DYNAMIC_BUCKETS if self.max_buckets is None else min(self.max_buckets, MAX_DYNAMIC_BUCKETS)


def assign(index: HashBuckets, hashes: Hashes, rules: AssignRules) -> Buckets:
    """Return the bucket of each hash, in any order and with repetitions; new hashes are added to the index.

    A known hash keeps its bucket. A new one goes to the first bucket that is not full, then to a new bucket with the
    lowest free number, and if no more buckets are allowed, to one of the existing ones.

    >>> index, rules = HashBuckets(), AssignRules(target_rows=2)
    >>> assign(index, np.array([5, 9, 5, 1], np.int32), rules).tolist()
    [0, 0, 0, 1]

    Raises:
        InvalidInputError: there is no limit, and all bucket numbers are in use.
    """
    # As in ``load``, combine hash and position, so that equal hashes keep their order.
    pairs = (hashes.astype(np.int64) << _ROW_BITS) | np.arange(len(hashes))
    pairs.sort()
    ordered, rows = (pairs >> _ROW_BITS).astype(np.int32), pairs & _ROW_MASK
    is_first = _is_first(ordered)
    known, first = ordered[is_first], rows[is_first]
    buckets = index.find(known)
    fresh = np.flatnonzero(buckets == UNKNOWN)
    if len(fresh):
        arrival = fresh[np.argsort(first[fresh])]
        buckets[arrival] = places_of_new(index.counts, known[arrival], rules)
        index.put(known[fresh], buckets[fresh])
    assigned = np.empty(len(hashes), np.int16)
    assigned[rows] = buckets[np.cumsum(is_first) - 1]
    return assigned


def places_of_new(counts: dict[int, int], hashes: Hashes, rules: AssignRules) -> Buckets:
    """Return the buckets of new keys in arrival order, given the count of each bucket; ``counts`` does not change.

    >>> places_of_new({0: 1}, np.array([5, 9, 1], np.int32), AssignRules(target_rows=2)).tolist()
    [0, 1, 1]

    Raises:
        InvalidInputError: there is no limit, and all bucket numbers are in use.
    """
    if rules.assigners == 1:
        return _places(counts, hashes, 0, rules)
    buckets = np.empty(len(hashes), np.int16)
    owners = assigner_of(hashes, rules.assigners)
    for owner in range(rules.assigners):
        owned = np.flatnonzero(owners == owner)
        if len(owned):
            buckets[owned] = _places(counts, hashes[owned], owner, rules)
    return buckets


def distinct(hashes: Hashes) -> Hashes:
    """Return the hashes in ascending order, each once.

    ``np.unique`` uses a hash table, which takes ten times as long.
    """
    ordered = np.sort(hashes)
    return ordered[_is_first(ordered)]


def assigner_of(hashes: Hashes, assigners: int) -> Hashes:
    """Return the assigner that owns each hash (Java ``BucketAssigner.computeAssigner``).

    >>> assigner_of(np.array([-7, 7, 8], np.int32), 4).tolist()
    [3, 3, 0]
    """
    return np.abs(np.fmod(hashes, np.int32(assigners)))


def _places(counts: dict[int, int], hashes: Hashes, owner: int, rules: AssignRules) -> Buckets:
    """Return the buckets of new hashes of one assigner, in arrival order."""
    places = np.empty(len(hashes), np.int16)
    placed = 0
    for bucket, room in _open_buckets(counts, owner, rules):
        taken = min(room, len(hashes) - placed)
        places[placed : placed + taken] = bucket
        placed += taken
        if placed == len(hashes):
            return places
    if rules.max_buckets is None:
        message = (
            f"Too more bucket {rules.bucket_limit}, you should increase target bucket row number {rules.target_rows}: "
            "raise 'dynamic-bucket.target-row-num'"
        )
        raise InvalidInputError(message)
    owned = _owned_buckets(range(rules.bucket_limit), owner, rules) or list(range(rules.bucket_limit))
    # Java chooses randomly. The upper bits of the hash are as good, and two writers get the same result.
    chosen = np.abs(hashes[placed:].astype(np.int64)) // rules.assigners % len(owned)
    places[placed:] = np.array(owned, np.int16)[chosen]
    return places


def _open_buckets(counts: dict[int, int], owner: int, rules: AssignRules) -> Iterator[tuple[int, int]]:
    """Yield the buckets of an assigner that are not full, with their free rows: existing ones, then new ones."""
    for bucket in _owned_buckets(sorted(counts), owner, rules):
        if counts[bucket] < rules.target_rows:
            yield bucket, rules.target_rows - counts[bucket]
    for bucket in range(owner, rules.bucket_limit, rules.assigners):
        if bucket not in counts:
            yield bucket, rules.target_rows


def _owned_buckets(buckets: Iterable[int], owner: int, rules: AssignRules) -> list[int]:
    return [bucket for bucket in buckets if bucket % rules.assigners == owner]


def _is_first(ordered: Hashes) -> npt.NDArray[np.bool_]:
    """Return a mask of the numbers in a sorted array that differ from the previous one."""
    is_first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return is_first


def _merged(known: tuple[Hashes, Buckets], hashes: Hashes, buckets: Buckets) -> tuple[Hashes, Buckets]:
    """Merge new hashes into a shard; both are sorted."""
    if not len(known[0]):
        return hashes.copy(), buckets.copy()
    places = np.searchsorted(known[0], hashes) + np.arange(len(hashes))
    is_old = np.ones(len(known[0]) + len(hashes), np.bool_)
    is_old[places] = False
    all_hashes, all_buckets = np.empty(len(is_old), np.int32), np.empty(len(is_old), np.int16)
    all_hashes[places], all_buckets[places] = hashes, buckets
    all_hashes[is_old], all_buckets[is_old] = known
    return all_hashes, all_buckets


def _pieces(hashes: Hashes) -> Iterator[tuple[int, int, int]]:
    """Yield the shards of the hashes in a sorted array, each with the start and the end of its hashes."""
    bounds = np.searchsorted(hashes, _SHARD_STARTS)
    starts = np.concatenate(([0], bounds))
    stops = np.append(bounds, len(hashes))
    for shard in np.flatnonzero(stops > starts).tolist():
        yield shard, int(starts[shard]), int(stops[shard])

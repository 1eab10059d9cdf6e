"""The buckets of key hashes, compared with a model of Java's assigner that works hash by hash."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format.errors import InvalidInputError
from table_format.kernels import hash_buckets
from table_format.kernels.hash_buckets import UNKNOWN, AssignRules, HashBuckets, assign, assigner_of

INT32 = st.integers(-(2**31), 2**31 - 1)
FEW = st.one_of(st.integers(-12, 12), st.sampled_from([-(2**31), 2**31 - 1, 1 << 24, (1 << 24) - 1, -(1 << 24)]))


def as_hashes(values: Sequence[int]) -> np.ndarray:
    return np.array(values, np.int32)


class JavaAssigner:
    """One assigner: a map, row counts by bucket, and no limit on buckets."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.buckets: dict[int, int] = {}
        self.counts: dict[int, int] = {}

    def assign(self, key_hash: int) -> int:
        if key_hash not in self.buckets:
            open_ = [b for b in sorted(self.counts) if self.counts[b] < self.target]
            bucket = open_[0] if open_ else next(b for b in range(100) if b not in self.counts)
            self.counts[bucket] = self.counts.get(bucket, 0) + 1
            self.buckets[key_hash] = bucket
        return self.buckets[key_hash]


@given(st.lists(st.lists(FEW, max_size=9), max_size=6), st.integers(1, 4))
def test_hashes_go_where_java_puts_them(batches: list[list[int]], target: int) -> None:
    index, java = HashBuckets(), JavaAssigner(target)
    for batch in batches:
        expected = [java.assign(h) for h in batch]
        assert assign(index, as_hashes(batch), AssignRules(target_rows=target)).tolist() == expected
    assert index.counts == java.counts
    assert len(index) == len(java.buckets)
    for bucket in java.counts:
        assert index.hashes_of(bucket).tolist() == sorted(h for h, b in java.buckets.items() if b == bucket)


@given(
    st.lists(st.lists(INT32 | FEW, max_size=12), max_size=5),
    st.integers(1, 3),
    st.none() | st.integers(1, 4),
    st.integers(1, 4),
)
def test_a_hash_never_changes_its_bucket(
    batches: list[list[int]], target: int, max_buckets: int | None, assigners: int
) -> None:
    rules = AssignRules(target_rows=target, max_buckets=max_buckets, assigners=min(assigners, max_buckets or assigners))
    index = HashBuckets()
    seen: dict[int, int] = {}
    for batch in batches:
        for h, bucket in zip(batch, assign(index, as_hashes(batch), rules).tolist(), strict=True):
            assert seen.setdefault(h, bucket) == bucket
            assert max_buckets is None or bucket < max_buckets
            assert abs(h) % rules.assigners == bucket % rules.assigners
    if max_buckets is None:
        assert all(count <= target for count in index.counts.values())
    reloaded = HashBuckets()
    for bucket in index.counts:
        reloaded.load([(bucket, index.hashes_of(bucket)[::-1])])
    assert reloaded.counts == index.counts
    everything = as_hashes(sorted(seen))
    assert reloaded.find(everything).tolist() == [seen[h] for h in sorted(seen)]


def test_a_loaded_hash_keeps_its_bucket_and_others_fill_what_is_open() -> None:
    index = HashBuckets()
    index.load([(0, as_hashes([123456, 789012])), (1, as_hashes([111222]))])
    rules = AssignRules(target_rows=2)
    assert assign(index, as_hashes([111222, 5, 123456, 6]), rules).tolist() == [1, 1, 0, 2]
    assert index.find(as_hashes([1, 111222])).tolist() == [UNKNOWN, 1]


def test_at_the_limit_full_buckets_take_more_and_keep_it() -> None:
    index, rules = HashBuckets(), AssignRules(target_rows=2, max_buckets=2)
    first = assign(index, as_hashes(range(100)), rules)
    assert set(first.tolist()) == {0, 1}
    assert min(index.counts.values()) > 30
    assert assign(index, as_hashes(range(100)), rules).tolist() == first.tolist()


def test_without_a_limit_the_last_bucket_number_is_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hash_buckets, "MAX_DYNAMIC_BUCKETS", 3)
    rules = AssignRules(target_rows=1)
    with pytest.raises(InvalidInputError, match="Too more bucket 3, you should increase target bucket row number 1"):
        assign(HashBuckets(), as_hashes(range(4)), rules)
    assert assign(HashBuckets(), as_hashes(range(3)), rules).tolist() == [0, 1, 2]


def test_a_hash_belongs_to_one_assigner_and_assigners_share_no_bucket() -> None:
    hashes = np.random.default_rng(7).integers(-(2**31), 2**31, 10_000).astype(np.int32)
    owners = assigner_of(hashes, 2)
    assert owners.tolist() == [abs(h) % 2 for h in hashes.tolist()]
    buckets = assign(HashBuckets(), hashes, AssignRules(target_rows=500, assigners=2))
    assert (buckets % 2 == owners).all()


def test_a_key_takes_six_bytes() -> None:
    hashes = np.random.default_rng(1).permutation(np.arange(-1_000_000, 1_000_000, dtype=np.int32) * 977)
    index, rules = HashBuckets(), AssignRules(target_rows=200_000)
    tracemalloc.start()
    for start in range(0, len(hashes), 100_000):
        assign(index, hashes[start : start + 100_000], rules)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert index.nbytes == 6 * len(hashes)
    # What a batch needs on top does not grow with the index.
    assert peak < 6 * len(hashes) + 10_000_000


def test_loading_takes_little_more_than_what_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hash_buckets, "LOADED_AT_ONCE", 100_000)
    hashes = np.random.default_rng(1).permutation(np.arange(-500_000, 500_000, dtype=np.int32) * 977)
    files = [(bucket, hashes[start : start + 250_000]) for bucket, start in enumerate(range(0, 1_000_000, 250_000))]
    index = HashBuckets()
    tracemalloc.start()
    index.load(iter(files))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert index.nbytes == 6 * len(hashes)
    assert peak < 6 * len(hashes) + 3_000_000
    assert [index.hashes_of(bucket).tolist() for bucket in range(4)] == [np.sort(mine).tolist() for _, mine in files]


@given(st.lists(st.tuples(st.integers(0, 3), st.lists(FEW, max_size=6)), max_size=6), st.integers(1, 5))
@settings(deadline=None)
def test_a_loaded_hash_has_the_first_of_its_buckets(files: list[tuple[int, list[int]]], at_once: int) -> None:
    index = HashBuckets()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hash_buckets, "LOADED_AT_ONCE", at_once)
        for bucket, hashes in files:
            index.load([(bucket, as_hashes(hashes))])
    first: dict[int, int] = {}
    for bucket, hashes in files:
        for h in hashes:
            first.setdefault(h, bucket)
    assert index.find(as_hashes(sorted(first))).tolist() == [first[h] for h in sorted(first)]
    assert index.counts == {b: sum(1 for found in first.values() if found == b) for b, _ in files}


@given(
    st.lists(st.lists(FEW, min_size=1, max_size=8, unique=True), min_size=1, max_size=5),
    st.lists(st.lists(FEW, min_size=1, max_size=8), max_size=6),
)
@settings(deadline=None)
def test_sorted_files_that_are_searched_give_the_buckets_of_those_that_were_taken_in(
    files: list[list[int]], batches: list[list[int]]
) -> None:
    """The result does not depend on when the files are added to the shards."""
    owner = {h: bucket for bucket, own in reversed(list(enumerate(files))) for h in own}
    apart = [(bucket, as_hashes(sorted(h for h in owner if owner[h] == bucket))) for bucket in range(len(files))]
    taken_in, rules = HashBuckets(), AssignRules(target_rows=5)
    taken_in.load(apart)
    expected = [assign(taken_in, as_hashes(batch), rules).tolist() for batch in batches]
    for searches in (0, 3, 1000):
        searched = HashBuckets()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(hash_buckets, "FILE_HASHES", 1)
            patch.setattr(hash_buckets, "SEARCHES_PER_HASH", searches)
            searched.load(apart)
            assert [assign(searched, as_hashes(batch), rules).tolist() for batch in batches] == expected
        assert searched.counts == taken_in.counts
        for bucket in taken_in.counts:
            assert searched.hashes_of(bucket).tolist() == taken_in.hashes_of(bucket).tolist()


def test_a_write_of_few_rows_does_not_load_all_keys_of_a_table() -> None:
    files = [(bucket, np.arange(bucket, 400_000, 4, dtype=np.int32)) for bucket in range(4)]
    index, rules = HashBuckets(), AssignRules(target_rows=200_000)
    index.load(files)
    assert index.nbytes == 4 * 400_000
    assert assign(index, as_hashes([7, 400_001, 2]), rules).tolist() == [3, 0, 2]
    # Four bytes for each hash that is searched, six for what came since.
    assert index.nbytes == 4 * 400_000 + 6
    for _ in range(5):
        assign(index, files[0][1], rules)
    assert index.nbytes == 6 * 400_001

"""Compaction of first-row tables: level 0 moves up, and no key is on two levels above it."""

from __future__ import annotations

import random

import pytest

from table_format.errors import RetractNotSupported
from table_format.lsm.levels import levels_of
from table_format.lsm.universal import force_up_level_0, pick_compaction
from table_format.options.compaction import CompactionOptions
from tests.lsm.files import a_file, key_range_of_test_files, names
from tests.lsm.tables import UA, UB, A, Bucket, D

FIRST = {"merge-engine": "first-row"}


def keys_above_level_0(bucket: Bucket) -> list[int]:
    return [row[0] for file in bucket.live if file.level > 0 for row in bucket.read("k", files=[file])]


def test_every_write_moves_level_0_up_and_drops_rows_of_known_keys():
    bucket = Bucket(FIRST)
    bucket.write(*((A, k, "first", 0) for k in range(0, 200, 2)), compact=True)
    assert [f.level for f in bucket.live] == [5]
    bucket.write((A, 4, "second", 0), (A, 5, "first", 0), (A, 5, "second", 0), compact=True)
    assert 0 not in {f.level for f in bucket.live}
    assert sorted(keys_above_level_0(bucket)) == sorted({*range(0, 200, 2), 5})
    assert {row[1] for row in bucket.read("k", "v")} == {"first"}


def test_a_file_whose_keys_are_all_known_leaves_nothing():
    bucket = Bucket(FIRST)
    bucket.write(*((A, k, "x" * 500, 0) for k in range(1000)), compact=True)
    bucket.write((A, 3, "again", 0), compact=True)
    assert len(keys_above_level_0(bucket)) == 1000


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("target", ["1 b", "1 mb"])
def test_random_histories_keep_the_first_row_of_each_key_once(seed: int, target: str):
    chance = random.Random(seed)
    bucket = Bucket({**FIRST, "num-sorted-run.compaction-trigger": chance.choice("2345"), "target-file-size": target})
    first: dict[int, str] = {}
    for step in range(12):
        keys = [chance.randrange(60) for _ in range(chance.choice([1, 3, 20]))]
        compact = chance.random() < 0.8
        for at, key in enumerate(keys):
            first.setdefault(key, f"{step}.{at}")
        bucket.write(*((chance.choice([A, UA]), k, f"{step}.{at}", 0) for at, k in enumerate(keys)), compact=compact)
        if chance.random() < 0.2:
            bucket.compact(full=chance.random() < 0.5)
        assert bucket.read("k", "v") == sorted(first.items(), key=repr)
        above = keys_above_level_0(bucket)
        assert len(above) == len(set(above))
        if compact:
            assert sorted(above) == sorted(first)


@pytest.mark.parametrize("kind", [UB, D])
def test_retracts_of_other_writers_are_refused_or_dropped_by_compaction(kind):
    bucket = Bucket({"write-only": "true"})
    bucket.write((A, 1, "a", 0), (kind, 2, "b", 0))
    for options, rows in ((FIRST, None), ({**FIRST, "ignore-delete": "true"}, [(1, "a")])):
        other = Bucket(options, live=bucket.live, store=bucket.store)
        if rows is None:
            with pytest.raises(RetractNotSupported, match="ignore-delete"):
                other.compact()
        else:
            other.compact()
            assert other.read("k", "v") == rows


def test_level_0_is_compacted_if_nothing_else_is_due():
    options, range_of = CompactionOptions(), key_range_of_test_files()
    big = a_file("big", level=5, size=10**9)
    new = [a_file(f"new{n}", sequence=(n, n)) for n in range(3)]
    levels = levels_of([big, *new], options.num_levels, range_of)
    assert pick_compaction(levels, options, local_now_ms=0) is None
    unit = force_up_level_0(levels, options, local_now_ms=0)
    assert unit is not None
    assert (names(unit.files), unit.output_level) == (["new2", "new1", "new0"], 4)
    assert force_up_level_0(levels_of([big], options.num_levels, range_of), options, local_now_ms=0) is None
    alone = force_up_level_0(levels_of(new[:1], options.num_levels, range_of), options, local_now_ms=0)
    assert alone is not None
    assert alone.output_level == 5

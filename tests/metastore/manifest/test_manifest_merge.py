from __future__ import annotations

import random

import pytest

from table_format.metastore.manifest.manifest_merge import MergeRules, merge_manifests
from table_format.metastore.manifest.manifest_store import manifest_file_meta
from table_format.metastore.manifest.replay import live_entries, merge_entries
from tests.metastore.manifest.test_replay import entry, shown

RULES = MergeRules(target_size=100, min_count=3, full_threshold=1000)


class Manifests:
    """Manifests in a dictionary; each entry is ten bytes."""

    def __init__(self, *contents: str) -> None:
        self.entries = {}
        self.metas = [self.write_one([entry(t) for t in content.split()]) for content in contents]
        self.reads = []

    def write_one(self, entries):
        name = f"m{len(self.entries)}"
        self.entries[name] = list(entries)
        return manifest_file_meta(name, 10 * len(entries), entries, types=(), schema_id=0)

    def write(self, entries):
        return tuple(self.write_one(entries[i : i + 10]) for i in range(0, len(entries), 10))

    def read(self, meta):
        self.reads.append(meta.file_name)
        return self.entries[meta.file_name]

    def merge(self, rules=RULES, may_hold=lambda meta, partitions: True):
        return merge_manifests(self.metas, rules, read=self.read, write=self.write, may_hold=may_hold)

    def shown(self, metas):
        return [shown(self.entries[m.file_name]) for m in metas]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], []),
        (["+a0"], ["+a0"]),
        (["+a0", "+b0"], ["+a0", "+b0"]),
        (["+a0", "+b0", "+c0"], ["+a0 +b0 +c0"]),
        (["+a0", "-a0", "+c0"], ["+c0"]),
        (["+a0", "-a0", "+c0 -c0"], []),
        (["-x0", "+b0", "+c0"], ["-x0 +b0 +c0"]),
    ],
)
def test_adjacent_manifests_are_merged_once_there_are_enough(before, after):
    manifests = Manifests(*before)
    assert manifests.shown(manifests.merge().after) == after


def big(level: int, size: int = 10) -> str:
    return " ".join(f"+{chr(97 + i)}{level}" for i in range(size))


def test_adjacent_manifests_are_merged_when_they_reach_the_target_size():
    manifests = Manifests("+z9", big(0), "+y9")
    merged = manifests.merge()
    assert manifests.shown(merged.after) == [f"+z9 {big(0)}"[: len(big(0))], big(0)[-3:], "+y9"]
    assert [m.file_name for m in merged.written] == ["m3", "m4"]


def test_a_full_manifest_alone_is_neither_read_nor_written():
    manifests = Manifests(big(0), big(1), "+z0")
    assert manifests.merge().after == tuple(manifests.metas)
    assert manifests.reads == []


FULL = MergeRules(target_size=100, min_count=3, full_threshold=40)


def test_a_full_rewrite_drops_removed_files_and_keeps_unaffected_manifests():
    manifests = Manifests(big(0), big(1), big(2), "-a1 -b1", "+z0 +y0")
    untouched = manifests.metas[0].file_name
    merged = manifests.merge(FULL, may_hold=lambda meta, partitions: meta.file_name != untouched)
    assert manifests.shown(merged.after[:2]) == [big(0), big(2)]
    assert merged.after[:2] == (manifests.metas[0], manifests.metas[2])
    rest = " ".join(manifests.shown(merged.after[2:])).split()
    assert rest == [*big(1).split()[2:], "+z0", "+y0"]
    assert untouched not in manifests.reads


def test_a_full_rewrite_without_removals_reads_only_the_small():
    manifests = Manifests(big(0), "+p1 +q1", "+r1 +s1")
    merged = manifests.merge(FULL)
    assert manifests.shown(merged.after) == [big(0), "+p1 +q1 +r1 +s1"]
    assert set(manifests.reads) == {"m1", "m2"}


def test_a_full_rewrite_of_one_manifest_is_none():
    manifests = Manifests("+a0 +b0 +c0 -d0")
    assert manifests.merge(FULL).after == tuple(manifests.metas)


def test_a_merge_is_used_again_on_a_longer_state():
    manifests = Manifests("+a0", "-a0", "+c0")
    merged = manifests.merge()
    extra = manifests.write_one([entry("+d0")])
    again = merged.on_top_of([*manifests.metas, extra])
    assert manifests.shown(again.after) == ["+c0", "+d0"]
    assert merged.on_top_of([extra, *manifests.metas]) is None
    assert merged.on_top_of(manifests.metas[:2]) is None


@pytest.mark.parametrize("seed", range(20))
def test_the_state_is_the_same_before_and_after(seed):
    rng = random.Random(seed)
    alive, names, contents = [], iter(range(10_000)), []
    for _ in range(40):
        delta = []
        for _ in range(rng.randint(1, 4)):
            if alive and rng.random() < 0.45:
                delta.append("-" + alive.pop(rng.randrange(len(alive))))
            else:
                name = f"{chr(0x4E00 + next(names))}{rng.randrange(3)}"
                delta.append("+" + name)
                alive.append(name)
        contents.append(" ".join(dict.fromkeys(delta)))
    manifests = Manifests()
    rules = MergeRules(target_size=60, min_count=rng.randint(2, 9), full_threshold=rng.choice([50, 150, 10_000]))
    for content in contents:
        manifests.metas.append(manifests.write_one([entry(t) for t in content.split()]))
        merged = manifests.merge(rules)
        manifests.metas = list(merged.after)
        entries = (e for m in merged.after for e in manifests.entries[m.file_name])
        live = live_entries(merge_entries(entries))
        assert all(m.num_added_files + m.num_deleted_files for m in merged.after)
    assert sorted(f"{e.file.file_name}{e.file.level}" for e in live) == sorted(alive)

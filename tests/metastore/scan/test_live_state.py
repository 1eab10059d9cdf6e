from __future__ import annotations

import pytest

from table_format.errors import FileConflict
from table_format.metastore.scan.live_state import LiveState
from tests.support.metastore_table import a_table, committable

KEYED = {"primary_keys": ("dt", "k"), "partition_keys": ("dt",)}


def names(entries):
    return sorted(e.file.file_name for e in entries)


def state_of(table):
    return LiveState(table.manifests, table.snapshots, table.schema)


def test_the_state_is_updated_with_deltas():
    table = a_table(**KEYED)
    a, b = table.partition("a"), table.partition("b")
    table.append(table.file(1, name="a1"), partition=a)
    state = state_of(table)
    assert names(state.files(table.snapshots.latest(), frozenset({a}))) == ["a1"]
    table.append(table.file(2, name="a2"), partition=a, identifier=2)
    table.append(table.file(2, name="b1"), partition=b, identifier=3)
    assert names(state.files(table.snapshots.latest(), frozenset({a}))) == ["a1", "a2"]
    assert names(state.files(table.snapshots.latest(), frozenset({a, b}))) == ["a1", "a2", "b1"]
    table.committer().drop_partitions([{"dt": "a"}])
    assert names(state.files(table.snapshots.latest(), frozenset({a, b}))) == ["b1"]


def test_a_step_reads_only_the_deltas_between():
    table = a_table(**KEYED)
    a = table.partition("a")
    for i in range(20):
        table.append(table.file(i), partition=a, identifier=i)
    manifests = table.manifests
    state = LiveState(manifests, table.snapshots, table.schema)
    state.files(table.snapshots.latest(), frozenset({a}))
    table.append(table.file(99), partition=a, identifier=99)
    latest = table.snapshots.latest()
    table.io.calls.clear()
    assert len(state.files(latest, frozenset({a}))) == 21
    assert len([c for c in table.io.calls if "/manifest/" in c[1]]) == 2


def test_after_a_rollback_the_state_is_read_again():
    table = a_table(**KEYED)
    a = table.partition("a")
    for i in range(4):
        table.append(table.file(i, name=f"old{i}"), partition=a, identifier=i)
    state = state_of(table)
    state.files(table.snapshots.latest(), frozenset({a}))
    for i in (4, 3):
        table.snapshots.delete(i)
    for i in (3, 4, 5):
        table.append(table.file(i, name=f"new{i}"), partition=a, identifier=i)
    found = state.files(table.snapshots.latest(), frozenset({a}))
    assert names(found) == ["new3", "new4", "new5", "old0", "old1"]


def test_a_state_that_was_expired_or_is_far_behind_is_read_again():
    table = a_table(**KEYED)
    a = table.partition("a")
    for i in range(3):
        table.append(table.file(i, name=f"f{i}"), partition=a, identifier=i)
    state = state_of(table)
    state.files(table.snapshots.load(1), frozenset({a}))
    table.snapshots.delete(1)
    assert names(state.files(table.snapshots.latest(), frozenset({a}))) == ["f0", "f1", "f2"]
    assert names(state.files(table.snapshots.load(2), frozenset({a}))) == ["f0", "f1"]


def test_a_committer_sees_what_others_did_between_its_commits():
    table = a_table(**KEYED)
    a = table.partition("a")
    mine = table.committer("mine")
    first, second = table.file(1, 5, name="first"), table.file(6, 9, name="second")
    mine.commit(committable(1, table.message(a, new_files=(first, second))))
    merged = table.file(1, 9, level=1, name="theirs")
    table.committer("theirs").commit(
        committable(1, table.message(a, compact_before=(first, second), compact_after=(merged,)))
    )
    with pytest.raises(FileConflict, match="'first'"):
        mine.commit(committable(2, table.message(a, compact_before=(first,), compact_after=(first.upgrade(1),))))
    mine.commit(committable(3, table.message(a, compact_before=(merged,), compact_after=(merged.upgrade(2),))))
    assert [(e.file.file_name, e.file.level) for e in table.live()] == [("theirs", 2)]

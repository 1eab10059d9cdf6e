"""Another compactor replaces the files that a compaction works on, and they are expired, before any one file is opened.

The compaction drops the lost buckets and continues with the others; work that is done for all or for none is
refused as a conflict. No read changes, nothing of a lost bucket stays behind, and a file that is missing though the
newest snapshot names it is damage as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

import pytest

from table_format import Table
from table_format.errors import BucketLost, ConflictError, MissingFile
from table_format.io.memory import MemoryFileIO
from table_format.model.commit import CommitMessage
from table_format.table.upkeep.bucket_compaction import Work, compact, outcomes_of
from table_format.table.upkeep.compaction_report import CompactionReport
from table_format.table.write.batch_commit import BatchCommit
from table_format.table.write.table_write import TableWrite
from tests.simulation.failing_io import Interrupted
from tests.simulation.test_every_call import (
    BEFORE,
    FUTURE,
    Operation,
    State,
    check_every_snapshot,
    check_reachable,
    copy_of,
    opened,
    rows,
    state,
    world,
)
from tests.support.compaction import AtOnce
from tests.support.dynamic_buckets import assert_sound

MARKS = {"deletion-vectors.enabled": "true"}
LOOKUP = {"changelog-producer": "lookup"}
LAZY = {"write-only": "true"}
KEYED = [
    {},
    MARKS,
    LOOKUP,
    {**LOOKUP, **MARKS},
    {"merge-engine": "first-row", **LOOKUP},
    {"bucket": "-1", "dynamic-bucket.target-row-num": "2"},
]


def a_world(keyed: bool, options: Mapping[str, str]) -> MemoryFileIO:
    """Two partitions with some files each; where rows can be marked, some are."""
    start = world(Operation("start", lambda _: None, BEFORE, keyed, {**options, **LAZY}))
    table = opened(start)
    if table.options.skips_level_0:
        table.compact(full=True)
        table.append(rows((2, "a", 20), (3, "b", 30)))
        table.compact()
    table.append(rows((8, "a", 80), (9, "b", 90)))
    table.append(rows((6, "b", 60)))
    if "merge-engine" not in options:
        table.delete("k >= 8")
    return start


def take_away(memory: MemoryFileIO, partitions: Sequence[str] = ("a",)) -> None:
    """Compact some partitions in full, and forget what was before."""
    table = opened(memory)
    table.append(rows(*((7, p, 70) for p in partitions)))
    table.compact(full=True, partitions=[{"p": p} for p in partitions])
    expire(table)


def expire(table: Table) -> None:
    table.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=FUTURE, retain_floor_ms=0)


def settled(memory: MemoryFileIO) -> State:
    """The rows, where those on level 0 are not seen after a compaction."""
    table = opened(memory)
    if table.options.skips_level_0:
        table.compact(full=True)
    return state(memory)


def compaction(store: Interrupted, *, full: bool) -> CompactionReport:
    """As ``run_compaction``, one bucket after the other, so that each run is the same."""
    facts = opened(store).facts

    def in_turn(pieces: Sequence[Work]) -> Iterator[CommitMessage | BucketLost]:
        store.begin()
        for work in pieces:
            yield from outcomes_of(facts, work, full=full)

    return compact(facts, "late", full=full, perform=in_turn)


def before_every_opening(
    start: MemoryFileIO, run: Callable[[Interrupted, MemoryFileIO], object], act: Callable[[MemoryFileIO], object]
) -> int:
    """Run it once for each file that it opens, and let somebody act right before; how many there were."""
    number = 0
    while True:
        memory = copy_of(start)
        store = Interrupted(memory, number, lambda memory=memory: act(memory))
        run(store, memory)
        if store.calls <= number:
            return number
        number += 1


@pytest.mark.parametrize(
    ("keyed", "options", "full"),
    [
        *((True, options, True) for options in KEYED),
        (True, MARKS, False),
        *((False, options, full) for options in ({}, MARKS) for full in (False, True)),
    ],
)
def test_a_compaction_drops_what_another_took_and_goes_on(keyed: bool, options: dict[str, str], full: bool) -> None:
    start = a_world(keyed, {**({} if keyed else {"compaction.min.file-num": "2"}), **options})
    expected = settled(copy_of(start))
    lost = []

    def run(store: Interrupted, memory: MemoryFileIO) -> None:
        report = compaction(store, full=full)
        assert {bucket.partition for bucket in report.dropped} <= {"p=a"}
        assert "p=b" in {bucket.partition for bucket in report.buckets}
        lost.extend(report.dropped)
        check_every_snapshot(memory)
        check_reachable(memory)
        assert [row for row in settled(memory) if row[0] != 7] == expected

    openings = before_every_opening(start, run, take_away)
    assert openings > 3
    assert any("start again" in bucket.reason for bucket in lost)


@pytest.mark.parametrize(
    ("options", "beside"),
    [
        ({"num-sorted-run.compaction-trigger": "2"}, False),
        ({"num-sorted-run.compaction-trigger": "2"}, True),
        (MARKS, False),
        ({**MARKS, "lookup-wait": "false"}, True),
        ({**MARKS, **LOOKUP}, False),
        ({**MARKS, **LOOKUP, "lookup-wait": "false"}, True),
        ({"changelog-producer": "full-compaction", "full-compaction.delta-commits": "1"}, False),
    ],
)
def test_a_stream_of_writes_gives_its_compactions_up(options: dict[str, str], beside: bool) -> None:
    start = world(Operation("start", lambda _: None, BEFORE, options=options))
    expected = [(1, "a", 13), (2, "a", 22), (3, "b", 30), (4, "a", 32)]

    def run(store: Interrupted, memory: MemoryFileIO) -> None:
        facts = opened(store).facts
        write = TableWrite(facts, commit_user="s", compactor=AtOnce() if beside else None)
        commit = BatchCommit(facts, "s")
        store.begin()
        for number in range(1, 4):
            batch = rows((1, "a", 10 + number), (2 if number < 3 else 4, "a", number * 10 + 2))
            commit.commit(write.write(batch), identifier=number)
        commit.commit(write.finish(), identifier=4)
        check_every_snapshot(memory)
        check_reachable(memory)
        opened(memory).compact(full=True)
        assert [row for row in state(memory) if row[0] != 7] == expected

    # A file that was just written is not read back, so as few as one opening for each write is left.
    assert before_every_opening(start, run, take_away) >= 3


def test_a_write_goes_on_without_uncommitted_rows_whose_files_were_deleted_and_their_commit_is_refused() -> None:
    memory = world(Operation("start", lambda _: None, BEFORE, options={"num-sorted-run.compaction-trigger": "2"}))
    table = opened(memory)
    write = table.new_write("s")
    (message,) = write.write(rows((1, "a", 11)))
    text = table.facts.partitions.text(message.partition)
    for file in (*message.new_files, *message.compact_after):
        memory.delete(table.store.paths.data_file(text, message.bucket, file))

    later = [found for number in range(5) for found in write.write(rows((1, "a", number)))]
    with pytest.raises(ConflictError, match=r"no longer exists.*write the rows again"):
        table.new_commit("s").commit([message, *later], identifier=1)
    table.new_commit("s").commit(later, identifier=1)
    assert (1, "a", 4) in state(memory)
    check_reachable(memory)


@pytest.mark.parametrize("options", [{}, MARKS])
def test_sorting_leaves_partitions_that_another_took(options: dict[str, str]) -> None:
    start = a_world(False, options)

    def run(store: Interrupted, memory: MemoryFileIO) -> None:
        table = opened(store)
        store.begin()
        (snapshot,) = table.compact(order_by=["v"])
        assert snapshot.commit_user not in {s.commit_user for s in opened(start).snapshots()}
        check_every_snapshot(memory)
        check_reachable(memory)
        assert [row for row in state(memory) if row[0] != 7] == state(start)

    assert before_every_opening(start, run, take_away) > 3


def test_sorting_is_refused_when_another_took_all_of_it() -> None:
    start = a_world(False, {})

    def run(store: Interrupted, memory: MemoryFileIO) -> None:
        table = opened(store)
        store.begin()
        with suppress(ConflictError):
            table.compact(order_by=["v"])
        check_reachable(memory)
        assert [row for row in state(memory) if row[0] != 7] == state(start)

    assert before_every_opening(start, run, lambda memory: take_away(memory, "ab")) > 3


ALL_OR_NOTHING: list[tuple[dict[str, str], Callable[[Table], object]]] = [
    ({"bucket": "-1", "dynamic-bucket.target-row-num": "2"}, lambda t: t.compact(order_by=["v"])),
    ({"bucket": "-1", "dynamic-bucket.target-row-num": "2", **MARKS}, lambda t: t.compact(order_by=["v"])),
    ({}, lambda t: t.rescale(3)),
    (MARKS, lambda t: t.rescale(2)),
]


@pytest.mark.parametrize(("options", "work"), ALL_OR_NOTHING)
def test_what_is_done_as_a_whole_is_a_conflict(options: dict[str, str], work: Callable[[Table], object]) -> None:
    start = a_world(True, options)
    opened(start).compact(full=True)  # or a sort would do it itself, on threads
    refused = 0

    def run(store: Interrupted, memory: MemoryFileIO) -> None:
        nonlocal refused
        table = opened(store)
        store.begin()
        try:
            work(table)
        except ConflictError:
            refused += 1
        check_every_snapshot(memory)
        check_reachable(memory)
        assert [row for row in state(memory) if row[0] != 7] == state(start)
        if options.get("bucket") == "-1":
            assert_sound(opened(memory))

    assert before_every_opening(start, run, take_away) > 1
    assert refused > 1


def test_a_file_that_the_newest_snapshot_names_is_missing() -> None:
    start = a_world(True, {})
    table = opened(start)
    victims = [path for path in start._files if "/p=a/bucket-" in path]
    for victim in victims:
        memory = copy_of(start)
        memory.delete(victim)
        files = set(memory._files)
        with pytest.raises(MissingFile):
            opened(memory).run_compaction(full=True)
        assert set(memory._files) == files
    assert len(victims) > 2
    assert table.run_compaction(full=True).dropped == ()

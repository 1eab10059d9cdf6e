"""Compactions beside a stream, and compactions that lose a bucket, under the failure of any one call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

import pytest

from table_format import Table
from table_format.errors import TableFormatError
from table_format.io.memory import MemoryFileIO
from table_format.model.commit import CommitMessage
from table_format.table.upkeep.bucket_compaction import BucketCompaction, compact, compact_work
from tests.simulation.failing_io import Crash, Mode, OneFailure
from tests.simulation.test_every_call import (
    BEFORE,
    Operation,
    State,
    check_changelog,
    check_every_snapshot,
    copy_of,
    opened,
    rows,
    state,
    world,
)
from tests.support.compaction import AtOnce, data_files
from tests.support.matrix import tries

STREAM = "stream"
BATCHES = [rows((1, "a", 11), (2, "a", 21)), rows((1, "a", 12), (4, "b", 40)), rows((4, "b", 41), (5, "b", 50))]
AFTER: State = [(1, "a", 12), (2, "a", 21), (3, "b", 30), (4, "b", 41), (5, "b", 50)]


def stream(table: Table) -> None:
    """Batches under ascending identifiers, each once; compactions are done beside, and committed with what follows."""
    write, commit = table.new_write(STREAM, compactor=AtOnce()), table.new_commit(STREAM)
    complete = False
    try:
        for identifier, batch in enumerate(BATCHES, 1):
            if not commit.is_committed(identifier):
                commit.commit(write.write(batch), identifier=identifier)
        if not commit.is_committed(len(BATCHES) + 1):
            commit.commit(write.finish(), identifier=len(BATCHES) + 1)
        complete = True
    finally:
        if not complete:
            write.abort()


@pytest.mark.parametrize("mode", [Mode.ERROR_BEFORE, Mode.CRASH_AFTER])
def test_a_stream_that_compacts_beside_its_commits_loses_nothing(mode: Mode) -> None:
    options = {"deletion-vectors.enabled": "true", "changelog-producer": "lookup", "lookup-wait": "false"}
    start = world(Operation("stream", stream, AFTER, options=options))
    step = tries(2, many=1)
    number = 0 if mode is Mode.ERROR_BEFORE else step - 1
    while True:
        memory = copy_of(start)
        store = OneFailure(memory, number, mode, changes_only=True)
        with suppress(Crash, OSError, TableFormatError):
            stream(opened(store))
        check_every_snapshot(memory)
        stream(opened(memory))
        opened(memory).compact(full=True)
        assert state(memory) == AFTER, f"after call {number}"
        check_changelog(memory)
        if store.calls <= number:
            break
        number += step
    assert number > 30


@pytest.mark.parametrize("mode", [Mode.ERROR_BEFORE, Mode.CRASH_AFTER])
def test_a_compaction_that_loses_a_bucket_does_no_harm_however_it_fails(mode: Mode) -> None:
    start = world(Operation("compaction", lambda _: None, BEFORE, options={"write-only": "true"}))
    number = 0
    while True:
        memory = copy_of(start)
        store = OneFailure(memory, number, mode, changes_only=True)
        with suppress(Crash, OSError, TableFormatError):
            _lose_a_bucket(opened(store), memory)
        assert state(memory) == BEFORE, f"after call {number}"
        check_every_snapshot(memory)
        if store.calls <= number:
            break
        opened(memory).compact(full=True)
        assert state(memory) == BEFORE, f"repeated after call {number}"
        number += 1
    assert number > 5
    table = opened(memory)
    paths = [path.removeprefix(table.store.paths.root + "/") for path in memory._files]
    named, found = data_files(table, paths)
    assert found == named


def _lose_a_bucket(table: Table, memory: MemoryFileIO) -> None:
    def after_another(pieces: Sequence[BucketCompaction]) -> Iterable[CommitMessage]:
        messages = [compact_work(table.facts, work, full=True) for work in pieces]
        opened(memory).compact(full=True, partitions=[{"p": "a"}])
        return messages

    report = compact(table.facts, "late", full=True, perform=after_another)
    assert [bucket.partition for bucket in report.dropped] == ["p=a"]

"""The steps of a write, and what is left of one that fails or is interrupted in any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from table_format import Table
from table_format.decoded_files import DecodedFiles
from table_format.errors import InvalidInputError, SnapshotExpired
from table_format.io.memory import MemoryFileIO
from table_format.lsm import writer
from table_format.metastore.expiry import orphans
from table_format.metastore.expiry.file_deletions import FileDeletions
from table_format.metastore.history import rollback
from table_format.model.snapshot import CommitKind
from table_format.table.write.flush_schedule import FlushSchedule
from table_format.table.write.hand_over import HandOver
from tests.simulation.test_every_call import copy_of
from tests.simulation.test_every_call_of_history import four_snapshots, opened, row
from tests.support.acting_io import ActingIO
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of

TABLES: dict[str, dict[str, Any]] = {
    "append": {},
    "append in buckets": {"options": {"bucket": "2", "bucket-key": "id"}},
    "fixed": {"primary_keys": ["id"]},
    "dynamic": {"primary_keys": ["id"], "options": {"bucket": "-1"}},
    "postponed": {"primary_keys": ["id"], "options": {"bucket": "-2"}},
}
STEPS: dict[str, tuple[type, str]] = {
    "rows are written": (FlushSchedule, "wrote"),
    "files are flushed": (FlushSchedule, "flush"),
    "messages are completed": (HandOver, "complete"),
}


_DATED = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("dt", pa.string(), False), ("v", pa.int32())])
_SMALL = {"bucket": "1", "write-buffer-size": "192 b", "page-size": "64 b"}


def dated(rows: Sequence[tuple[int, str, int]]) -> pa.Table:
    return pa.table([list(column) for column in zip(*rows, strict=True)], schema=_DATED)


@pytest.fixture
def warehouse() -> Warehouse:
    return memory_warehouse()


def data_files(warehouse: Warehouse, table: Table) -> list[str]:
    return [name for name in warehouse.files(table) if name.startswith("bucket-")]


def interrupt_after(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
    """Let a step do its work, and interrupt the write right after it."""
    real = getattr(owner, name)

    def interrupted(*arguments: Any, **named: Any) -> Any:
        real(*arguments, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(owner, name, interrupted)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", TABLES)
def test_a_write_that_is_interrupted_can_be_done_again(
    warehouse: Warehouse, kind: str, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = warehouse.table(**TABLES[kind])
    write = table.new_write("w")
    data = keyed([(i, "a", i) for i in range(10)])
    with monkeypatch.context() as during:
        interrupt_after(during, *STEPS[step])
        with pytest.raises(KeyboardInterrupt):
            write.write(data)
    # Messages that were completed may be the caller's already; all other files are deleted.
    assert bool(data_files(warehouse, table)) is (step == "messages are completed")
    table.new_commit("w").commit(write.write(data), identifier=1)
    if kind == "postponed":
        table.compact()
    assert rows_of(table) == sorted(((i, "a", i) for i in range(10)), key=repr)


def test_after_rows_that_wait_for_their_commit_an_aborted_write_is_broken(warehouse: Warehouse) -> None:
    for kind, is_broken in {"append": False, "append in buckets": True, "fixed": True, "postponed": False}.items():
        table = warehouse.table(kind.replace(" ", "_"), **TABLES[kind])
        write = table.new_write("w")
        write.write(keyed([(1, "a", 1)]))
        write.abort()
        if is_broken:
            with pytest.raises(InvalidInputError, match="an earlier write failed halfway"):
                write.write(keyed([(2, "a", 2)]))
        else:
            assert write.write(keyed([(2, "a", 2)]))


def test_later_calls_go_on_with_sequence_numbers_before_a_commit_and_after(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1", "write-only": "true"})
    write, commit = table.new_write("w"), table.new_commit("w")
    messages = [write.write(keyed([(1, "a", n), (2, "a", n)])) for n in range(2)]
    commit.commit([message for call in messages for message in call], identifier=1)
    table.append(keyed([(3, "a", 0)]))  # of another writer
    [third] = write.write(keyed([(1, "a", 2)]))
    commit.commit([third], identifier=2)
    numbers = [
        (file.min_sequence_number, file.max_sequence_number)
        for message in (*messages[0], *messages[1], third)
        for file in message.new_files
    ]
    assert numbers == [(0, 1), (2, 3), (5, 5)]
    assert rows_of(table) == [(1, "a", 2), (2, "a", 1), (3, "a", 0)]


def test_an_overwrite_numbers_the_rows_of_each_call_from_the_start(warehouse: Warehouse) -> None:
    table = warehouse.table(options={"bucket": "1", "bucket-key": "id"})
    table.append(keyed([(i, "a", i) for i in range(5)]))
    [snapshot] = table.overwrite(keyed([(7, "a", 7)]))
    [entry] = [e for e in table.facts.manifests.delta_entries(snapshot) if e.kind.name == "ADD"]
    assert (entry.file.min_sequence_number, entry.total_buckets) == (0, 1)


@pytest.mark.parametrize(("commits_since", "what"), [(0, "removed by a rollback"), (2, "replaced by a rollback")])
def test_rows_over_which_the_table_is_rolled_back_are_refused_with_what_happened_and_what_to_do(
    warehouse: Warehouse, commits_since: int, what: str
) -> None:
    table = warehouse.table(primary_keys=["id", "dt"], partition_keys=["dt"], schema=_DATED, options=_SMALL)
    for number in range(2):
        table.append(dated([(number, "a", 1)]))
    uncached = replace(table.store, runtime=replace(table.store.runtime, decoded=DecodedFiles(0)))
    writing = Table(table.identifier, uncached, table.schema)

    def batches() -> Iterator[pa.RecordBatch]:
        yield from dated([(8, "a", 8)]).to_batches()
        table.rollback_to(1)
        for number in range(commits_since):
            table.append(dated([(number, "b", 1)]))
        yield from dated([(9, "b", 9)]).to_batches()

    before = table.scan().count() - 1
    with pytest.raises(
        SnapshotExpired, match=f"snapshot 2 was {what}.* after this write had .*was committed; write the rows again"
    ):
        writing.append(pa.RecordBatchReader.from_batches(_DATED, batches()))
    assert table.scan().count() == before + commits_since
    assert not table.remove_orphan_files(older_than_ms=1 << 60, nobody_else_writes=True).paths


def test_a_writer_goes_on_from_the_table_if_a_rollback_removes_its_commit_and_a_branch_keeps_the_files(
    warehouse: Warehouse,
) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1", "num-sorted-run.compaction-trigger": "3"})
    table.append(keyed([(0, "a", 0)]))
    write, commit = table.new_write("w"), table.new_commit("w")
    commit.commit(write.write(keyed([(1, "a", 1)])), identifier=1)
    table.create_tag("kept")
    table.create_branch("b", tag="kept")
    table.rollback_to(1)
    kinds = [
        [snapshot.commit_kind for snapshot in commit.commit(write.write(keyed([(n, "a", n)])), identifier=n)]
        for n in range(2, 6)
    ]
    assert rows_of(table) == [(0, "a", 0), *((n, "a", n) for n in range(2, 6))]
    assert [CommitKind.COMPACT in each for each in kinds] == [False, True, False, True]
    assert table.verify().is_healthy


def test_a_message_whose_caller_gave_up_is_looked_for_only_once(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1"})
    write, commit = table.new_write("w"), table.new_commit("w")
    write.write(keyed([(1, "a", 1)]))
    searches: list[object] = []
    monkeypatch.setattr(orphans, "reached_names", lambda *_: searches.append(None) or frozenset())
    for number in range(2, 6):
        commit.commit(write.write(keyed([(number, "a", number)])), identifier=number)
    assert len(searches) == 1


def test_a_write_whose_file_a_rollback_deletes_just_then_asks_for_a_new_write(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"bucket": "1", "num-sorted-run.compaction-trigger": "4"}
    table = warehouse.table(primary_keys=["id"], options=options)
    for number in (0, 1):
        table.append(keyed([(1, "a", number)]))
    write, commit = table.new_write("w"), table.new_commit("w")
    commit.commit(write.write(keyed([(2, "a", 2)])), identifier=1)
    late: list[Callable[[], object]] = []
    with monkeypatch.context() as during:  # the last step of a rollback takes a while
        delete = rollback.delete_unneeded

        def delete_late(*arguments: Any) -> FileDeletions:
            late.append(partial(delete, *arguments))
            return FileDeletions()

        during.setattr(rollback, "delete_unneeded", delete_late)
        table.rollback_to(2)
    due = writer.due_compaction

    def compacting(*arguments: Any) -> Any:
        while late:
            late.pop()()
        return due(*arguments)

    monkeypatch.setattr(writer, "due_compaction", compacting)
    with pytest.raises(SnapshotExpired, match="its commit was rolled back, or its message was aborted"):
        write.write(keyed([(3, "a", 3)]))
    again = table.new_write("w")
    table.new_commit("w").commit(again.write(keyed([(3, "a", 3)])), identifier=2)
    assert rows_of(table) == [(1, "a", 1), (3, "a", 3)]


def test_a_write_that_a_rollback_meets_before_it_has_read_its_snapshot_finds_no_damage() -> None:
    start = MemoryFileIO()
    four_snapshots(start)
    for number in range(10_000):
        memory = copy_of(start)
        store = ActingIO(memory, number, lambda memory=memory: opened(memory).rollback_to(1))
        write = opened(store).new_write("w")
        store.watch()
        with suppress(SnapshotExpired):
            write.write(row(9, 9))
        if store.calls <= number:
            break
    assert number > 5

"""Somebody expires what is being read, before each call of the reader in turn: never is that told as corruption.

A reader gets the rows before the expiry, the rows after it, or ``SnapshotExpired``. An operation that changes the
table may also get a conflict. The expiry either comes to its end or dies when it has deleted all files and
none of the snapshots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from table_format import Insert, Schema, Table, Update, load_catalog
from table_format.catalog.filesystem import FileSystemCatalog
from table_format.engine import index_coverage
from table_format.errors import (
    ConflictError,
    CorruptionError,
    MissingFile,
    OutcomeUnknownError,
    SnapshotExpired,
    SnapshotNotFound,
    TagNotFound,
)
from table_format.io.memory import MemoryFileIO
from table_format.model.bucket_id import BucketId
from table_format.table.upkeep.other_buckets import other_buckets_due
from tests.simulation.drawn import copied, drawn_runtime
from tests.simulation.failing_io import OneFailure
from tests.simulation.remembered import Remembered
from tests.simulation.test_every_call import STEP, StillClock
from tests.support.acting_io import ActingIO
from tests.support.decoded_once import decoded_once
from tests.support.matrix import combinations
from tests.support.tables import memory_warehouse

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.int64())])
BEFORE = {1: 10, 2: 21, 3: 30, 4: 40}
AFTER = {k: v + 1 for k, v in BEFORE.items()}


@pytest.fixture(autouse=True, scope="module")
def _decoded_once() -> Iterator[None]:
    with decoded_once():
        yield


def rows(values: Mapping[int, int]) -> pa.Table:
    return pa.table({"k": list(values), "v": list(values.values())}, schema=SCHEMA)


def opened(store: Any, name: str = "db.t") -> Any:
    catalog = load_catalog({"warehouse": "/w"}, file_io=store, runtime=drawn_runtime(store, StillClock()))
    assert isinstance(catalog, FileSystemCatalog)
    return catalog.load_table(name)


def expire(table: Table) -> None:
    """All snapshots but the latest."""
    now = table.store.runtime.clock.now_ms()
    table.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=now + 1, retain_floor_ms=0)


class DyingAtSnapshots(OneFailure):
    """The process dies when it deletes a snapshot."""

    def _call(self, verb: str, *arguments: Any) -> Any:
        if verb == "delete" and "/snapshot/snapshot-" in arguments[0]:
            raise OSError(5, "was made to fail", arguments[0])
        return super()._call(verb, *arguments)


def replace_and_expire(memory: MemoryFileIO) -> None:
    opened(memory).overwrite(rows(AFTER))
    expire(opened(memory))


def replace_and_half_expire(memory: MemoryFileIO) -> None:
    opened(memory).overwrite(rows(AFTER))
    with suppress(OSError):
        expire(opened(DyingAtSnapshots(memory)))


def let_tag_go_and_expire(memory: MemoryFileIO) -> None:
    replace_and_expire(memory)
    opened(memory).delete_tag("second")


def make(options: Mapping[str, str], *, keyed: bool) -> MemoryFileIO:
    """Four snapshots of rows and what compactions add to them; the second has a tag."""
    memory = MemoryFileIO(StillClock())
    catalog = load_catalog({"warehouse": "/w"}, file_io=memory, runtime=drawn_runtime(memory, StillClock()))
    catalog.create_database("db")
    keys = ["k"] if keyed else []
    given = {"bucket": "1", **options} if keyed else dict(options)
    table = catalog.create_table("db.t", Schema.from_arrow(SCHEMA, primary_keys=keys, options=given))
    table.append(rows({1: 10, 2: 20}))
    table.append(rows({3: 30}))
    table.create_tag("second", 2)
    table.append(rows({4: 40}))
    table.update({"v": "v + 1"}, "k = 2")
    return memory


KINDS: dict[str, tuple[dict[str, str], bool]] = {
    "append": ({}, False),
    "append with deletion vectors": ({"deletion-vectors.enabled": "true"}, False),
    "append with file indexes": ({"file-index.bloom-filter.columns": "k"}, False),
    "keyed": ({}, True),
    "keyed with deletion vectors": (
        {"deletion-vectors.enabled": "true", "changelog-producer": "lookup"},
        True,
    ),
    "dynamic buckets": ({"bucket": "-1"}, True),
}


def state(found: pa.Table) -> dict[int, int]:
    names = found.column_names
    return dict(zip(found.column(names[-2]).to_pylist(), found.column(names[-1]).to_pylist(), strict=True))


def scanned(table: Table, **options: str) -> dict[int, int]:
    return state(table.scan(options=options or None).to_arrow(threads=1))


@Remembered
def has_rows(store: Any) -> bool:
    return bool(scanned(opened(store)))


def streamed(table: Table, **options: str) -> None:
    stream = table.stream(options=options or None)
    while (plan := stream.next_plan()) is not None:
        stream.to_arrow(plan)


def in_batches(table: Table) -> dict[int, int]:
    return state(pa.Table.from_batches(table.scan().to_batches(), schema=SCHEMA))


READS: dict[str, Callable[[Table], Any]] = {
    "to_arrow": scanned,
    "to_batches": in_batches,
    "lookup": lambda t: t.scan(filter="k = 2").to_arrow(threads=1).num_rows == 1 or pytest.fail("the key is there"),
    "explain": lambda t: t.scan(filter="v > 20").plan().explain(row_groups=True) and None,
    "snapshot": lambda t: scanned(t, **{"scan.snapshot-id": "4"}) and None,
    "timestamp": lambda t: scanned(t, **{"scan.timestamp-millis": str(1 << 50)}),
    "stream": streamed,
    "stream of changes": lambda t: streamed(t, **{"scan.mode": "from-snapshot", "scan.snapshot-id": "1"}),
    "changes": lambda t: t.scan(options={"incremental-between": "1,3"}).to_arrow(threads=1) and None,
}
MEASURES: dict[str, Callable[[Table], Any]] = {
    "index coverage": lambda t: index_coverage(t.facts) and None,
    "due upkeep": lambda t: t.due_upkeep() and None,
}
OF_KEYS: dict[str, Callable[[Table], Any]] = {
    "difference": lambda t: (
        t.scan(options={"incremental-between": "1,3", "incremental-between-scan-mode": "diff"}).to_arrow(threads=1)
        and None
    ),
}
SYSTEM = (
    *("files", "manifests", "partitions", "buckets", "snapshots", "table_indexes", "statistics", "audit_log"),
    *("binlog", "ro"),
)
CHANGES: dict[str, Callable[[Table], Any]] = {
    "update": lambda t: t.update({"v": "v + 0"}, "k <= 2"),
    "delete": lambda t: t.delete("k = 99"),
    "merge": lambda t: t.merge(
        rows({2: 0}), "k", when_matched=Update({"v": "target.v + source.v"}), when_not_matched=Insert()
    ),
    "append": lambda t: t.append(rows({9: 90})),
    "compact": lambda t: t.compact(full=True),
    "analyze": lambda t: t.analyze(["v"]),
    "expiry": expire,
    "creation of a tag": lambda t: t.create_tag("third", 3),
    "orphans": lambda t: t.remove_orphan_files(older_than_ms=1 << 60, dry_run=True, nobody_else_writes=True),
}


@dataclass
class Seen:
    """How often what happened."""

    expired: int = 0
    trials: int = 0


def snapshot_of(memory: MemoryFileIO) -> MemoryFileIO:
    """A copy that shares the files, which never change."""
    return copied(memory, StillClock())


def take(memory: MemoryFileIO, other: MemoryFileIO) -> None:
    copy = snapshot_of(other)
    memory._files, memory._directories = copy._files, copy._directories


def try_every_call(
    start: MemoryFileIO,
    name: str,
    work: Callable[[Any], Any],
    act: Callable[[MemoryFileIO], None],
    *,
    changes: bool = False,
) -> Seen:
    """Somebody acts before each call in turn, or, of those of work that changes the table, before every seventh."""
    seen, number = Seen(), 0
    acted = snapshot_of(start)
    act(acted)
    while True:
        memory = snapshot_of(start)
        # A reader leaves the store as it is, so one expired copy serves all trials.
        acting = partial(act, memory) if changes else partial(take, memory, acted)
        store = ActingIO(memory, number, acting)
        table = opened(store, name)
        store.watch()
        try:
            found = work(table)
            assert not isinstance(found, dict) or found in (BEFORE, AFTER), f"{name}, call {number}"
        except SnapshotExpired:
            seen.expired += 1
        except (ConflictError, OutcomeUnknownError, SnapshotNotFound):
            pass
        except CorruptionError as error:
            error.add_note(f"call {number}")
            raise
        if store.calls <= number:
            return seen
        if changes:
            assert has_rows(memory)
        seen.trials += 1
        number += STEP if changes else 1


ACTS = {"expiry": replace_and_expire, "expiry that dies": replace_and_half_expire}
TURNS = combinations(KINDS, ACTS)
"""Every kind of table, of which every other one meets an expiry that dies; or each with both."""


@pytest.mark.parametrize(("kind", "act"), TURNS)
def test_a_reader_is_told_that_its_snapshot_was_expired(kind: str, act: str) -> None:
    options, keyed = KINDS[kind]
    start = make(options, keyed=keyed)
    for name, work in (READS | (OF_KEYS if keyed else {})).items():
        seen = try_every_call(start, "db.t", work, ACTS[act])
        assert seen.trials > 0, name
        assert seen.expired > 0, f"{name}: no call was met by the expiry, so nothing was tried"


def assert_repeated(measures: Mapping[str, Callable[[Table], Any]], kind: str, act: str) -> None:
    """Whatever the expiry deletes first, each measure of the latest snapshot comes to its end."""
    options, keyed = KINDS[kind]
    start = make(options, keyed=keyed)
    for name, measure in measures.items():
        seen = try_every_call(start, "db.t", measure, ACTS[act])
        assert (seen.trials > 0, seen.expired) == (True, 0), name


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("kind", ["append with file indexes", "keyed"])
def test_a_measure_of_a_snapshot_that_was_expired_is_repeated(kind: str, act: str) -> None:
    assert_repeated(MEASURES, kind, act)


@pytest.mark.parametrize("act", ACTS)
def test_the_remaining_work_of_the_nth_commit_is_planned_without_expired_commits(act: str) -> None:
    fourth = {"full-compaction.delta-commits": "4"}
    start = make({}, keyed=True)
    elsewhere = [BucketId(opened(start).facts.live_files(opened(start).latest_snapshot()).entries[0].partition, 1)]
    assert other_buckets_due(opened(start).copy(fourth).facts, elsewhere)
    work = {"other buckets": lambda t: other_buckets_due(t.copy(fourth).facts, elsewhere) and None}
    assert_repeated(work, "keyed", act)


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("kind", ["append with deletion vectors", "keyed with deletion vectors", "dynamic buckets"])
def test_a_system_table_is_made_again_or_says_that_the_snapshot_was_expired(kind: str, act: str) -> None:
    options, keyed = KINDS[kind]
    start = make(options, keyed=keyed)
    for name in SYSTEM:
        if name == "binlog" and not keyed:
            continue
        try_every_call(start, f"db.t${name}", lambda t: t.scan().to_arrow() and None, ACTS[act])


@pytest.mark.parametrize(("kind", "act"), TURNS)
def test_a_change_whose_base_was_expired_is_done_again_or_refused(kind: str, act: str) -> None:
    options, keyed = KINDS[kind]
    start = make(options, keyed=keyed)
    for work in CHANGES.values():
        assert try_every_call(start, "db.t", work, ACTS[act], changes=True).trials > 0


def test_postponed_rows_of_commits_that_an_expiry_deletes_get_their_buckets() -> None:
    memory = MemoryFileIO(StillClock())
    catalog = load_catalog({"warehouse": "/w"}, file_io=memory, runtime=drawn_runtime(memory, StillClock()))
    catalog.create_database("db")
    catalog.create_table("db.t", Schema.from_arrow(SCHEMA, primary_keys=["k"], options={"bucket": "-2"}))
    for key, value in BEFORE.items():
        opened(memory).append(rows({key: value}))
    with suppress(OSError):
        expire(opened(DyingAtSnapshots(memory)))
    table = opened(memory)
    assert table.facts.snapshots.find(1) is not None
    table.compact()
    assert scanned(opened(memory)) == BEFORE


def test_a_reader_of_a_tag_that_is_deleted_is_told_that_its_snapshot_was_expired() -> None:
    for options, keyed in KINDS.values():
        start = make(options, keyed=keyed)
        replace_and_expire(start)
        read = lambda t: scanned(t, **{"scan.tag-name": "second"}) and None  # noqa: E731
        for act in (lambda m: opened(m).delete_tag("second"), lambda m: opened(m).replace_tag("second")):
            seen, number = 0, 0
            while True:
                memory = snapshot_of(start)
                store = ActingIO(memory, number, partial(act, memory))
                table = opened(store)
                store.watch()
                try:
                    read(table)
                except (SnapshotNotFound, TagNotFound):
                    seen += 1
                if store.calls <= number:
                    break
                number += 1
            assert seen > 0


def test_a_reader_is_told_that_its_snapshot_was_replaced() -> None:
    table = memory_warehouse().table(primary_keys=["k"], schema=SCHEMA, options={"bucket": "1"})
    for number in (1, 2, 3):
        table.append(rows({number: number}))
    scan = table.scan()
    splits = scan.plan().splits
    table.rollback_to(1)
    for number in (4, 5):
        table.append(rows({number: number}))
    with pytest.raises(SnapshotExpired, match="snapshot 3 was replaced by a rollback or a fast-forward"):
        [list(scan.read(split)) for split in splits]


def test_a_tag_of_the_snapshot_that_replaced_that_of_a_reader_does_not_keep_the_files_of_the_reader() -> None:
    table = memory_warehouse().table(primary_keys=["k"], schema=SCHEMA, options={"bucket": "1"})
    for number in (1, 2):
        table.append(rows({number: number}))
    scan = table.scan()
    splits = scan.plan().splits
    table.rollback_to(1)
    table.append(rows({4: 4}))
    table.create_tag("other")
    table.append(rows({5: 5}))
    table.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=1 << 60, retain_floor_ms=0)
    with pytest.raises(SnapshotExpired, match="snapshot 2 was expired"):
        [list(scan.read(split)) for split in splits]


def test_what_a_retained_snapshot_lacks_is_damage() -> None:
    start = make({}, keyed=True)
    for part in ("/manifest/", "/bucket-0/"):
        for path in [p for p in start._files if part in p]:
            memory = snapshot_of(start)
            memory.delete(path)
            try:
                found = scanned(opened(memory))
            except MissingFile as error:
                found, missing = BEFORE, error.path
            else:
                missing = path  # of an earlier snapshot
            assert (found, missing) == (BEFORE, path)

"""Hints, tags, consumers and notices damaged before every operation that deletes: nothing that is alive goes.

Files that are needed before an operation and after it, as an undamaged run shows, must be there whatever was damaged.
Where a hint is damaged the operation must do what it does without; of any other damage it may be refused, with an error
that names the file. ``DAMAGE_STEP=1`` damages every byte of the larger files, otherwise one in 151.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

from table_format import Schema, Table, load_catalog
from table_format.catalog.filesystem import FileSystemCatalog
from table_format.errors import CorruptionError, NotFoundError, TableFormatError
from table_format.io.memory import MemoryFileIO
from table_format.metastore.expiry import tag_deletion
from table_format.metastore.expiry.branch_needs import BranchHistory, needs_of
from table_format.metastore.references.tag_store import TagStore
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from tests.simulation import drawn
from tests.simulation.drawn import drawn_runtime
from tests.simulation.remembered import Remembered
from tests.simulation.test_every_call import StillClock
from tests.support.reachable import Reachable, files_below

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("p", pa.string(), nullable=False)])
STEP = int(os.environ.get("DAMAGE_STEP", "151"))
OPTIONS = {
    "bucket": "1",
    "num-sorted-run.compaction-trigger": "2",
    "snapshot.num-retained.min": "3",
    "snapshot.num-retained.max": "3",
    "snapshot.time-retained": "1 ms",
    "commit.attempt-timeout": "1 s",
    "commit.request-timeout": "1 s",
}
SOON = 1 << 60
Store = MemoryFileIO


def opened(memory: Store, name: str = "db.t") -> Table:
    catalog = load_catalog({"warehouse": "/w"}, file_io=memory, runtime=drawn_runtime(memory, memory._clock))
    assert isinstance(catalog, FileSystemCatalog)
    table = catalog.load_table(name)
    assert isinstance(table, Table)
    return table


def rows(*keys: int) -> pa.Table:
    return pa.table({"k": list(keys), "p": ["a" if key % 2 else "b" for key in keys]}, schema=SCHEMA)


def expire(table: Table, keep: int = 3) -> None:
    table.store.runtime.clock.sleep_ms(1000)
    now = table.store.runtime.clock.now_ms()
    table.expire_snapshots(retain_min=keep, retain_max=keep, older_than_ms=now, retain_floor_ms=0)


@cache
def history(options: tuple[tuple[str, str], ...]) -> Store:
    """Tags of an expired and of a retained snapshot, a branch, a consumer, and long-lived changelogs if they are kept.

    The snapshots retained are the last four; all rows have been compacted since the first tag.
    """
    memory = MemoryFileIO(StillClock())
    catalog = load_catalog({"warehouse": "/w"}, file_io=memory, runtime=drawn_runtime(memory, memory._clock))
    assert isinstance(catalog, FileSystemCatalog)
    catalog.create_database("db")
    schema = Schema.from_arrow(SCHEMA, ["k", "p"], ["p"], {**OPTIONS, "write-only": "true", **dict(options)})
    table = catalog.create_table("db.t", schema)
    for key in (1, 2, 3):
        table.append(rows(key))
        table.store.runtime.clock.sleep_ms(1000)
    table.create_tag("old", 2)
    table.create_branch("b", tag="old")
    branch = opened(memory, "db.t$branch_b")
    branch.append(rows(11))
    branch.append(rows(13))
    table.create_tag("older", 1)
    for key in (4, 5, 6, 7):
        table.append(rows(key))
        table.store.runtime.clock.sleep_ms(1000)
    table.copy({"write-only": "false"}).compact(full=True)
    expire(table, 4)
    table.append(rows(8))
    last = table.latest_snapshot()
    assert last is not None
    table.create_tag("new", last.id - 1)
    table.reset_consumer("reader", last.id - 2)
    return memory


def copied(memory: Store) -> Store:
    clock = StillClock()
    clock.ms = memory._clock.now_ms()
    return drawn.copied(memory, clock)


def commit_with_upkeep(table: Table) -> None:
    table.store.runtime.clock.sleep_ms(100_000)
    table.copy({"write-only": "false", "tag.time-expire-enabled": "true"}).append(rows(9))


def latest_id(table: Table) -> int:
    found = table.latest_snapshot()
    assert found is not None
    return found.id


def drop_and_expire(table: Table) -> None:
    table.drop_partitions([{"p": "a"}])
    expire(table)


OPERATIONS: Mapping[str, Callable[[Table], object]] = {
    "expire": expire,
    "delete the tag of an expired snapshot": lambda t: t.delete_tag("old"),
    "delete the tag of a retained snapshot": lambda t: t.delete_tag("new"),
    "expire tags": lambda t: t.expire_tags(older_than_ms=SOON),
    "replace a tag": lambda t: t.replace_tag("old"),
    "rollback": lambda t: t.rollback_to("new"),
    "rollback to the tag of an expired snapshot": lambda t: t.rollback_to("old"),
    "fast-forward": lambda t: t.fast_forward("b"),
    "delete a branch": lambda t: t.delete_branch("b"),
    "drop partitions and expire": drop_and_expire,
    "remove orphans": lambda t: t.remove_orphan_files(older_than_ms=SOON, nobody_else_writes=True),
    "expire changelogs": lambda t: t.expire_changelogs(retain_min=1, retain_max=1, older_than_ms=SOON),
    "commit": commit_with_upkeep,
}
KINDS = ((), (("changelog.num-retained.max", "100"), ("snapshot.num-retained.max", "3")))


OF_CHANGELOGS = ("expire", "expire changelogs", "rollback to the tag of an expired snapshot", "commit")


@dataclass(frozen=True)
class Undamaged:
    """What an operation leaves when nothing is damaged."""

    alive: frozenset[str]
    """Files that are needed before and after it."""
    rows: tuple[int, ...]


def keys(table: Table) -> tuple[int, ...]:
    return tuple(sorted(table.scan().to_arrow(threads=1).column("k").to_pylist()))


@Remembered
def keys_of(store: Any, name: str = "db.t") -> tuple[int, ...]:
    """The keys in a table, by its name."""
    return keys(opened(store, name))


@cache
def undamaged(name: str, options: tuple[tuple[str, str], ...]) -> Undamaged:
    memory = copied(history(options))
    before = Reachable(opened(memory)).needed
    OPERATIONS[name](opened(memory))
    after = Reachable(opened(memory)).needed & set(files_below(memory, "/w/db.db/t"))
    return Undamaged(frozenset(before & after), keys_of(memory))


def hints(memory: Store) -> list[str]:
    return [path for path in files_below(memory, "/w/db.db/t") if path.endswith(("/EARLIEST", "/LATEST"))]


def wrong_hints(memory: Store, path: str) -> Iterator[bytes | None]:
    latest = latest_id(opened(memory))
    if STEP > 1 and ("/branch/" in path or "/changelog/" in path):
        # Of a branch, or of long-lived changelogs, for which nobody asks hints.
        yield from (b"garbage", b"1", str(latest).encode())
        return
    yield from (b"", b"-1", b"0", b"garbage", b"9" * 19, b"9" * 40, None)
    yield from (str(i).encode() for i in (1, 5, latest - 3, latest - 1, latest, latest + 1, latest + 80))


def put(memory: Store, path: str, content: bytes | None) -> None:
    if content is None:
        memory.delete(path)
    else:
        memory.overwrite(path, content)


def check_alive(memory: Store, expected: Undamaged, *, beside: str, what: str) -> None:
    there = set(files_below(memory, "/w/db.db/t"))
    assert expected.alive
    missing = sorted(expected.alive - there - {beside})
    assert not missing, f"{what}: deleted {missing}"


def try_wrong_hints(options: tuple[tuple[str, str], ...], operations: Mapping[str, Any] = OPERATIONS) -> int:
    start, trials = history(options), 0
    for path in hints(start):
        for content in wrong_hints(start, path):
            for name, operation in operations.items():
                memory = copied(start)
                put(memory, path, content)
                what = f"{name} with {path} = {content!r}"
                operation(opened(memory))
                expected = undamaged(name, options)
                check_alive(memory, expected, beside=path, what=what)
                assert keys_of(memory) == expected.rows, what
                trials += 1
    return trials


@pytest.mark.parametrize("options", KINDS, ids=["short changes", "long-lived changes"])
def test_no_operation_deletes_what_is_alive_because_of_a_hint(options: tuple[tuple[str, str], ...]) -> None:
    asked = OPERATIONS if STEP == 1 or not options else {name: OPERATIONS[name] for name in OF_CHANGELOGS}
    assert try_wrong_hints(options, asked) >= 31 * len(asked)


def test_every_snapshot_is_found_tagged_and_gone_back_to_whatever_the_hints_say() -> None:
    start = history(())
    ids = [snapshot.id for snapshot in opened(start).snapshots()]
    for path in hints(start):
        for content in wrong_hints(start, path):
            memory = copied(start)
            put(memory, path, content)
            table = opened(memory)
            assert [snapshot.id for snapshot in table.snapshots()] == ids
            for snapshot_id in ids:
                assert table.create_tag(f"of-{snapshot_id}", snapshot_id).snapshot.id == snapshot_id
            assert table.rollback_to(ids[0]).snapshot.id == ids[0]
            assert latest_id(opened(memory)) == ids[0]


def damages_of(data: bytes) -> Iterator[bytes]:
    """Bits flipped, truncations, and what is no file of its kind at all."""
    for at in range(0, len(data), STEP):
        yield data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1 :]
        yield data[:at]
    yield from (b"", b"null", b"[]", b"{}", b"\x00" * len(data), b"9" * 30)


@pytest.mark.parametrize("part", ["/tag/tag-old", "/tag/tag-new", "/tag/tag-older", "/branch/branch-b/tag/tag-old"])
def test_no_operation_deletes_what_is_alive_because_of_a_damaged_tag(part: str) -> None:
    start = history(())
    path = f"/w/db.db/t{part}"
    for damage in damages_of(start.read(path)):
        for name, operation in OPERATIONS.items():
            memory = copied(start)
            memory.overwrite(path, damage)
            before = set(files_below(memory, "/w/db.db/t"))
            expected = undamaged(name, ())
            what = f"{name} with {path} = {damage!r}"
            refused = refusal_of(lambda operation=operation, memory=memory: operation(opened(memory)))
            # The tag itself, or what a damaged name in it names.
            assert refused is None or refused == path or refused not in before, what
            alive = Undamaged(expected.alive & needed_without(part), expected.rows)
            check_alive(memory, alive, beside=path, what=what)


def refusal_of(work: Callable[[], object]) -> str | None:
    """The path that a refusal names; ``None`` when there was none, or a tag was not found."""
    try:
        work()
    except CorruptionError as error:
        return error.path
    except NotFoundError:
        return None
    return None


@cache
def needed_without(part: str) -> frozenset[str]:
    """What is needed without what only the damaged file says is needed: nobody can read that any more."""
    intact = copied(history(()))
    intact.delete(f"/w/db.db/t{part}")
    return frozenset(Reachable(opened(intact)).needed)


@pytest.mark.parametrize("content", [b"", b"{", b"null", b"[]", b'{"nextSnapshot": null}', b'{"nextSnapshot": "6"}'])
def test_nothing_is_expired_while_a_consumer_cannot_be_understood(content: bytes) -> None:
    start = history(())
    path = opened(start).store.paths.consumer("reader")
    memory = copied(start)
    memory.overwrite(path, content)
    before = set(files_below(memory, "/w/db.db/t"))
    with pytest.raises(CorruptionError) as caught:
        expire(opened(memory), 1)
    assert caught.value.path == path
    assert set(files_below(memory, "/w/db.db/t")) == before


def test_a_notice_of_a_dead_expiry_deletes_nothing_and_hides_nothing() -> None:
    start = history(())
    latest = latest_id(opened(start))
    for end in (1, latest - 1, latest, latest + 1, 10**18):
        for name, operation in OPERATIONS.items():
            memory = copied(start)
            memory.create(f"/w/db.db/t/snapshot/expiring-{end}-7f60b530", b"")
            operation(opened(memory))
            expected = undamaged(name, ())
            check_alive(memory, expected, beside="", what=f"{name} beside a notice of {end}")
            assert keys_of(memory) == expected.rows


# --- mutants: hints are believed again ------------------------------------------------------------------------------


def _hinted(store: SnapshotStore) -> int:
    return store.hints.earliest() or 0


def _kept_if_hinted(store, *, beside=frozenset()):
    return lambda snapshot: snapshot.id >= _hinted(SnapshotStore(store))


def _needs_of_hinted(store, manifests, names, wanted):
    found = BranchHistory.of(store, without_tags=names)
    earliest = _hinted(SnapshotStore(store))
    states = tuple(s for s in found.snapshots if s.id >= earliest)
    return needs_of([BranchHistory(store, states, found.changelogs, found.tagged)], manifests, wanted=wanted)


def _trusted(self, look):
    latest = self.hints.latest() or self._listed_latest()
    return None if latest is None else look(latest)


def _going_if_hinted(self, snapshot_id):
    return snapshot_id < _hinted(self) or not self.exists(snapshot_id)


def _retained_if_hinted(self, snapshot, *, beside):
    return not _going_if_hinted(SnapshotStore(self._store), snapshot.id)


def _refuse_hinted(self, name, snapshot, **options):
    if not _retained_if_hinted(self, snapshot, beside=name):
        message = f"snapshot {snapshot.id} is going"
        raise NotFoundError(message)
    return CREATE(self, name, snapshot, **options)


CREATE = TagStore.create
MUTANTS = {
    "a tag's snapshot is retained if EARLIEST says so": (
        (tag_deletion, "_kept_otherwise", _kept_if_hinted),
        (tag_deletion, "needs_beside_tags", _needs_of_hinted),
    ),
    "the latest is what LATEST says": ((SnapshotStore, "_find_latest", _trusted),),
    "a snapshot can be tagged if EARLIEST says so": ((TagStore, "create", _refuse_hinted),),
}


def believe() -> None:
    """The tests that a mutant must not pass."""
    try_wrong_hints((), {n: OPERATIONS[n] for n in OPERATIONS if "tag" in n or n == "commit"})
    test_every_snapshot_is_found_tagged_and_gone_back_to_whatever_the_hints_say()


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_that_believes_a_hint_is_noticed(name: str) -> None:
    for operation in OPERATIONS:
        undamaged(operation, ())
    with ExitStack() as stack:
        for target, attribute, replacement in MUTANTS[name]:
            stack.enter_context(patch.object(target, attribute, replacement))
        with pytest.raises((AssertionError, TableFormatError)):
            believe()

"""Every call of every operation on tags, branches and history fails once in every mode; then it is done again.

What holds after the failure and after the repetition: the table reads as it was at one of its snapshots between before
and after, never anything else; every snapshot and every tag of every branch can be read; and the repetition ends as if
nothing had failed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from table_format import Schema, Table, load_catalog
from table_format.catalog.filesystem import FileSystemCatalog
from table_format.errors import AlreadyExistsError, NotFoundError, TableFormatError
from table_format.io.memory import MemoryFileIO
from table_format.metastore.references.branch_list import branch_names
from table_format.metastore.references.snapshot_files import metadata_names, without_changelog
from table_format.metastore.references.tag_store import TagStore
from table_format.model.schema_change import AddColumn
from table_format.model.types import IntType
from tests.simulation.drawn import drawn_runtime
from tests.simulation.failing_io import Crash, Mode, OneFailure
from tests.simulation.remembered import Remembered
from tests.simulation.test_every_call import StillClock, copy_of
from tests.support.matrix import tries

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.int64())])


def row(key: int, value: int) -> pa.Table:
    return pa.table({"k": [key], "v": [value]}, schema=SCHEMA)


def catalog_on(store: Any) -> FileSystemCatalog:
    catalog = load_catalog({"warehouse": "/w"}, file_io=store, runtime=drawn_runtime(store, StillClock()))
    assert isinstance(catalog, FileSystemCatalog)
    return catalog


def opened(store: Any, name: str = "db.t") -> Table:
    table = catalog_on(store).load_table(name)
    assert isinstance(table, Table)
    return table


def new_table(memory: MemoryFileIO) -> Table:
    catalog = catalog_on(memory)
    catalog.create_database("db")
    options = {"bucket": "1", "num-sorted-run.compaction-trigger": "3"}
    return catalog.create_table("db.t", Schema.from_arrow(SCHEMA, primary_keys=["k"], options=options))


def four_snapshots(memory: MemoryFileIO) -> None:
    """Snapshots 1 to 4 with a compaction after them, the second and fourth with tags."""
    table = new_table(memory)
    for number in (1, 2, 3, 4):
        table.append(row(number, number))
        if number in (2, 4):
            table.create_tag(f"t{number}")


def tag_of_expired(memory: MemoryFileIO) -> None:
    """Only a tag keeps the second snapshot."""
    four_snapshots(memory)
    table = opened(memory)
    table.delete_tag("t4")
    expire_all_but(table, 2)


def expire_all_but(table: Table, count: int) -> None:
    now = table.store.runtime.clock.now_ms()
    table.expire_snapshots(retain_min=count, retain_max=count, older_than_ms=now + 1, retain_floor_ms=0)


def long_branch(memory: MemoryFileIO) -> None:
    """A branch from the second snapshot that is longer than main, and main has gone on as well."""
    table = new_table(memory)
    for number in (1, 2):
        table.append(row(number, number))
    table.create_tag("base")
    table.create_branch("b", tag="base")
    table.append(row(3, 3))
    table.create_tag("later")
    branch = opened(memory, "db.t$branch_b")
    for number in (11, 12, 13):
        branch.append(row(number, number))
    branch.create_tag("on branch")


def short_branch(memory: MemoryFileIO) -> None:
    """A branch from the first snapshot that is shorter than main."""
    table = new_table(memory)
    table.append(row(1, 1))
    table.create_tag("base")
    table.create_branch("b", tag="base")
    for number in (2, 3, 4):
        table.append(row(number, number))
    opened(memory, "db.t$branch_b").append(row(11, 11))


def other_schemas(memory: MemoryFileIO) -> None:
    """Main and a branch that each have added a column under the same schema id."""
    table = new_table(memory)
    table.append(row(1, 1))
    table.create_tag("base")
    table.create_branch("b", tag="base")
    catalog = catalog_on(memory)
    for name, column in (("db.t", "x"), ("db.t$branch_b", "y")):
        catalog.alter_table(name, AddColumn(column, IntType()))
    wide = pa.table({"k": [2], "v": [2], "x": pa.array([5], pa.int32())})
    opened(memory).append(wide)
    opened(memory, "db.t$branch_b").append(wide.rename_columns(["k", "v", "y"]))


def dated_tags(memory: MemoryFileIO) -> None:
    """Two tags whose time is over, one of an expired snapshot."""
    table = new_table(memory)
    table.append(row(1, 1))
    table.create_tag("old", time_retained_ms=1)
    for number in (2, 3):
        table.append(row(number, number))
    table.create_tag("young", time_retained_ms=1)
    expire_all_but(table, 1)


def expire_dated(table: Table) -> None:
    table.store.runtime.clock.sleep_ms(10)
    table.expire_tags()


@dataclass(frozen=True)
class Operation:
    """What is done; ``between`` are the keys main may hold after a failure, ``after`` those it holds at the end.

    ``ends`` are tags that it deletes: their files go first, so that a deletion that failed can be repeated.
    """

    name: str
    prepare: Callable[[MemoryFileIO], None]
    run: Callable[[Table], object]
    between: tuple[tuple[int, ...], ...]
    after: tuple[int, ...]
    ends: tuple[str, ...] = ()


FOUR = (1, 2, 3, 4)
PREFIXES = (FOUR, FOUR[:3], FOUR[:2])
FORWARDED = (1, 2, 11, 12, 13)
OPERATIONS = [
    Operation("rollback", four_snapshots, lambda t: t.rollback_to(2), PREFIXES, (1, 2)),
    Operation("rollback to a tag", four_snapshots, lambda t: t.rollback_to("t2"), PREFIXES, (1, 2)),
    Operation("rollback to an expired tag", tag_of_expired, lambda t: t.rollback_to("t2"), PREFIXES, (1, 2)),
    Operation("fast-forward", long_branch, lambda t: t.fast_forward("b"), ((1, 2, 3), FORWARDED), FORWARDED),
    Operation(
        "fast-forward to a shorter branch",
        short_branch,
        lambda t: t.fast_forward("b"),
        ((1, 2, 3, 4), (1, 2, 3), (1, 2), (1, 11)),
        (1, 11),
    ),
    Operation("fast-forward beside schemas", other_schemas, lambda t: t.fast_forward("b"), ((1, 2), (1,)), (1, 2)),
    Operation("creation of a branch", four_snapshots, lambda t: t.create_branch("n", tag="t4"), (FOUR,), FOUR),
    Operation("creation of an empty branch", four_snapshots, lambda t: t.create_branch("n"), (FOUR,), FOUR),
    Operation("branch of an expired tag", tag_of_expired, lambda t: t.create_branch("n", tag="t2"), (FOUR,), FOUR),
    Operation("deletion of a branch", long_branch, lambda t: t.delete_branch("b"), ((1, 2, 3),), (1, 2, 3)),
    Operation("new name of a branch", long_branch, lambda t: t.rename_branch("b", "c"), ((1, 2, 3),), (1, 2, 3)),
    Operation("another snapshot for a tag", tag_of_expired, lambda t: t.replace_tag("t2"), (FOUR,), FOUR),
    Operation("new name of a tag", tag_of_expired, lambda t: t.rename_tag("t2", "n"), (FOUR,), FOUR),
    Operation("deletion of a tag", tag_of_expired, lambda t: t.delete_tag("t2"), (FOUR,), FOUR, ends=("t2",)),
    Operation("expiry of tags", dated_tags, expire_dated, ((1, 2, 3),), (1, 2, 3), ends=("old", "young")),
    Operation("expiry beside a branch", long_branch, lambda t: expire_all_but(t, 1), ((1, 2, 3),), (1, 2, 3)),
]


def keys(table: Table) -> tuple[int, ...]:
    return tuple(sorted(table.scan(columns=["k"]).to_arrow(threads=1).column("k").to_pylist()))


@Remembered
def keys_of(store: Any) -> tuple[int, ...]:
    return keys(opened(store))


def check_everything_is_there(memory: MemoryFileIO, *, except_tags: Sequence[str] = ()) -> None:
    """Every file that a snapshot or tag of any branch needs."""
    check_what_is_needed(memory, tuple(except_tags))


@Remembered
def check_what_is_needed(store: Any, except_tags: tuple[str, ...]) -> None:
    for name in ("db.t", *(f"db.t$branch_{b}" for b in branch_names(opened(store).store))):
        facts = opened(store, name).facts
        kept = max((notice.end for notice in facts.snapshots.notices.all()), default=0)
        states = [facts.snapshots.load(i) for i in facts.snapshots.ids() if i >= kept]
        states += [tag.snapshot for n, tag in TagStore(facts.store).all().items() if n not in except_tags]
        for state in states:
            metadata_names(without_changelog(state), facts.manifests)
            for entry in facts.live_files(state).entries:
                path = facts.store.paths.data_file("", entry.bucket, entry.file)
                assert store.status(path) is not None, f"{name}, snapshot {state.id}: {path}"


@pytest.mark.parametrize("mode", [Mode.ERROR_BEFORE, Mode.ERROR_AFTER, Mode.CRASH_AFTER])
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.name)
def test_an_operation_on_history_survives_the_failure_of_any_one_call(operation: Operation, mode: Mode) -> None:
    start = MemoryFileIO(StillClock())
    operation.prepare(start)
    # An error before a change leaves what an error after the last change does, so only every second call fails before.
    step = tries(2, many=1) if mode is Mode.ERROR_BEFORE else 1
    number = 0
    while True:
        memory = copy_of(start)
        store = OneFailure(memory, number, mode, changes_only=mode is not Mode.ERROR_BEFORE)
        with suppress(Crash, OSError, TableFormatError):
            operation.run(opened(store))
        assert keys_of(memory) in operation.between, f"after call {number}"
        check_everything_is_there(memory, except_tags=operation.ends)
        with suppress(AlreadyExistsError, NotFoundError):  # it took effect, and only its answer was lost
            operation.run(opened(memory))
        assert keys_of(memory) == operation.after, f"repeated after call {number}"
        check_everything_is_there(memory)
        if store.calls <= number:
            break
        number += step
    assert number > 0

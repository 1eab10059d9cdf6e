"""Every call of every operation fails once in every mode; then the job is started again, and all is well.

What holds after the failure and after the restart: the table reads as before or as after the operation, never anything
else; every file that a snapshot names exists; and the repeated operation takes effect once. What the failure has left
behind is gone once orphans were cleaned, and nothing else is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

from table_format import Delete, Insert, Schema, Table, Update, load_catalog
from table_format.errors import TableFormatError
from table_format.io.memory import MemoryFileIO
from table_format.model.schema_change import SetOption
from table_format.runtime import Runtime
from tests.simulation.drawn import copied, drawn_runtime
from tests.simulation.failing_io import Crash, Mode, OneFailure
from tests.simulation.remembered import Remembered
from tests.support.matrix import tries
from tests.support.reachable import check_files

SCHEMA = pa.schema(
    [pa.field("k", pa.int64(), nullable=False), pa.field("p", pa.string(), nullable=False), ("v", pa.int64())]
)
State = list[tuple[int, str, int]]
USER = "job"


class StillClock:
    """Time that passes only while somebody waits."""

    def __init__(self) -> None:
        self.ms = 1_800_000_000_000

    def now_ms(self) -> int:
        return self.ms

    def local_now_ms(self) -> int:
        return self.ms

    def monotonic_ms(self) -> int:
        return self.ms

    def sleep_ms(self, duration_ms: int) -> None:
        self.ms += duration_ms


def rows(*triples: tuple[int, str, int]) -> pa.Table:
    return pa.table(
        [pa.array(column, f.type) for column, f in zip(zip(*triples, strict=True), SCHEMA, strict=True)], schema=SCHEMA
    )


@dataclass(frozen=True)
class Operation:
    """What is done, and the rows before and after it. ``run`` may be called again after a failure."""

    name: str
    run: Callable[[Table], object]
    after: State
    keyed: bool = True
    options: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[Table], object] | None = None
    keys: tuple[str, ...] = ("k", "p")


def expire_everything(table: Table) -> None:
    """All but the latest snapshot go, and all but the last of the changelogs they become."""
    bounds = {"retain_min": 1, "retain_max": 1, "older_than_ms": FUTURE}
    table.expire_snapshots(**bounds, retain_floor_ms=0)
    table.expire_changelogs(**bounds)


def leave_orphans(table: Table) -> None:
    """Files of commits that never came, and temporary ones."""
    write = table.new_write()
    write.write(rows((5, "a", 50), (6, "z", 60)))
    paths, io = table.store.paths, table.store.io
    for directory in (paths.manifest_directory, paths.index_directory, paths.statistics_directory):
        io.create(f"{directory}/left", b"?")
    for directory in (paths.snapshot_directory, paths.schema_directory, paths.tag_directory):
        io.create(f"{directory}/.left.7f60.tmp", b"?")
    io.create(f"{paths.branch_draft('7f60')}/schema/schema-0", b"?")


FUTURE = 1 << 60
STEP = int(os.environ.get("EVERY_CALL_STEP", "7"))
"""Of the calls that only look every seventh fails; 1 tries all."""

KEPT_LONGER = {"changelog.num-retained.max": "1000", "snapshot.num-retained.max": "100"}


def merge(table: Table) -> object:
    return table.merge(
        rows((2, "a", 1), (3, "b", -1), (4, "b", 4)),
        "k",
        when_matched=[Delete("source.v < 0"), Update({"v": "target.v + source.v"})],
        when_not_matched=Insert(),
        commit_user=USER,
        identifier=1,
    )


BEFORE: State = [(1, "a", 10), (2, "a", 20), (3, "b", 30)]
OPERATIONS = [
    Operation(
        "upsert that compacts",
        lambda t: t.append(rows((1, "a", 11), (4, "b", 40)), commit_user=USER, identifier=1),
        [(1, "a", 11), (2, "a", 20), (3, "b", 30), (4, "b", 40)],
    ),
    Operation(
        "append",
        lambda t: t.append(rows((9, "c", 90)), commit_user=USER, identifier=1),
        [*BEFORE, (9, "c", 90)],
        keyed=False,
    ),
    Operation(
        "static overwrite",
        lambda t: t.overwrite(rows((7, "a", 70)), partition={"p": "a"}, commit_user=USER, identifier=1),
        [(3, "b", 30), (7, "a", 70)],
    ),
    Operation("drop of a partition", lambda t: t.drop_partitions([{"p": "a"}]), [(3, "b", 30)]),
    Operation("full compaction", lambda t: t.compact(full=True), BEFORE),
    Operation("compaction of append files", lambda t: t.compact(full=True), BEFORE, keyed=False),
    Operation(
        "expiry",
        lambda t: t.expire_snapshots(
            retain_min=1, retain_max=1, older_than_ms=t.store.runtime.clock.now_ms() + 1, retain_floor_ms=0
        ),
        BEFORE,
    ),
    *(
        Operation(
            f"upsert with {' and '.join(options.values())}",
            # What was committed and not compacted is compacted by the next writer.
            lambda t: (
                t.append(rows((1, "a", 11), (4, "b", 40)), commit_user=USER, identifier=1),
                t.compact(full=True),
            ),
            [(1, "a", 11), (2, "a", 20), (3, "b", 30), (4, "b", 40)],
            options=options,
        )
        for options in (
            {"changelog-producer": "full-compaction", "full-compaction.delta-commits": "1"},
            {"changelog-producer": "lookup", "deletion-vectors.enabled": "true"},
        )
    ),
    Operation(
        "delete by marks",
        lambda t: t.delete("k <= 2"),
        [(3, "b", 30)],
        keyed=False,
        options={"deletion-vectors.enabled": "true"},
    ),
    *(
        Operation(f"expiry that keeps {kept}", expire_everything, BEFORE, options={**KEPT_LONGER, **options})
        for kept, options in (
            ("deltas", {}),
            ("changelog files", {"changelog-producer": "lookup", "deletion-vectors.enabled": "true"}),
        )
    ),
    Operation(
        "cleaning of orphans",
        lambda t: t.remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True),
        BEFORE,
        options={"deletion-vectors.enabled": "true"},
        prepare=leave_orphans,
    ),
    Operation(
        "update by marks that moves a row",
        lambda t: t.update({"v": "v * 10", "p": "'b'"}, "k >= 2", commit_user=USER, identifier=1),
        [(1, "a", 10), (2, "b", 200), (3, "b", 300)],
        keyed=False,
        options={"deletion-vectors.enabled": "true"},
    ),
    Operation(
        "merge that rewrites files",
        merge,
        [(1, "a", 10), (2, "a", 21), (4, "b", 4)],
        keyed=False,
    ),
    Operation(
        "rewrite of indexes",
        lambda t: t.rewrite_file_index(),
        BEFORE,
        prepare=lambda t: load_catalog(
            {"warehouse": "/w"}, file_io=t.store.io, runtime=runtime(t.store.io)
        ).alter_table(
            "db.t",
            [SetOption("file-index.bitmap.columns", "v"), SetOption("file-index.in-manifest-threshold", "1 b")],
        ),
    ),
    Operation("tag", lambda t: "t1" in t.tags() or t.create_tag("t1"), BEFORE),
]


def world(operation: Operation) -> MemoryFileIO:
    """A store with one table that has some snapshots."""
    memory = MemoryFileIO(StillClock())
    catalog = load_catalog({"warehouse": "/w"}, file_io=memory, runtime=runtime(memory))
    catalog.create_database("db")
    options = {
        "manifest.merge-min-count": "3",
        **({"bucket": "1", "num-sorted-run.compaction-trigger": "3"} if operation.keyed else {}),
        **operation.options,
    }
    keys = operation.keys if operation.keyed else ()
    catalog.create_table("db.t", Schema.from_arrow(SCHEMA, primary_keys=keys, partition_keys=["p"], options=options))
    table = catalog.load_table("db.t")
    assert isinstance(table, Table)
    for triple in BEFORE:
        table.append(rows(triple))
    if operation.keyed:
        table.append(rows((2, "a", 20)))
    if operation.prepare is not None:
        operation.prepare(table)
    return memory


def runtime(store: Any) -> Runtime:
    return drawn_runtime(store, StillClock())


def opened(store: Any) -> Table:
    table = load_catalog({"warehouse": "/w"}, file_io=store, runtime=runtime(store)).load_table("db.t")
    assert isinstance(table, Table)
    return table


@Remembered
def rows_of(store: Any) -> tuple[tuple[int, str, int], ...]:
    found = opened(store).scan().to_arrow(threads=1).to_pylist()
    return tuple(sorted((row["k"], row["p"], row["v"]) for row in found))


def state(memory: MemoryFileIO) -> State:
    """The rows, read from the files; a missing file is an error."""
    return list(rows_of(memory))


@Remembered
def snapshots_of(store: Any) -> tuple[int, ...]:
    return tuple(snapshot.id for snapshot in opened(store).snapshots())


@Remembered
def read_snapshot(store: Any, snapshot_id: int) -> None:
    opened(store).scan(options={"scan.snapshot-id": str(snapshot_id)}).to_arrow(threads=1)


def check_every_snapshot(memory: MemoryFileIO) -> None:
    for snapshot_id in snapshots_of(memory):
        read_snapshot(memory, snapshot_id)


@Remembered
def check_changelog(store: Any) -> None:
    """The changelog from the first snapshot on leads to the current rows."""
    table = opened(store)
    stream = table.stream(options={"scan.mode": "from-snapshot", "scan.snapshot-id": "1"})
    found: dict[tuple[int, str], int] = {}
    while (plan := stream.next_plan()) is not None:
        for row in stream.to_arrow(plan).to_pylist():
            if row["rowkind"] in ("+I", "+U"):
                found[row["k"], row["p"]] = row["v"]
            else:
                del found[row["k"], row["p"]]
    assert sorted((k, p, v) for (k, p), v in found.items()) == list(rows_of(store))


@Remembered
def check_reachable(store: Any) -> None:
    check_files(opened(store))


def check_orphans(memory: MemoryFileIO) -> None:
    """Cleaning leaves nothing that nothing reaches, and takes nothing else."""
    opened(memory).remove_orphan_files(older_than_ms=FUTURE, nobody_else_writes=True)
    check_reachable(memory)
    assert not hidden_files(memory, "/w")


def hidden_files(memory: MemoryFileIO, directory: str) -> list[str]:
    found = [f"{directory}/{child.name}" for child in memory.list_hidden(directory)]
    for child in memory.list(directory):
        if child.is_directory:
            found += hidden_files(memory, f"{directory}/{child.name}")
    return found


MODES = (Mode.ERROR_BEFORE, Mode.ERROR_AFTER, Mode.CRASH_AFTER)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.name)
def test_an_operation_survives_the_failure_of_any_one_change(operation: Operation, mode: Mode) -> None:
    # A look that fails changes nothing: to die there is to have died after the change before it.
    step = tries(2, many=1)
    calls = trials(operation, mode, changes_only=True, first=MODES.index(mode) % step, step=step)
    assert calls > (0 if operation.name == "tag" else 3)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.name)
def test_an_operation_survives_the_failure_of_any_one_call(operation: Operation) -> None:
    assert trials(operation, Mode.ERROR_BEFORE, step=STEP) > 3


def trials(operation: Operation, mode: Mode, *, changes_only: bool = False, first: int = 0, step: int = 1) -> int:
    """Let one call after the other fail, until none is left; how many there were."""
    start = world(operation)
    number = first
    while True:
        memory = copy_of(start)
        store = OneFailure(memory, number, mode, changes_only=changes_only)
        with suppress(Crash, OSError, TableFormatError):
            operation.run(opened(store))
        assert state(memory) in (sorted(BEFORE), sorted(operation.after)), f"after call {number}"
        operation.run(opened(memory))
        assert state(memory) == sorted(operation.after), f"repeated after call {number}"
        check_orphans(memory)
        check_every_snapshot(memory)
        if "changelog-producer" in operation.options and not operation.name.startswith("expiry"):
            check_changelog(memory)
        if store.calls <= number:
            return store.calls
        number += step


def copy_of(memory: MemoryFileIO) -> MemoryFileIO:
    return copied(memory, StillClock())

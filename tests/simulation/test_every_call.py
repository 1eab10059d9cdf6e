"""Every call of every operation fails once in every mode; then the job is started again, and all is well.

What holds after the failure and after the restart: the table reads as before or as after the operation, never anything
else; every file that a snapshot names exists; and the repeated operation takes effect once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field

import pyarrow as pa
import pytest

from table_format import Schema, Table, load_catalog
from table_format.errors import TableFormatError
from table_format.io.memory import MemoryFileIO
from table_format.runtime import Runtime, SystemIds, SystemRandomness
from tests.simulation.failing_io import Crash, Mode, OneFailure

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
            # What was committed and not compacted is compacted by whoever comes next.
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
    Operation("tag", lambda t: "t1" in t.tags() or t.create_tag("t1"), BEFORE),
]


def world(operation: Operation) -> MemoryFileIO:
    """A store with one table that has some snapshots."""
    memory = MemoryFileIO(StillClock())
    catalog = load_catalog({"warehouse": "/w"}, file_io=memory, runtime=runtime())
    catalog.create_database("db")
    options = {
        "num-sorted-run.compaction-trigger": "3",
        "manifest.merge-min-count": "3",
        **({"bucket": "1"} if operation.keyed else {}),
        **operation.options,
    }
    keys = ["k", "p"] if operation.keyed else []
    catalog.create_table("db.t", Schema.from_arrow(SCHEMA, primary_keys=keys, partition_keys=["p"], options=options))
    table = catalog.load_table("db.t")
    assert isinstance(table, Table)
    for triple in BEFORE:
        table.append(rows(triple))
    if operation.keyed:
        table.append(rows((2, "a", 20)))
    return memory


def runtime() -> Runtime:
    return Runtime(StillClock(), SystemRandomness(), SystemIds())


def opened(store: MemoryFileIO | OneFailure) -> Table:
    table = load_catalog({"warehouse": "/w"}, file_io=store, runtime=runtime()).load_table("db.t")
    assert isinstance(table, Table)
    return table


def state(memory: MemoryFileIO) -> State:
    """The rows, read from the files; a missing file is an error."""
    found = opened(memory).scan().to_arrow(threads=1).to_pylist()
    return sorted((row["k"], row["p"], row["v"]) for row in found)


def check_every_snapshot(memory: MemoryFileIO) -> None:
    table = opened(memory)
    for snapshot in table.snapshots():
        table.scan(options={"scan.snapshot-id": str(snapshot.id)}).to_arrow(threads=1)


def check_changelog(memory: MemoryFileIO) -> None:
    """What the changelog tells from the first snapshot on leads to what is there."""
    table = opened(memory)
    stream = table.stream(options={"scan.mode": "from-snapshot", "scan.snapshot-id": "1"})
    found: dict[tuple[int, str], int] = {}
    while (plan := stream.next_plan()) is not None:
        for row in stream.to_arrow(plan).to_pylist():
            if row["rowkind"] in ("+I", "+U"):
                found[row["k"], row["p"]] = row["v"]
            else:
                del found[row["k"], row["p"]]
    assert sorted((k, p, v) for (k, p), v in found.items()) == state(memory)


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.name)
def test_an_operation_survives_the_failure_of_any_one_call(operation: Operation, mode: Mode) -> None:
    start = world(operation)
    number = 0
    while True:
        memory = copy_of(start)
        store = OneFailure(memory, number, mode)
        with suppress(Crash, OSError, TableFormatError):
            operation.run(opened(store))
        assert state(memory) in (sorted(BEFORE), sorted(operation.after)), f"after call {number}"
        operation.run(opened(memory))
        assert state(memory) == sorted(operation.after), f"repeated after call {number}"
        check_every_snapshot(memory)
        if "changelog-producer" in operation.options:
            check_changelog(memory)
        if store.calls <= number:
            break
        number += 1
    assert number > 3


def copy_of(memory: MemoryFileIO) -> MemoryFileIO:
    copy = MemoryFileIO(StillClock())
    copy._files = deepcopy(memory._files)
    copy._directories = deepcopy(memory._directories)
    return copy

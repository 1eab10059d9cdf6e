"""A job that holds a writer and a committer for many rounds is interrupted anywhere, and continues with both.

The sums of amounts tell whether rows of a round were lost, or came twice: also rows that an interrupted write had taken
in. A writer that cannot continue raises an error, and the job starts with a new one.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any

import pytest

from table_format import Schema, Table, load_catalog
from table_format.errors import InvalidInputError
from table_format.io.memory import MemoryFileIO
from tests.simulation.interrupting_io import KINDS, Interrupting, Strike
from tests.simulation.test_every_call import SCHEMA, StillClock, check_orphans, copy_of, opened, rows, runtime
from tests.simulation.test_every_interrupt import SMALL_BUCKETS, check_kept_snapshots, strikes
from tests.simulation.tracing import Instructions

STEP = int(os.environ.get("INSTRUCTION_STEP", "7919"))
SUMS = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
ROUNDS = [rows((1, "a", 1), (2, "b", 10)), rows((1, "a", 2), (3, "b", 20)), rows((1, "a", 4), (2, "b", 40))]
TOTAL = Counter({1: 7, 2: 50, 3: 20})
CODE = (
    *(
        "metastore/commit/table_commit.py",
        "metastore/commit/commit_loop.py",
        "metastore/commit/commit_check.py",
        "metastore/commit/confirmation.py",
        "metastore/commit/proposals.py",
        "metastore/commit/publications.py",
        "metastore/scan/live_state.py",
    ),
    *(
        "table/write/batch_commit.py",
        "table/write/table_write.py",
        "table/write/bucket_writers.py",
        "table/write/flush_schedule.py",
        "table/write/hand_over.py",
        "table/write/uncommitted_files.py",
        "table/write/writer_opening.py",
        "table/placement/dynamic.py",
        "table/placement/dynamic_placement.py",
        "lsm/commit_increment.py",
        "lsm/writer.py",
    ),
    *(
        "lsm/background.py",
        "append/writer.py",
        "formats/straight_writer.py",
        "formats/bucket_files.py",
        "formats/rolling_writer.py",
    ),
)


class AtOnce(Executor):
    """Runs work when it is submitted, in the same thread."""

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(work(*arguments, **options))
        except Exception as error:  # noqa: BLE001 - as a pool does
            future.set_exception(error)
        return future


@dataclass(frozen=True)
class Kind:
    name: str
    keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    beside: bool = False


KEYED = ("k", "p")
TRIGGER = {"num-sorted-run.compaction-trigger": "2"}
TABLES = [
    Kind("append"),
    Kind("append with buckets", options={"bucket": "2", "bucket-key": "k"}),
    Kind("fixed buckets", KEYED, {"bucket": "1", **SUMS, **TRIGGER}),
    Kind("compaction beside the writer", KEYED, {"bucket": "1", **SUMS, **TRIGGER}, beside=True),
    Kind("changelog by lookup", KEYED, {"bucket": "1", **SUMS, **TRIGGER, "changelog-producer": "lookup"}),
    Kind("dynamic buckets", KEYED, {**SMALL_BUCKETS, **SUMS, **TRIGGER}),
    Kind("keys that move", ("k",), {"bucket": "-1", **SUMS, **TRIGGER}),
    Kind("postponed buckets", KEYED, {"bucket": "-2", "postpone.default-bucket-num": "1", **SUMS}),
]


def new_table(kind: Kind) -> MemoryFileIO:
    memory = MemoryFileIO(StillClock())
    catalog = load_catalog({"warehouse": "/w"}, file_io=memory, runtime=runtime(memory))
    catalog.create_database("db")
    catalog.create_table("db.t", Schema.from_arrow(SCHEMA, kind.keys, ["p"], kind.options))
    return memory


class Job:
    """Three rounds of one user, each until it is committed."""

    def __init__(self, table: Table, kind: Kind) -> None:
        self._table = table
        self._compactor = AtOnce() if kind.beside else None
        self._write = table.new_write("job", compactor=self._compactor)
        self._commit = table.new_commit("job")
        self.interrupts = 0

    def run(self) -> None:
        for number, data in enumerate(ROUNDS, 1):
            messages = None
            while True:
                try:
                    if messages is None:
                        messages = self._write.write(data)
                    self._commit.commit(messages, identifier=number)
                    break
                except KINDS:
                    self.interrupts += 1
                except InvalidInputError as error:
                    if "create a new write" not in str(error):
                        raise
                    self._write = self._table.new_write("job", compactor=self._compactor)


def check(memory: MemoryFileIO, kind: Kind) -> None:
    table = opened(memory)
    check_kept_snapshots(memory)
    if kind.options.get("bucket") == "-2" or "changelog-producer" in kind.options:
        table.compact(full=True)
    found: Counter[int] = Counter()
    for row in opened(memory).scan().to_arrow(threads=1).to_pylist():
        found[row["k"]] += row["v"]
    assert found == TOTAL
    check_orphans(memory)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.parametrize("kind", TABLES, ids=lambda kind: kind.name)
def test_a_job_that_is_interrupted_at_any_call_lands_each_round_once(kind: Kind) -> None:
    start = new_table(kind)

    def run(chosen: tuple[Strike, ...], number: int = 0) -> Interrupting:
        memory = copy_of(start)
        store = Interrupting(memory)
        job = Job(opened(store), kind)
        with store.interrupted(chosen, kind=number):
            job.run()
        try:
            check(memory, kind)
        except BaseException as error:
            error.add_note(f"{kind.name}: {chosen} {store.struck}")
            raise
        return store

    chosen = strikes(run(()).log, offset=len(kind.name))
    for number, strike in enumerate(chosen if STEP == 1 else chosen[:: len(chosen) // 6]):
        again = Strike(number % 5, takes_effect=bool(number % 2))
        run((strike, again) if number % 3 == 0 else (strike,), number)


@pytest.mark.parametrize("kind", TABLES, ids=lambda kind: kind.name)
def test_a_job_that_is_interrupted_between_any_two_instructions_lands_each_round_once(kind: Kind) -> None:
    start = new_table(kind)
    counted = Instructions(CODE, None, KeyboardInterrupt)
    counted.run(Job(opened(copy_of(start)), kind).run)
    assert counted.count > 1000
    for number in range(len(kind.name), counted.count, STEP):
        memory = copy_of(start)
        job = Job(opened(memory), kind)
        Instructions(CODE, number, KINDS[number % len(KINDS)]).run(job.run)
        try:
            assert job.interrupts <= 1
            check(memory, kind)
        except BaseException as error:
            error.add_note(f"{kind.name}: instruction {number}")
            raise

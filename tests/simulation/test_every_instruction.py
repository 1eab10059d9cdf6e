"""Work is interrupted between any two instructions of the code that commits and cleans up; the process lives on.

Every ``INSTRUCTION_STEP``-th instruction is struck, from another one on for each operation; with 1 it is every one.
"""

from __future__ import annotations

import os

import pytest

from table_format import Table
from tests.simulation.interrupting_io import KINDS
from tests.simulation.test_every_call import BEFORE, Operation, check_orphans, copy_of, opened, rows, state, world
from tests.simulation.test_every_interrupt import (
    MARKS,
    SMALL_BUCKETS,
    UPSERTED,
    check_kept_snapshots,
    upsert,
)
from tests.simulation.tracing import Instructions

STEP = int(os.environ.get("INSTRUCTION_STEP", "797"))

COMMITTING = (
    *(
        "metastore/commit/table_commit.py",
        "metastore/commit/commit_loop.py",
        "metastore/commit/publications.py",
        "metastore/publish.py",
    ),
    *(
        "metastore/commit/attempt.py",
        "metastore/commit/commit_check.py",
        "metastore/commit/confirmation.py",
        "metastore/commit/next_snapshot.py",
        "metastore/commit/proposals.py",
        "metastore/scan/live_state.py",
        "table/write/batch_commit.py",
        "table/write/commit_retries.py",
    ),
    *(
        "table/upkeep/bucket_compaction.py",
        "table/upkeep/rescale.py",
        "table/upkeep/sort_compact.py",
        "table/write/table_write.py",
        "table/write/bucket_writers.py",
        "table/write/flush_schedule.py",
        "table/write/hand_over.py",
        "table/write/uncommitted_files.py",
        "table/write/writer_opening.py",
        "table/changes/append_tables.py",
    ),
    *("lsm/commit_increment.py", "lsm/writer.py", "formats/bucket_files.py", "indexes/deletion_vector_files.py"),
    *("io/uncommitted_files.py", "metastore/commit/message_files.py"),
)

OPERATIONS = [
    Operation("upsert that compacts", upsert, UPSERTED),
    Operation(
        "append",
        lambda t: t.append(rows((9, "c", 90)), commit_user="job", identifier=1),
        [*BEFORE, (9, "c", 90)],
        False,
    ),
    Operation("compaction", lambda t: t.compact(full=True), BEFORE),
    Operation("rescale", lambda t: t.rescale(3), BEFORE),
    Operation("sort", lambda t: t.compact(order_by=["v"]), BEFORE, keyed=False),
    Operation("delete by marks", lambda t: t.delete("k <= 2"), [(3, "b", 30)], keyed=False, options=MARKS),
    Operation("upsert into dynamic buckets", upsert, UPSERTED, options=SMALL_BUCKETS),
]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.name)
def test_an_operation_survives_an_interrupt_between_any_two_instructions(operation: Operation) -> None:
    start = world(operation)
    counted = Instructions(COMMITTING, None, KeyboardInterrupt)
    table = opened(copy_of(start))
    counted.run(lambda: operation.run(table))
    assert counted.count > 1000
    for number in range(len(operation.name) % STEP, counted.count, STEP):
        memory = copy_of(start)
        table = opened(memory)
        error = KINDS[number % len(KINDS)]
        Instructions(COMMITTING, number, error).run(lambda table=table: operation.run(table))
        try:
            check_lives_on(operation, table, memory)
        except BaseException as failure:
            failure.add_note(f"{operation.name}, interrupted before instruction {number} by {error.__name__}")
            raise


def check_lives_on(operation: Operation, table: Table, memory) -> None:
    assert state(memory) in (sorted(BEFORE), sorted(operation.after))
    check_kept_snapshots(memory)
    operation.run(table)
    assert state(memory) == sorted(operation.after)
    check_orphans(memory)
    check_kept_snapshots(memory)

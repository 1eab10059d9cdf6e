"""A commit beside a rollback or fast-forward: one of them runs before each call of the other.

The commit becomes part of the new history, or it is undone with the old one, or it raises an error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from table_format import Table
from table_format.errors import CommitOutcomeUnknown, ConflictError, SchemaChanged, SnapshotExpired
from table_format.io.memory import MemoryFileIO
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from tests.simulation.test_every_call import copy_of
from tests.simulation.test_every_call_of_history import (
    four_snapshots,
    keys,
    long_branch,
    opened,
    other_schemas,
    row,
    short_branch,
)
from tests.support.acting_io import ActingIO


def roll_back(store: Any) -> None:
    opened(store).rollback_to(2)


def fast_forward(store: Any) -> None:
    opened(store).fast_forward("b")


CHANGES = pytest.mark.parametrize(
    ("prepare", "act"),
    [
        (four_snapshots, roll_back),
        (long_branch, fast_forward),
        (short_branch, fast_forward),
        (other_schemas, fast_forward),
    ],
)


def append(table: Table) -> None:
    """Append a row with a value in each column that the table has."""
    rows = row(99, 99)
    for name in table.schema.field_names[rows.num_columns :]:
        rows = rows.append_column(name, pa.array([99], pa.int32()))
    table.append(rows)


def before_and_after(
    prepare: Callable[[MemoryFileIO], None], act: Callable[[Any], None]
) -> tuple[MemoryFileIO, tuple[int, ...]]:
    """Return a prepared store, and the keys of its table after a change of history beside which nobody commits."""
    start = MemoryFileIO()
    prepare(start)
    changed = copy_of(start)
    act(changed)
    return start, keys(opened(changed))


@CHANGES
def test_a_commit_during_a_change_of_history_joins_it_or_reports_that_it_may_be_lost(
    prepare: Callable[[MemoryFileIO], None], act: Callable[[Any], None], caplog: pytest.LogCaptureFixture
) -> None:
    start, expected = before_and_after(prepare, act)
    errors = set()
    for number in range(10_000):
        memory = copy_of(start)
        store = ActingIO(memory, number, partial(act, memory))
        table = opened(store)
        store.watch()
        caplog.clear()
        try:
            append(table)
            text = caplog.text  # a compaction that follows the commit is reported in the log
        except (ConflictError, SnapshotExpired, CommitOutcomeUnknown) as error:
            text = str(error)
            errors.add(type(error))
        if store.calls <= number:
            break
        if "roll it back again" in text:
            act(memory)
        check(memory, expected)
    assert errors & {ConflictError, SchemaChanged, CommitOutcomeUnknown}


@CHANGES
def test_a_change_of_history_during_which_another_writer_commits_leaves_a_whole_table(
    prepare: Callable[[MemoryFileIO], None], act: Callable[[Any], None]
) -> None:
    start, expected = before_and_after(prepare, act)
    for number in range(10_000):
        memory = copy_of(start)
        store = ActingIO(memory, number, lambda memory=memory: append(opened(memory)))
        store.watch()
        act(store)
        if store.calls <= number:
            break
        check(memory, expected)
    assert number > 50


def check(memory: MemoryFileIO, expected: tuple[int, ...]) -> None:
    table = opened(memory)
    snapshots = SnapshotStore(table.store)
    assert snapshots.ids() == snapshots.listed_ids()
    assert keys(table) in (expected, (*expected, 99))
    assert table.verify().is_healthy

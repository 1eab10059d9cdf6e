"""What a task writes, without a session. Spark may run a task twice at the same time (``spark.speculation``)."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pyarrow as pa
import pytest

from table_format import Table
from table_format.model.commit import CommitMessage
from table_format.spark.tasks.table_work import bucket_writer
from table_format.spark.tasks.task_results import gather
from tests.support.tables import keyed, memory_warehouse, rows_of

KINDS: dict[str, tuple[list[str], dict[str, str]]] = {
    "append": ([], {}),
    "keyed": (["id"], {"bucket": "1"}),
    "keyed with deletion vectors": (["id"], {"bucket": "1", "deletion-vectors.enabled": "true"}),
    "keyed with a changelog": (["id"], {"bucket": "1", "changelog-producer": "lookup"}),
    "postponed": (["id"], {"bucket": "-2"}),
}
ROWS = keyed([(1, "a", 1), (2, "a", 2)]).to_batches()


def attempt(table: Table, batches: Iterator[pa.RecordBatch]) -> tuple[CommitMessage, ...]:
    """Run one attempt of the task, and return what the driver gets."""
    write = bucket_writer(table.facts, ROWS[0].schema.names, replacing=False, commit_user="job")
    return gather(SimpleNamespace(**row) for result in write(batches) for row in result.to_pylist()).messages


def interrupted() -> Iterator[pa.RecordBatch]:
    yield from ROWS
    raise KeyboardInterrupt


@pytest.mark.parametrize("kind", KINDS)
def test_of_two_attempts_of_a_task_one_is_committed_and_the_files_of_the_other_are_orphans(kind: str) -> None:
    keys, options = KINDS[kind]
    warehouse = memory_warehouse()
    table = warehouse.table(primary_keys=keys, options=options)
    table.append(keyed([(1, "a", 0)]))
    before = frozenset(warehouse.files(table))
    attempt(table, iter(ROWS))
    of_first = frozenset(warehouse.files(table)) - before
    messages = attempt(table, iter(ROWS))
    of_second = frozenset(warehouse.files(table)) - before - of_first
    assert len(of_first) == len(of_second) > 0
    table.new_commit("job").commit(messages, identifier=1)
    with pytest.raises(KeyboardInterrupt):
        attempt(table, interrupted())  # a third attempt, which Spark ends
    expected = rows_of(warehouse.reopened(table))
    table.remove_orphan_files(older_than_ms=1 << 60, nobody_else_writes=True)
    left = frozenset(warehouse.files(table))
    assert left.isdisjoint(of_first)
    assert of_second <= left
    assert rows_of(warehouse.reopened(table)) == expected
    assert table.verify(depth="rows").is_healthy

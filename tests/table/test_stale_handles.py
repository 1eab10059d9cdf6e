"""A handle that was opened before its table was altered: what others wrote under the new schema is never lost.

Each operation of a stale handle ends with every value right, or with ``SchemaChanged`` and no file left. A few changes
of schema are tried for operations and kinds of tables that take turns; ``STALE_HANDLES=all`` tries every combination.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format import Insert, Table, Update
from table_format.errors import (
    BucketLost,
    ConflictError,
    HashIndexChanged,
    KeyPlacesChanged,
    SchemaChanged,
    TableFormatError,
)
from table_format.formats import data_file_reader
from table_format.metastore.commit import commit_check
from table_format.model.commit import CommitMessage
from table_format.model.snapshot import CommitKind
from table_format.runtime import Runtime
from table_format.table.upkeep.bucket_compaction import Work, outcomes_of
from table_format.table.upkeep.bucket_compaction import compact as compact_facts
from table_format.table.write.batch_commit import BatchCommit
from table_format.table.write.commit_retries import Messages
from tests.support.compaction import data_files
from tests.support.moving_keys import with_runtime
from tests.support.stale_handles import CHANGES, KINDS, Kind, Model, a_table, rows_of_ids
from tests.support.tables import Warehouse, memory_warehouse

OLD, NEW, LATER, OWN = range(4), range(4, 8), range(8, 10), range(20, 23)
SAME_COLUMNS = ("move", "comment", "expire sooner", "write only", "allow nulls")


@dataclass
class Stage:
    """A table, a handle from before its schema changed, and what the table must hold."""

    warehouse: Warehouse
    kind: Kind
    stale: Table
    model: Model
    change: str
    changes_rows: bool

    @property
    def is_postponed(self) -> bool:
        return self.kind.options.get("bucket") == "-2"

    @property
    def fresh(self) -> Table:
        return self.warehouse.reopened(self.stale)

    def interfere(self) -> None:
        """Others alter the table, and write what only the new schema holds."""
        if self.change == "vectors":
            self.fresh.compact(full=True)  # or the table admits no such change
        self.warehouse.catalog.alter_table(str(self.stale.identifier), CHANGES[self.change])
        self.write_more()

    def write_more(self) -> None:
        again = (2, 3) if self.kind.updates and self.kind.primary_keys else ()
        self.model.append(self.fresh, (*again, *NEW), wide=True)
        self.model.append(self.fresh, LATER, wide=True)
        if self.changes_rows and (self.is_postponed or self.change == "write only"):
            self.fresh.compact(full=True)  # rows that wait for a compaction are no part of the table yet


Operation = Callable[[Stage], None]


def compact(stage: Stage) -> None:
    stage.interfere()
    stage.stale.compact()


def compact_fully(stage: Stage) -> None:
    stage.interfere()
    stage.stale.compact(full=True)


def sort(stage: Stage) -> None:
    stage.interfere()
    stage.stale.compact(order_by=["id"])


def rescale(stage: Stage) -> None:
    stage.interfere()
    stage.stale.rescale(3)


def append(stage: Stage) -> None:
    stage.interfere()
    stage.model.append(stage.stale, OWN)


def overwrite(stage: Stage) -> None:
    stage.interfere()
    stage.stale.overwrite(rows_of_ids(stage.stale, OWN[1:2]))
    stays = 0 if stage.kind.partition_keys else None
    stage.model.rows = {key: row for key, row in stage.model.rows.items() if key % 2 == stays}
    stage.model.take(stage.stale, OWN[1:2])


def update(stage: Stage) -> None:
    stage.interfere()
    stage.stale.update({"seq": "seq + 7000"}, "id in (0, 2, 5)")
    stage.model.assign(stage.stale, "seq", {key: seq_of(stage, key) + 7_000 for key in (0, 2, 5)})


def delete(stage: Stage) -> None:
    stage.interfere()
    stage.stale.delete("id in (1, 5)")
    del stage.model.rows[1], stage.model.rows[5]


def merge(stage: Stage) -> None:
    stage.interfere()
    source = pa.table({"id": pa.array([0, 2], pa.int64())})
    stage.stale.merge(source, on=["id"], when_matched=Update({"seq": "target.seq + 7000"}))
    stage.model.assign(stage.stale, "seq", {key: seq_of(stage, key) + 7_000 for key in (0, 2)})


def merge_inserts(stage: Stage) -> None:
    stage.interfere()
    stage.stale.merge(rows_of_ids(stage.stale, OWN), on=["id"], when_not_matched=Insert())
    stage.model.take(stage.stale, OWN)


def seq_of(stage: Stage, key: int) -> int:
    found: int = stage.model.rows[key][stage.stale.schema.field("seq").id]
    return found


def write_after_change(stage: Stage) -> None:
    write = stage.stale.new_write("w")
    stage.interfere()
    publish(stage, stage.stale.new_commit("w"), write.write(rows_of_ids(stage.stale, OWN)), 1)
    stage.model.take(stage.stale, OWN)


def commit_after_change(stage: Stage) -> None:
    """The schema changes between the two phases."""
    write, commit = stage.stale.new_write("w"), stage.stale.new_commit("w")
    messages = write.write(rows_of_ids(stage.stale, OWN))
    stage.interfere()
    publish(stage, commit, messages, 1)
    stage.model.take(stage.stale, OWN)


def write_again(stage: Stage) -> None:
    """A stream of writes continues while the schema changes, and others write before and after each of its steps."""
    write, commit = stage.stale.new_write("w"), stage.stale.new_commit("w")
    publish(stage, commit, write.write(rows_of_ids(stage.stale, OWN[:1])), 1)
    stage.model.take(stage.stale, OWN[:1])
    stage.interfere()
    messages = write.write(rows_of_ids(stage.stale, OWN[1:2]))
    if stage.kind.primary_keys:
        stage.write_more()
    publish(stage, commit, messages, 2)
    stage.model.take(stage.stale, OWN[1:2])
    publish(stage, commit, write.write(rows_of_ids(stage.stale, OWN[2:])), 3)
    stage.model.take(stage.stale, OWN[2:])


def publish(stage: Stage, commit: BatchCommit, messages: Messages, identifier: int) -> None:
    try:
        commit.commit(messages, identifier=identifier)
    except ConflictError:
        commit.abort(messages)
        raise


ONE_CALL: dict[str, Operation] = {
    "compact": compact,
    "compact fully": compact_fully,
    "sort": sort,
    "rescale": rescale,
    "append": append,
    "overwrite": overwrite,
    "update": update,
    "delete": delete,
    "merge": merge,
    "merge inserts": merge_inserts,
}
TWO_PHASES: dict[str, Operation] = {
    "write after": write_after_change,
    "commit after": commit_after_change,
    "write again": write_again,
}
TAKES_ROWS = {"append", "overwrite", "merge inserts"}


def applies(kind: Kind, operation: str) -> bool:
    if operation == "sort":
        return kind.is_sortable
    if operation == "rescale":
        return kind.is_fixed
    if operation in ("update", "merge", "merge inserts"):
        return kind.updates
    if operation == "delete":
        return kind.deletes
    if operation == "overwrite":
        return not ("dt" in kind.partition_keys and kind.primary_keys == ("id",))
    return True


def cases() -> list[Any]:
    """Every operation on every kind of table with every change, or some of each that take turns."""
    operations = {**ONE_CALL, **TWO_PHASES}
    changes, found = list(CHANGES), []
    everything = os.environ.get("STALE_HANDLES") == "all"
    for i, kind in enumerate(KINDS):
        for j, operation in enumerate(operations):
            if applies(KINDS[kind], operation) and (everything or (i + j) % 3 == 0):
                wanted = changes if everything else [changes[(5 * i + 7 * j) % len(changes)]]
                found += [pytest.param(kind, operation, c, id=f"{kind}-{operation}-{c}") for c in wanted]
    return found


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return with_runtime(memory_warehouse(), Runtime(cache_directory=str(tmp_path / "cache")))


@pytest.mark.parametrize(("kind", "operation", "change"), cases())
def test_a_stale_handle_keeps_every_value_or_refuses(
    warehouse: Warehouse, kind: str, operation: str, change: str
) -> None:
    stale, model = a_table(warehouse, KINDS[kind]), Model()
    stage = Stage(warehouse, KINDS[kind], stale, model, change, operation in ("update", "delete", "merge"))
    for part in (OLD[:2], OLD[2:]):
        model.append(stale, part)
    if not is_admitted(stage):
        pytest.skip("the table admits no such change")
    try:
        ({**ONE_CALL, **TWO_PHASES})[operation](stage)
    except (HashIndexChanged, KeyPlacesChanged):
        assert operation in TWO_PHASES  # keys were given their places before others wrote
    except SchemaChanged:
        assert operation in TWO_PHASES or (operation in TAKES_ROWS and change not in SAME_COLUMNS)
    named, found = data_files(stage.fresh, warehouse.files(stale))
    assert found <= named
    stage.fresh.compact(full=True)
    model.check(stage.fresh)


def is_admitted(stage: Stage) -> bool:
    twin = a_table(stage.warehouse, stage.kind, "twin")
    try:
        stage.warehouse.catalog.alter_table(str(twin.identifier), CHANGES[stage.change])
    except TableFormatError:
        return False
    return True


def test_the_rows_of_a_writer_land_and_its_compaction_under_the_old_schema_is_dropped(warehouse: Warehouse) -> None:
    stale, model = a_table(warehouse, KINDS["fixed"]), Model()
    model.append(stale, OLD)
    commit = stale.new_commit("w")
    messages = stale.new_write("w").write(rows_of_ids(stale, OLD))
    assert any(message.compact_after for message in messages)
    warehouse.catalog.alter_table("db.t", CHANGES["add a column"])
    made = commit.commit(messages, identifier=1)
    assert [snapshot.commit_kind for snapshot in made] == [CommitKind.APPEND]
    model.check(warehouse.reopened(stale))
    named, found = data_files(stale, warehouse.files(stale))
    assert found <= named


def test_a_compaction_during_which_the_schema_changes_is_dropped_and_reported(warehouse: Warehouse) -> None:
    table, model = a_table(warehouse, KINDS["fixed"]), Model()
    model.append(table, OLD)
    model.append(table, OLD[:1])

    def perform(pieces: Sequence[Work]) -> list[CommitMessage | BucketLost]:
        made = [outcome for work in pieces for outcome in outcomes_of(table.facts, work, full=True)]
        warehouse.catalog.alter_table("db.t", CHANGES["widen INT"])
        model.append(warehouse.reopened(table), NEW, wide=True)
        return made

    before = len(table.snapshots())
    report = compact_facts(table.facts, "c", full=True, perform=perform)
    assert report.snapshots == ()
    assert report.dropped
    assert all("the table has schema 1 now" in bucket.reason for bucket in report.dropped)
    assert len(table.snapshots()) > before
    model.check(warehouse.reopened(table))
    named, found = data_files(table, warehouse.files(table))
    assert found <= named


@pytest.mark.parametrize("kind", ["fixed", "lookup", "vectors"])
def test_a_compaction_beside_a_stream_of_writes_refuses_newer_rows(warehouse: Warehouse, kind: str) -> None:
    stale, model = a_table(warehouse, KINDS[kind]), Model()
    with ThreadPoolExecutor(1) as pool:
        write, commit = stale.new_write("w", compactor=pool), stale.new_commit("w")
        commit.commit(write.write(rows_of_ids(stale, OLD)), identifier=1)
        model.take(stale, OLD)
        warehouse.catalog.alter_table("db.t", CHANGES["everything"])
        model.append(warehouse.reopened(stale), NEW, wide=True)
        for identifier, ids in enumerate((OWN[:1], OWN[1:2], OWN[2:]), 2):
            try:
                commit.commit(write.write(rows_of_ids(stale, ids)), identifier=identifier)
            except SchemaChanged:
                break
            model.take(stale, ids)
        write.abort()
    warehouse.reopened(stale).compact(full=True)
    model.check(warehouse.reopened(stale))
    named, found = data_files(stale, warehouse.files(stale))
    assert found <= named


@pytest.mark.parametrize("kind", ["append", "fixed", "dynamic", "vectors"])
def test_an_old_schema_loses_values_where_nothing_looks_at_it(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """The fault put back: what each of the checks alone, and all of them together, prevent."""
    stale, model = a_table(warehouse, KINDS[kind]), Model()
    model.append(stale, OLD)
    warehouse.catalog.alter_table("db.t", CHANGES["add a column"])
    model.append(warehouse.reopened(stale), NEW, wide=True)
    model.append(warehouse.reopened(stale), LATER, wide=True)
    monkeypatch.setattr(Table, "current", lambda self: self)
    with pytest.raises(SchemaChanged):
        stale.compact(full=True)
    model.check(warehouse.reopened(stale))
    monkeypatch.setattr(data_file_reader, "refuse_newer", lambda *_, **__: None)
    with suppress(SchemaChanged):
        stale.compact(full=True)
    model.check(warehouse.reopened(stale))
    monkeypatch.setattr(commit_check, "find_misfit", lambda *_, **__: None)
    stale.compact(full=True)
    with pytest.raises(AssertionError, match="row 4 of"):
        model.check(warehouse.reopened(stale))

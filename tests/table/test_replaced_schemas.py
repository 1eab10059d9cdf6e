"""Objects that are open while a fast-forward gives a table other schemas under the same ids.

Main and a branch have each been altered to a schema 1 of their own. After the fast-forward, files that were written
with the old schema 1 would be read with the new one.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from table_format import AddColumn, RenameColumn, Table
from table_format.codecs.commit_message import decode_messages, encode_messages
from table_format.errors import ConflictError, SchemaChanged
from table_format.table.system.registry import open_system_table
from table_format.table.upkeep.bucket_compaction import buckets_to_compact, perform_work
from table_format.table.write.table_write import TableWrite
from table_format.types import IntType, VarCharType
from tests.support.tables import KEYED, Warehouse, memory_warehouse
from tests.table.test_replaced_tables import KINDS

MAIN, BRANCH = "db.t", "db.t$branch_b"
OF_MAIN = KEYED.append(pa.field("of_main", pa.int32()))
OF_BRANCH = KEYED.append(pa.field("of_branch", pa.string()))


def rows(columns: pa.Schema, *ids: int) -> pa.Table:
    """Rows with the columns of the first schema, and perhaps one of main or of the branch."""
    own: dict[str, list[object]] = {"of_main": [100 + i for i in ids], "of_branch": [f"own {i}" for i in ids]}
    values = {"id": list(ids), "dt": ["a"] * len(ids), "v": list(ids), **own}
    return pa.table([values[name] for name in columns.names], schema=columns)


@dataclass
class Stage:
    """A table with a branch, each with a schema 1 of its own."""

    warehouse: Warehouse

    @classmethod
    def of(cls, **kind: Any) -> Stage:
        stage = cls(memory_warehouse())
        table = stage.warehouse.table(**kind)
        table.append(rows(KEYED, 1))
        table.create_tag("base")
        table.create_branch("b", tag="base")
        stage.warehouse.catalog.alter_table(MAIN, AddColumn("of_main", IntType()))
        stage.warehouse.catalog.alter_table(BRANCH, AddColumn("of_branch", VarCharType()))
        stage.opened(BRANCH).append(rows(OF_BRANCH, 2))
        return stage

    def opened(self, name: str = MAIN) -> Table:
        found = self.warehouse.catalog.load_table(name)
        assert isinstance(found, Table)
        return found

    def of_first_schema(self) -> Table:
        """Main, as somebody has loaded it before it was altered."""
        table = self.opened()
        return Table(table.identifier, table.store, table.facts.schemas[0])

    def fast_forward(self) -> None:
        self.opened().fast_forward("b")

    def found(self) -> list[tuple[object, ...]]:
        """The rows of main after a compaction, in the columns that it has now."""
        table = self.opened()
        table.compact(full=True)
        return sorted(tuple(row.values()) for row in self.opened().scan().to_arrow().to_pylist())


AFTER = [(1, "a", 1, None), (2, "a", 2, "own 2")]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrote", ["before", "after"])
def test_rows_that_were_written_with_a_schema_that_a_fast_forward_replaced_are_refused(kind: str, wrote: str) -> None:
    stage = Stage.of(**KINDS[kind])
    table = stage.opened()
    write, commit = table.new_write("w"), table.new_commit("w")
    messages = write.write(rows(OF_MAIN, 3)) if wrote == "before" else ()
    stage.fast_forward()
    with pytest.raises(SchemaChanged, match=r"db\.db/t \(branch 'main'\) had schema 1 of .* another schema 1 now, .*"):
        commit.commit(messages or write.write(rows(OF_MAIN, 3)), identifier=1)
    commit.abort(messages)
    write.abort()
    assert stage.found() == AFTER
    assert not stage.opened().remove_orphan_files(older_than_ms=1 << 60, nobody_else_writes=True).paths
    again = stage.opened()
    again.new_commit("w").commit(again.new_write("w").write(rows(OF_BRANCH, 3)), identifier=1)
    assert stage.found() == [*AFTER, (3, "a", 3, "own 3")]


@pytest.mark.parametrize("sent", [False, True])
def test_messages_know_their_schema_in_other_processes_and_after_a_later_schema(sent: bool) -> None:
    stage = Stage.of(primary_keys=["id"])
    opened = stage.opened()
    sent_schema = pickle.loads(pickle.dumps(opened.schema))  # noqa: S301 - our own bytes
    table = Table(opened.identifier, opened.store, sent_schema)
    messages = table.new_write("w").write(rows(OF_MAIN, 3))
    if sent:
        messages = decode_messages(encode_messages(messages))
    stage.fast_forward()
    stage.warehouse.catalog.alter_table(MAIN, AddColumn("later", IntType()))
    for committer in (table, stage.opened()):
        with pytest.raises(SchemaChanged, match="write the rows again"):
            committer.new_commit("w").commit(messages, identifier=1)


def test_messages_with_a_schema_that_both_branches_have_are_committed() -> None:
    stage = Stage.of(primary_keys=["id"])
    before, shared = stage.opened(), stage.of_first_schema()
    messages = TableWrite(shared.facts).write(rows(KEYED, 3))
    stage.fast_forward()
    shared.new_commit("w").commit(messages, identifier=1)
    before.current().append(rows(OF_BRANCH, 4))
    assert stage.found() == [*AFTER, (3, "a", 3, None), (4, "a", 4, "own 4")]


def test_a_fast_forward_to_fewer_schemas_and_a_new_schema_with_the_old_id_are_noticed() -> None:
    stage = Stage.of(primary_keys=["id"])
    stage.warehouse.catalog.alter_table(MAIN, AddColumn("more", IntType()))
    table = stage.opened()
    more = rows(OF_MAIN, 3).append_column("more", pa.array([3], pa.int32()))
    messages = table.new_write("w").write(more)
    stage.fast_forward()
    with pytest.raises(SchemaChanged, match=r"schema 2 of .*, which does not exist any more: the latest is schema 1"):
        table.new_commit("w").commit(messages, identifier=1)
    stage.warehouse.catalog.alter_table(MAIN, AddColumn("other", VarCharType()))
    with pytest.raises(SchemaChanged, match=r"another schema 2 now, of .*other STRING"):
        table.new_commit("w").commit(messages, identifier=1)


READERS: dict[str, Callable[[Table], object]] = {
    "scan": lambda t: t.scan().to_arrow(),
    "count": lambda t: t.scan().count(),
    "filter": lambda t: t.scan(filter="v > 1").to_arrow(),
    "dataset": lambda t: t.scan().to_dataset().to_table(),
    "stream": lambda t: t.stream().next_plan(),
    "files": lambda t: open_system_table(t, "files").scan().to_arrow(),
    "log": lambda t: open_system_table(t, "audit_log").scan().to_arrow(),
}


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("kind", ["append", "fixed"])
def test_a_table_that_was_loaded_before_does_not_read_the_new_rows_with_its_old_schema(read: str, kind: str) -> None:
    stage = Stage.of(**KINDS[kind])
    table = stage.opened()
    stage.fast_forward()
    with pytest.raises(SchemaChanged, match=r"another schema 1 now, .*of_branch STRING\).*Load the table again"):
        READERS[read](table)
    READERS[read](table.current())


FIXED: dict[str, Callable[[Table], Callable[[], object]]] = {
    "dataset": lambda t: t.scan().to_dataset().to_table,
    "polars": lambda t: t.scan().to_polars_lazy().collect,
    "duckdb": lambda t: t.scan().to_duckdb().fetchall,
}


@pytest.mark.parametrize("name", FIXED)
@pytest.mark.parametrize("kind", ["append", "fixed"])
@pytest.mark.parametrize("is_stale", [False, True])
def test_what_was_fixed_to_a_snapshot_does_not_read_its_files_with_the_schemas_of_a_fast_forward(
    name: str, kind: str, is_stale: bool
) -> None:
    stage = Stage.of(**KINDS[kind])
    catalog = stage.warehouse.catalog
    # A file of main has a column of the same name as one of the branch, and another branch keeps the file.
    catalog.alter_table(BRANCH, [RenameColumn("v", "old"), RenameColumn("of_branch", "v")])
    catalog.alter_table(MAIN, AddColumn("old", IntType()))
    stage.opened().append(rows(OF_MAIN, 3).append_column("old", pa.array([30], pa.int32())))
    catalog.alter_table(MAIN, AddColumn("later", IntType()))
    catalog.alter_table(BRANCH, AddColumn("later", IntType()))
    stage.opened().create_tag("kept")
    stage.opened().create_branch("keeping", tag="kept")
    stage.opened().delete_tag("kept")
    table = stage.of_first_schema() if is_stale else stage.opened()
    read = FIXED[name](table)
    stage.fast_forward()
    with pytest.raises(Exception, match=r"A fast-forward has replaced|was replaced by a rollback or a fast-forward"):
        read()


def test_a_table_with_a_schema_of_both_forgets_the_schemas_that_it_read_since() -> None:
    stage = Stage.of(primary_keys=["id"])
    old = stage.of_first_schema()
    stage.opened().append(rows(OF_MAIN, 3))
    assert sorted(old.scan().to_arrow()["id"].to_pylist()) == [1, 3]  # reads a file with schema 1
    stage.fast_forward()
    assert sorted(tuple(row.values()) for row in old.scan().to_arrow().to_pylist()) == [(1, "a", 1), (2, "a", 2)]


def test_a_stream_at_the_snapshot_of_the_branch_does_not_read_its_rows_with_the_old_schema() -> None:
    stage = Stage.of(primary_keys=["id"])
    stream = stage.opened().stream()
    assert stream.next_plan() is not None
    assert stream.next_plan() is None
    stage.fast_forward()
    with pytest.raises(SchemaChanged, match="Load the table again"):
        stream.next_plan()
    following = stage.opened().stream()
    following.restore(stream.checkpoint())
    plan = following.next_plan()
    assert plan is not None
    assert [tuple(row.values()) for row in following.to_arrow(plan).to_pylist()] == [("+I", 2, "a", 2, "own 2")]


def test_a_compaction_that_began_before_is_dropped() -> None:
    stage = Stage.of(primary_keys=["id"], options={"bucket": "1", "num-sorted-run.compaction-trigger": "9"})
    table = stage.opened()
    write, commit = table.new_write("w"), table.new_commit("w")
    commit.commit(write.write(rows(OF_MAIN, 1)), identifier=1)
    [work] = buckets_to_compact(table.facts, None, snapshot=stage.opened().facts.snapshots.load(1))
    messages = perform_work(table.facts, work, full=True)
    stage.fast_forward()
    with pytest.raises(ConflictError, match="another schema 1 now"):
        commit.commit(messages, identifier=2)
    assert stage.found() == AFTER


def test_a_branch_that_lost_its_first_snapshots_brings_all_its_schemas() -> None:
    stage = Stage.of(primary_keys=["id"])
    stage.warehouse.catalog.alter_table(BRANCH, AddColumn("later", IntType()))
    later = rows(OF_BRANCH, 3).append_column("later", pa.array([7], pa.int32()))
    branch = stage.opened(BRANCH)
    branch.append(later)
    branch.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=1 << 60, retain_floor_ms=0)
    stage.fast_forward()
    assert stage.found() == [(1, "a", 1, None, None), (2, "a", 2, "own 2", None), (3, "a", 3, "own 3", 7)]


def test_a_fast_forward_does_not_replace_the_schema_of_a_tag_that_stays() -> None:
    stage = Stage.of(primary_keys=["id"])
    stage.opened().append(rows(OF_MAIN, 3))
    stage.opened().create_tag("mine")
    branch = stage.opened(BRANCH)
    branch.append(rows(OF_BRANCH, 4))
    branch.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=1 << 60, retain_floor_ms=0)
    before = stage.warehouse.files(stage.opened())
    with pytest.raises(ConflictError, match=r"tag 'mine' keeps snapshot 2, .* have schema 1\..* delete the tag"):
        stage.fast_forward()
    assert stage.warehouse.files(stage.opened()) == before
    stage.opened().delete_tag("mine")
    stage.fast_forward()
    assert stage.found() == [*AFTER, (4, "a", 4, "own 4")]


def test_a_directory_of_another_table_is_not_a_branch_to_fast_forward_to() -> None:
    stage = Stage.of(primary_keys=["id"])
    first = stage.opened(BRANCH).store.paths.schema(0)
    text = stage.warehouse.io.read(first).decode()
    stage.warehouse.io.overwrite(first, text.replace('"timeMillis" : ', '"timeMillis" : 1').encode())
    before = stage.warehouse.files(stage.opened())
    with pytest.raises(ConflictError, match=r"is not a branch of the table at .*schema-0, is not .*schema-0"):
        stage.fast_forward()
    assert stage.warehouse.files(stage.opened()) == before

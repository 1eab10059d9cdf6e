"""A handle that outlives its table: dropped, renamed, or another in its place; nothing of the old gets into the new."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from table_format import Table
from table_format.errors import BranchNotFound, ConflictError, TableNotFound, TableReplaced
from table_format.io.local import LocalFileIO
from table_format.io.table_store import TableStore
from table_format.metastore.commit import attempt as commit_prepare
from table_format.metastore.commit import commit_loop, confirmation
from table_format.metastore.schema import table_identity as identity
from table_format.model.commit import CommitMessage
from table_format.model.snapshot import Snapshot
from table_format.runtime import Runtime
from table_format.table.system.registry import open_system_table
from table_format.table.write.batch_commit import BatchCommit
from tests.support.moving_keys import with_runtime
from tests.support.tables import Warehouse, disk_warehouse, keyed, rows_of

KINDS: dict[str, dict[str, object]] = {
    "append": {},
    "append with vectors": {"options": {"deletion-vectors.enabled": "true"}},
    "fixed": {"primary_keys": ["id"], "options": {"num-sorted-run.compaction-trigger": "2"}},
    "dynamic": {"primary_keys": ["id"], "options": {"bucket": "-1"}},
    "moving": {"primary_keys": ["id"], "partition_keys": ["dt"], "options": {"bucket": "-1"}},
    "postponed": {"primary_keys": ["id"], "options": {"bucket": "-2"}},
    "vectors": {"primary_keys": ["id"], "options": {"deletion-vectors.enabled": "true"}},
}
OLD, NEW, MORE = [(1, "a", 1), (2, "b", 2)], [(7, "a", 7), (8, "b", 8)], [(3, "a", 3)]

OPERATIONS: dict[str, Callable[[Table], object]] = {
    "append": lambda t: t.append(keyed(MORE)),
    "overwrite": lambda t: t.overwrite(keyed(MORE)),
    "new_write": lambda t: t.new_write("w"),
    "new_commit": lambda t: t.new_commit("w"),
    "update": lambda t: t.update({"v": "v + 1"}),
    "delete": lambda t: t.delete("id > 0"),
    "merge": lambda t: t.merge(keyed(MORE), on=["id"], when_not_matched_by_source=_delete()),
    "truncate": lambda t: t.truncate(),
    "compact": lambda t: t.compact(full=True),
    "analyze": lambda t: t.analyze(),
    "expire": lambda t: t.expire_snapshots(retain_max=1, retain_min=1, retain_floor_ms=0, older_than_ms=2**50),
    "orphans": lambda t: t.remove_orphan_files(older_than_ms=2**50, nobody_else_writes=True),
    "tag": lambda t: t.create_tag("x"),
    "delete tag": lambda t: t.delete_tag("kept"),
    "roll back": lambda t: t.rollback_to(1),
    "branch": lambda t: t.create_branch("b"),
    "consumer": lambda t: t.reset_consumer("c", 1),
    "scan": lambda t: t.scan().to_arrow(),
    "stream": lambda t: t.stream().next_plan(),
    "files": lambda t: open_system_table(t, "files").scan().to_arrow(),
}


def _delete() -> object:
    from table_format import Delete

    return Delete()


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return with_runtime(disk_warehouse(tmp_path / "warehouse"), Runtime(cache_directory=str(tmp_path / "cache")))


def replace_table(warehouse: Warehouse, table: Table, **kind: object) -> Table:
    """Drop the table and make another in its place, with rows and a tag of its own."""
    warehouse.catalog.drop_table(str(table.identifier))
    new = warehouse.table(**kind)
    new.append(keyed(NEW))
    new.create_tag("kept")
    return new


def files(warehouse: Warehouse, table: Table) -> list[str]:
    return warehouse.files(table)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("travels", [False, True])
def test_no_operation_of_an_old_handle_touches_the_table_in_its_place(
    warehouse: Warehouse, operation: str, travels: bool
) -> None:
    old = warehouse.table(primary_keys=["id"])
    old.append(keyed(OLD))
    if travels:
        old = pickle.loads(pickle.dumps(old.copy({"write-only": "true"})))  # noqa: S301 - our own bytes
    new = replace_table(warehouse, old, primary_keys=["id"])
    before = files(warehouse, new)
    with pytest.raises(TableReplaced, match=r"db\.db/t was dropped after it was opened"):
        OPERATIONS[operation](old)
    assert files(warehouse, new) == before
    assert rows_of(new) == NEW


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrote", ["before", "after"])
def test_a_writer_that_outlives_its_table_commits_nothing_into_the_next(
    warehouse: Warehouse, kind: str, wrote: str
) -> None:
    old = warehouse.table(**KINDS[kind])
    old.append(keyed(OLD))
    write, commit = old.new_write("w"), old.new_commit("w")
    messages = write.write(keyed(MORE)) if wrote == "before" else ()
    new = replace_table(warehouse, old, **KINDS[kind])
    before, snapshots = files(warehouse, new), new.snapshots()
    with pytest.raises(TableReplaced):
        commit.commit(messages or write.write(keyed(MORE)), identifier=1)
    commit.abort(messages)
    write.abort()
    assert files(warehouse, new) == before
    assert new.snapshots() == snapshots


def test_a_write_whose_directory_vanishes_with_its_table_says_so(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = warehouse.table()
    table.append(keyed(OLD))
    create = LocalFileIO.create

    def dropped(io: LocalFileIO, path: str, data: bytes) -> None:
        if "/manifest/" in path:
            warehouse.catalog.drop_table("db.t")
            raise FileNotFoundError(path)
        create(io, path, data)

    monkeypatch.setattr(LocalFileIO, "create", dropped)
    with pytest.raises(TableNotFound, match="was dropped or renamed after it was opened"):
        table.append(keyed(MORE))


@pytest.mark.parametrize("gone", ["dropped", "renamed"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_operation_brings_a_table_back_to_life(warehouse: Warehouse, operation: str, gone: str) -> None:
    table = warehouse.table(primary_keys=["id"])
    table.append(keyed(OLD))
    table.create_tag("kept")
    if gone == "dropped":
        warehouse.catalog.drop_table("db.t")
    else:
        warehouse.catalog.rename_table("db.t", "db.u")
    with pytest.raises(TableNotFound, match="was dropped or renamed after it was opened"):
        OPERATIONS[operation](table)
    assert not Path(table.store.paths.root).exists()
    if gone == "renamed":
        assert rows_of(warehouse.catalog.load_table("db.u")) == OLD


@pytest.mark.parametrize("kind", KINDS)
def test_a_writer_of_a_dropped_table_leaves_no_directory(warehouse: Warehouse, kind: str) -> None:
    table = warehouse.table(**KINDS[kind])
    write, commit = table.new_write("w"), table.new_commit("w")
    messages = write.write(keyed(OLD))
    warehouse.catalog.drop_table("db.t")
    with pytest.raises(TableNotFound):
        commit.commit(messages, identifier=1)
    with pytest.raises(TableNotFound):
        write.write(keyed(MORE))
    commit.abort(messages)
    assert not Path(table.store.paths.root).exists()


def test_a_handle_of_a_deleted_branch_finds_no_table(warehouse: Warehouse) -> None:
    main = warehouse.table(primary_keys=["id"])
    main.append(keyed(OLD))
    main.create_branch("b")
    branch = warehouse.catalog.load_table("db.t$branch_b")
    messages = branch.new_write("w").write(keyed(MORE))
    commit = branch.new_commit("w")
    main.delete_branch("b")
    with pytest.raises((TableNotFound, BranchNotFound)):
        commit.commit(messages, identifier=1)
    with pytest.raises((TableNotFound, BranchNotFound)):
        branch.append(keyed(MORE))
    assert not Path(main.store.paths.branch_root("b")).exists()
    assert rows_of(main) == OLD


def test_a_branch_and_what_it_replaced_are_one_table(warehouse: Warehouse) -> None:
    main = warehouse.table(primary_keys=["id"])
    main.append(keyed(OLD))
    main.create_tag("kept")
    main.create_branch("b", tag="kept")
    branch = warehouse.catalog.load_table("db.t$branch_b")
    branch.append(keyed(MORE))
    main.fast_forward("b")
    main.append(keyed([(9, "a", 9)]))
    assert rows_of(main) == sorted([*OLD, *MORE, (9, "a", 9)])


# --- the table goes while a commit is on its way -------------------------------------------------------------------


def prepared(table: Table) -> tuple[BatchCommit, Iterable[CommitMessage]]:
    return table.new_commit("w"), table.new_write("w").write(keyed(MORE))


@pytest.mark.parametrize("snapshots", [0, 1, 2])
def test_a_table_replaced_between_check_and_publication_loses_the_snapshot_again(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, snapshots: int
) -> None:
    old = warehouse.table(primary_keys=["id"])
    for _ in range(snapshots):
        old.append(keyed(OLD))
    commit, messages = prepared(old)
    real, found = commit_loop.put_if_absent, []

    def late(store: TableStore, path: str, data: bytes, *, give_up_ms: int) -> object:
        monkeypatch.setattr(commit_loop, "put_if_absent", real)
        found.append(replace_table(warehouse, old, primary_keys=["id"]))
        return real(store, path, data, give_up_ms=give_up_ms)

    monkeypatch.setattr(commit_loop, "put_if_absent", late)
    with pytest.raises((TableReplaced, ConflictError)):
        commit.commit(messages, identifier=1)
    (new,) = found
    assert rows_of(warehouse.reopened(new)) == NEW
    assert [s.id for s in new.snapshots()] == [1]
    new.append(keyed(OLD))
    assert rows_of(new) == sorted([*OLD, *NEW])


def test_a_table_dropped_while_its_commit_is_published_stays_dropped(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = warehouse.table()
    commit, messages = prepared(table)
    real = commit_loop.put_if_absent

    def late(store: TableStore, path: str, data: bytes, *, give_up_ms: int) -> object:
        warehouse.catalog.drop_table("db.t")
        return real(store, path, data, give_up_ms=give_up_ms)

    monkeypatch.setattr(commit_loop, "put_if_absent", late)
    with pytest.raises(TableNotFound):
        commit.commit(messages, identifier=1)
    commit.abort(messages)
    assert warehouse.catalog.list_tables("db") == ()
    monkeypatch.undo()
    new = warehouse.table()
    new.append(keyed(NEW))
    assert rows_of(new) == NEW


def test_a_snapshot_of_the_new_table_under_the_same_id_stays(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = warehouse.table()
    commit, messages = prepared(old)
    real, found = commit_loop.put_if_absent, []

    def early(store: TableStore, path: str, data: bytes, *, give_up_ms: int) -> object:
        monkeypatch.setattr(commit_loop, "put_if_absent", real)
        put = real(store, path, data, give_up_ms=give_up_ms)
        found.append(replace_table(warehouse, old))
        return put

    monkeypatch.setattr(commit_loop, "put_if_absent", early)
    with pytest.raises(TableReplaced):
        commit.commit(messages, identifier=1)
    assert rows_of(found[0]) == NEW


# --- the fault put back is noticed ---------------------------------------------------------------------------------

MUTANTS: dict[str, tuple[tuple[object, str], ...]] = {
    "no check before": ((commit_prepare, "require_same_table"), (confirmation, "require_same_table")),
    "no check after": ((confirmation, "require_same_table"),),
    "one identity for all": ((identity, "_digest"),),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_commit_that_does_not_ask_who_the_table_is_spoils_the_next(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, mutant: str
) -> None:
    for module, name in MUTANTS[mutant]:
        monkeypatch.setattr(module, name, lambda *_: None)
    old = warehouse.table(primary_keys=["id"])
    commit, messages = prepared(old)
    real, found = commit_loop.put_if_absent, []

    def late(store: TableStore, path: str, data: bytes, *, give_up_ms: int) -> object:
        if not found:
            warehouse.catalog.drop_table("db.t")
            found.append(warehouse.table(primary_keys=["id"]))
        return real(store, path, data, give_up_ms=give_up_ms)

    monkeypatch.setattr(commit_loop, "put_if_absent", late)
    made: tuple[Snapshot, ...] = commit.commit(messages, identifier=1)
    assert made, "the snapshot of the old table is in the new one"
    assert [s.id for s in found[0].snapshots()] == [1]

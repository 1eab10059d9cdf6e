"""Commits through the server of a catalog: each takes effect once, whatever answers are lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pytest

from table_format import Table
from table_format.engine import new_commit, new_write
from table_format.errors import CommitOutcomeUnknown, MetastoreUnavailable, TableNotFound
from table_format.io.table_server import PartitionChange
from table_format.io.table_store import TableStore
from table_format.metastore.snapshot.snapshot_store import SnapshotStore
from table_format.model.snapshot import Snapshot
from tests.support.metastore_table import ManualClock
from tests.support.tables import KEYED, Warehouse, memory_warehouse, rows_of

Act = Callable[["Server", Snapshot], bool]
"""What the server does with a request, and its answer."""


@dataclass
class Server:
    """A server that publishes snapshots as files. ``acts`` are what it does in the place of that, in order."""

    store: TableStore
    acts: list[Act] = field(default_factory=list)
    changes: list[Sequence[PartitionChange]] = field(default_factory=list)

    def latest(self, branch: str) -> Snapshot | None:
        return SnapshotStore(self.store).latest()

    def commit(self, branch: str, snapshot: Snapshot, changes: Sequence[PartitionChange], *, give_up_ms: int) -> bool:
        self.changes.append(changes)
        return self.acts.pop(0)(self, snapshot) if self.acts else self.publish(snapshot)

    def publish(self, snapshot: Snapshot) -> bool:
        latest = self.latest("main")
        if snapshot.id != 1 + (0 if latest is None else latest.id):
            return False
        SnapshotStore(self.store).create(snapshot)
        return True

    def roll_back(self, branch: str, target: int | str) -> None:
        raise NotImplementedError

    create_branch = delete_branch = rename_branch = fast_forward = roll_back  # type: ignore[assignment]


def publish_and_fail(server: Server, snapshot: Snapshot) -> bool:
    server.publish(snapshot)
    raise OSError(5, "500")


def publish_and_deny(server: Server, snapshot: Snapshot) -> bool:
    """As one whose first answer was lost, to a request that was repeated on the way."""
    server.publish(snapshot)
    return False


def say_nothing(server: Server, snapshot: Snapshot) -> bool:
    raise OSError(5, "no answer")


def refuse(server: Server, snapshot: Snapshot) -> bool:
    message = "403"
    raise MetastoreUnavailable(message)


def publish_that_of_another(server: Server, snapshot: Snapshot) -> bool:
    plain = Table(TABLE[0].identifier, server.store, TABLE[0].schema)
    plain.append(rows(99))
    return server.publish(snapshot)


TABLE: list[Table] = []


@pytest.fixture
def warehouse() -> Warehouse:
    return memory_warehouse(ManualClock())


@pytest.fixture
def server(warehouse: Warehouse) -> Server:
    TABLE[:] = [warehouse.table("t", primary_keys=["id"], options={"bucket": "1"})]
    return Server(TABLE[0].store)


@pytest.fixture
def table(server: Server) -> Table:
    return Table(TABLE[0].identifier, replace(TABLE[0].store, server=server), TABLE[0].schema)


def rows(number: int) -> pa.Table:
    return pa.table({"id": [number], "dt": ["a"], "v": pa.array([number], pa.int32())}, schema=KEYED)


def ids(table: Table) -> list[int]:
    return sorted(row[0] for row in rows_of(table))


def manifests(warehouse: Warehouse, table: Table) -> list[str]:
    return [name for name in warehouse.files(table) if name.startswith("manifest/")]


@pytest.mark.parametrize(
    "acts",
    [
        [publish_and_fail],
        [publish_and_deny],
        [say_nothing],
        [say_nothing, publish_and_fail],
        [say_nothing, publish_and_deny],
        [publish_that_of_another],
        [say_nothing, publish_that_of_another],
    ],
    ids=lambda acts: "+".join(act.__name__ for act in acts),
)
def test_a_commit_takes_effect_once(server: Server, table: Table, acts: list[Act]) -> None:
    table.append(rows(1))
    server.acts += acts
    table.append(rows(2))
    table.append(rows(3))
    others = [99] if publish_that_of_another in acts else []
    assert ids(table) == [1, 2, 3, *others]
    assert [snapshot.id for snapshot in table.snapshots()] == list(range(1, 4 + len(others)))


def test_a_server_that_does_not_answer_leaves_the_outcome_open(
    warehouse: Warehouse, server: Server, table: Table
) -> None:
    server.acts += [say_nothing] * 6
    with pytest.raises(CommitOutcomeUnknown, match=r"does not answer \(.*no answer\)\. Its files are kept"):
        table.append(rows(1), commit_user="me", identifier=1)
    assert manifests(warehouse, table) != []
    table.append(rows(1), commit_user="me", identifier=1)
    assert [snapshot.id for snapshot in table.snapshots()] == [1]


def test_a_refusal_is_raised_and_nothing_is_left(warehouse: Warehouse, server: Server, table: Table) -> None:
    before = warehouse.files(table)
    server.acts += [refuse]
    with pytest.raises(MetastoreUnavailable, match=r"^403$"):
        table.append(rows(1))
    assert warehouse.files(table) == before
    table.append(rows(1))
    assert ids(table) == [1]


def test_a_refusal_after_a_request_without_an_answer_leaves_the_outcome_open(server: Server, table: Table) -> None:
    server.acts += [say_nothing, *[refuse] * 5]
    with pytest.raises(CommitOutcomeUnknown, match="403"):
        table.append(rows(1))


def test_what_a_late_request_publishes_is_found(server: Server, table: Table) -> None:
    late: list[Snapshot] = []

    def keep(_: Server, snapshot: Snapshot) -> bool:
        late.append(snapshot)
        raise OSError(5, "no answer")

    write, commit = new_write(table, "me"), new_commit(table, "me")
    messages = [*write.write(rows(1)), *write.finish()]
    server.acts += [keep] * 6
    with pytest.raises(CommitOutcomeUnknown):
        commit.commit(messages, identifier=1)
    server.publish(late[0])
    assert commit.commit(messages, identifier=1) == ()
    assert ids(table) == [1]


def test_the_server_hears_what_changes_in_each_partition_and_writes_the_hints(
    warehouse: Warehouse, server: Server, table: Table
) -> None:
    table.append(rows(1))
    table.append(rows(2))
    table.compact(full=True)
    (added,), _, (compacted,) = server.changes
    assert (added.values, added.row_count, added.file_count, added.total_buckets) == ({}, 1, 1, 1)
    assert (compacted.row_count, compacted.file_count) == (0, -1)
    assert [name for name in warehouse.files(table) if name.endswith("LATEST")] == []


def test_a_table_that_was_dropped_is_not_written(warehouse: Warehouse, table: Table) -> None:
    warehouse.catalog.drop_table("db.t")
    with pytest.raises(TableNotFound, match="dropped or renamed"):
        table.append(rows(1))

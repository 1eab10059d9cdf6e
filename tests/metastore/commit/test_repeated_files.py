"""New files are looked for in the snapshots that may have them, each of which is read once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from table_format import Table
from table_format.errors import FileConflict
from table_format.metastore.commit.repeated_files import _younger, require_new
from table_format.metastore.commit.table_commit import TableCommit
from table_format.metastore.manifest.manifest_changes import append_changes
from table_format.metastore.schema.schema_store import SchemaStore
from table_format.runtime import Runtime, SystemClock
from tests.support.tables import keyed, memory_warehouse, rows_of


def test_a_file_is_found_in_any_snapshot_since_it_was_written_but_for_those_that_were_checked() -> None:
    table = memory_warehouse().table(primary_keys=["id"], options={"bucket": "1"})
    messages = table.new_write("w").write(keyed([(1, "a", 1)]))
    commit = table.new_commit("w")
    commit.commit(messages, identifier=1)
    for number in range(3):
        table.append(keyed([(number + 2, "a", 1)]))
    facts = table.facts
    context = TableCommit(facts.store, SchemaStore(facts.store), facts.options, "v")._context
    first, *_, latest = table.snapshots()
    changes = append_changes(messages)
    with pytest.raises(FileConflict, match=rf"was committed already; snapshot {first.id} has it. Nothing was"):
        require_new(context, changes, latest, None)
    require_new(context, changes, latest, checked=first)
    require_new(context, append_changes(table.new_write("w").write(keyed([(9, "a", 1)]))), latest, None)


@dataclass(frozen=True)
class Zoned(SystemClock):
    """The clock of a machine in another time zone."""

    hours: int

    def local_now_ms(self) -> int:
        return self.now_ms() + self.hours * 3_600_000


@pytest.mark.parametrize(("of_writer", "of_committer"), [(12, -12), (-12, 12)])
def test_a_file_is_found_whatever_the_time_zones_of_the_writer_and_the_committer_are(
    of_writer: int, of_committer: int
) -> None:
    table = memory_warehouse().table(primary_keys=["id"], options={"bucket": "1"})

    def in_zone(hours: int) -> Table:
        return replace(table, store=replace(table.store, runtime=Runtime(clock=Zoned(hours))))

    for number in range(3):
        table.append(keyed([(number, "a", 1)]))
    messages = in_zone(of_writer).new_write("w").write(keyed([(9, "a", 9)]))
    committing = in_zone(of_committer)
    committing.new_commit("w").commit(messages, identifier=1)
    facts = committing.facts
    context = TableCommit(facts.store, SchemaStore(facts.store), facts.options, "v")._context
    changes, latest = append_changes(messages), table.latest_snapshot()
    with pytest.raises(FileConflict, match=r"was committed already; snapshot 4 has it\."):
        require_new(context, changes, latest, None)
    found = [snapshot.id for snapshot, _ in _younger(context, latest, changes.made_ms or 0)]
    assert found == [4]


@pytest.mark.parametrize("keeper", ["tag", "branch"])
def test_a_file_is_found_if_its_snapshot_has_expired_and_a_tag_or_a_branch_keeps_it(keeper: str) -> None:
    table = memory_warehouse().table()
    messages = table.new_write("w").write(keyed([(1, "a", 1)]))
    table.new_commit("w").commit(messages, identifier=1)
    table.create_tag("kept")
    if keeper == "branch":
        table.create_branch("b", tag="kept")
        table.delete_tag("kept")
    forget(table)
    with pytest.raises(FileConflict, match=r"was committed already; snapshot 1 has it\."):
        table.new_commit("w").commit(messages, identifier=2)
    assert rows_of(table) == [(2, "a", 2)]


def test_a_file_that_was_committed_only_to_a_branch_may_be_committed_to_main() -> None:
    warehouse = memory_warehouse()
    table = warehouse.table()
    messages = table.new_write("w").write(keyed([(1, "a", 1)]))
    table.append(keyed([(0, "a", 0)]))
    table.create_tag("kept")
    table.create_branch("b", tag="kept")
    branch = warehouse.catalog.load_table("db.t$branch_b")
    assert isinstance(branch, Table)
    branch.new_commit("w").commit(messages, identifier=1)
    forget(table)
    table.new_commit("w").commit(messages, identifier=2)
    assert rows_of(table) == [(1, "a", 1), (2, "a", 2)]


def forget(table: Table) -> None:
    """Remove all rows, and expire the snapshots with them; one new row remains."""
    table.truncate()
    table.append(keyed([(2, "a", 2)]))
    table.expire_snapshots(retain_min=1, retain_max=1, older_than_ms=1 << 60, retain_floor_ms=0)

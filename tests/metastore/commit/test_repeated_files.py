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
from tests.support.tables import keyed, memory_warehouse


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

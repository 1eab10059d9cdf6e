"""New files are looked for in the snapshots that may have them, each of which is read once."""

from __future__ import annotations

import pytest

from table_format.errors import FileConflict
from table_format.metastore.commit.repeated_files import require_new
from table_format.metastore.commit.table_commit import TableCommit
from table_format.metastore.manifest.manifest_changes import append_changes
from table_format.metastore.schema.schema_store import SchemaStore
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

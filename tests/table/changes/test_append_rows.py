"""DELETE on tables without primary key, by rewriting files and by deletion vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format import Table
from table_format.errors import FileConflict
from table_format.indexes.deletion_vectors import VectorReader
from table_format.model.manifest import IndexManifestEntry
from table_format.model.snapshot import CommitKind
from table_format.table.changes.append_tables import AppendTableChanges
from table_format.table.changes.row_changes import DeleteStatement, RowChanges
from tests.support.deletion_marks import live, live_data_files
from tests.support.tables import keyed, memory_warehouse, rows_of

MARKS = {"deletion-vectors.enabled": "true"}
KINDS = [{}, MARKS, {**MARKS, "deletion-vectors.bitmap64": "true"}]
BUCKETED = {"bucket": "2", "bucket-key": "id"}


def filled(options: dict[str, str], **arguments: Any) -> Table:
    table = memory_warehouse().table(options=options, **arguments)
    for start in range(0, 30, 10):
        table.append(keyed([(i, "ab"[i % 2], i) for i in range(start, start + 10)]))
    return table


def ids(table: Table) -> list[int]:
    return sorted(table.scan(columns=["id"]).to_arrow().column("id").to_pylist())


@pytest.mark.parametrize("options", KINDS)
def test_only_the_files_that_hold_such_rows_change(options: dict[str, str]) -> None:
    table = filled(options)
    before = [file.file_name for file in live_data_files(table)]
    (snapshot,) = table.delete("id IN (3, 4, 15)").snapshots
    assert snapshot.commit_kind is CommitKind.OVERWRITE
    assert ids(table) == [i for i in range(30) if i not in (3, 4, 15)]
    after = [file.file_name for file in live_data_files(table)]
    assert len(after) == 3
    assert len({*before} & {*after}) == (3 if options else 1)
    assert rows_of(table, options={"scan.snapshot-id": "3"}) == sorted(
        ((i, "ab"[i % 2], i) for i in range(30)), key=repr
    )


@pytest.mark.parametrize("options", KINDS)
def test_nothing_to_delete_is_no_commit(options: dict[str, str]) -> None:
    table = filled(options)
    assert table.delete("id > 100") == RowChanges()
    assert table.delete("v IS NULL") == RowChanges()
    assert len(table.snapshots()) == 3


@pytest.mark.parametrize("options", KINDS)
def test_all_rows_of_a_file_may_go(options: dict[str, str]) -> None:
    table = filled(options)
    table.delete("id < 10")
    assert ids(table) == list(range(10, 30))
    table.delete("id >= 0")
    assert ids(table) == []


def test_vectors_of_a_bucket_lie_in_as_few_index_files_as_were_touched() -> None:
    table = filled(MARKS)
    table.delete("id = 1")
    table.delete("id = 11")
    table.delete("id = 12")
    entries = table.facts.manifests.index_entries(table.snapshots()[-1])
    assert [entry.index_file.row_count for entry in entries] == [1, 1]
    bucketed = filled({**MARKS, **BUCKETED})
    for key in (1, 11, 12, 21):
        bucketed.delete(f"id = {key}")
    entries = bucketed.facts.manifests.index_entries(bucketed.snapshots()[-1])
    assert len({entry.bucket for entry in entries}) == len(entries)
    assert ids(bucketed) == [i for i in range(30) if i not in (1, 11, 12, 21)]


@pytest.mark.parametrize("options", KINDS)
def test_two_deletes_of_one_file_are_a_conflict(options: dict[str, str]) -> None:
    table = filled(options)
    stale = table.scan(filter="id = 1").plan()
    table.delete("id = 2")
    files = memory_files(table)
    messages = AppendTableChanges(table.facts, stale, DeleteStatement(table.schema, stale.predicate)).write()
    commit = table.new_commit()
    with pytest.raises(FileConflict):
        commit.commit(messages)
    commit.abort(messages)
    assert memory_files(table) == files
    assert ids(table) == [i for i in range(30) if i != 2]


def memory_files(table: Table) -> set[str]:
    """The data and index files there are."""
    io, paths = table.store.io, table.store.paths
    bucket = io.list(paths.bucket_directory("", 0))
    return {f.name for f in bucket} | {f.name for f in io.list(paths.index_directory)}


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("append"), st.lists(st.integers(0, 20), min_size=1, max_size=6)),
            st.tuples(st.just("delete"), st.tuples(st.integers(0, 20), st.integers(0, 6))),
        ),
        min_size=2,
        max_size=10,
    ),
    st.sampled_from([*KINDS, BUCKETED, {**BUCKETED, **MARKS}, {"file.format": "avro", **MARKS}]),
    st.booleans(),
)
def test_deletes_are_those_of_a_list(steps: list[tuple[str, Any]], options: dict[str, str], partitioned: bool) -> None:
    table = memory_warehouse().table(partition_keys=["dt"] if partitioned else [], options=options)
    expected: list[int] = []
    for step, argument in steps:
        if step == "append":
            table.append(keyed([(i, "ab"[i % 2], i) for i in argument]))
            expected += argument
        else:
            first, count = argument
            table.delete(f"v >= {first} AND id < {first + count}")
            expected = [i for i in expected if not first <= i < first + count]
        assert ids(table) == sorted(expected)
    snapshot = table.facts.snapshots.latest()
    rows = {entry.file.file_name: entry.file.row_count for entry in live(table)} if snapshot else {}
    marked = 0
    for files in table.facts.deletion_files(snapshot).values() if snapshot else ():
        for name, file in files.items():
            marked += VectorReader(table.store.io).read(file, rows[name]).cardinality
    assert sum(rows.values()) - marked == len(expected)


def test_another_index_file_is_begun_when_one_is_large_enough() -> None:
    table = filled({**MARKS, "deletion-vector.index-file.target-size": "40 b"})
    table.delete("id IN (1, 11, 21)")
    first = {e.index_file.file_name: e.index_file.row_count for e in index_entries(table)}
    assert sorted(first.values()) == [1, 2]
    table.delete("id = 22")
    second = {e.index_file.file_name: e.index_file.row_count for e in index_entries(table)}
    assert sorted(second.values()) == [1, 2]
    assert len(first.keys() & second.keys()) == 1
    assert ids(table) == [i for i in range(30) if i not in (1, 11, 21, 22)]
    bucketed = filled({**MARKS, **BUCKETED, "bucket": "1"})
    bucketed.delete("id IN (1, 11, 21)")
    assert [e.index_file.row_count for e in index_entries(bucketed)] == [3]


def index_entries(table: Table) -> Sequence[IndexManifestEntry]:
    return table.facts.manifests.index_entries(table.snapshots()[-1])

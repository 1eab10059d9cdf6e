"""Compaction of tables without primary key that have deletion vectors (format chapter 08, section 2; chapter 11, 3)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format import Table, load_catalog
from table_format.errors import FileConflict
from table_format.indexes.deletion_vectors import VectorReader
from table_format.model.commit import CommitMessage
from table_format.model.manifest import DELETION_VECTORS
from table_format.model.snapshot import CommitKind
from table_format.table.changes.append_tables import AppendTableChanges
from table_format.table.changes.row_changes import DeleteStatement
from table_format.table.upkeep.bucket_compaction import BucketCompaction, compact, compact_work
from tests.support.deletion_marks import live, live_data_files
from tests.support.golden import golden_case
from tests.support.matrix import tries
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of

MARKS = {"deletion-vectors.enabled": "true"}
BUCKETED = {"bucket": "1", "bucket-key": "id"}


def filled(options: dict[str, str], **arguments: Any) -> Table:
    """Three files of ten rows each."""
    table = memory_warehouse().table(options=options, **arguments)
    for start in range(0, 30, 10):
        table.append(keyed([(i, "ab"[i % 2], i) for i in range(start, start + 10)]))
    return table


def ids(table: Table) -> list[int]:
    return table.scan(columns=["id"]).to_arrow().column("id").to_pylist()


def marked_files(table: Table) -> dict[str, list[str]]:
    """Data files with vectors by index file."""
    snapshot = table.facts.snapshots.latest()
    assert snapshot is not None
    return {
        entry.index_file.file_name: [range_.data_file for range_ in entry.index_file.deletion_vector_ranges or ()]
        for entry in table.facts.manifests.index_entries(snapshot)
        if entry.index_file.index_type == DELETION_VECTORS
    }


@pytest.mark.parametrize("options", [MARKS, {**MARKS, **BUCKETED}], ids=["unaware", "bucketed"])
@pytest.mark.parametrize("wide", ["true", "false"])
def test_deleted_rows_stay_behind_and_their_vectors_leave_the_index(options: dict[str, str], wide: str) -> None:
    table = filled({**options, "deletion-vectors.bitmap64": wide})
    table.delete("id IN (1, 2, 25)")
    (snapshot,) = table.compact(full=True)
    assert snapshot.commit_kind is CommitKind.COMPACT
    assert sorted(ids(table)) == [i for i in range(30) if i not in (1, 2, 25)]
    assert marked_files(table) == {}
    assert snapshot.index_manifest is None
    assert (snapshot.total_record_count, snapshot.delta_record_count) == (27, -3)
    assert sum(file.row_count for file in live_data_files(table)) == 27


def test_a_file_of_which_few_rows_are_deleted_waits_for_more() -> None:
    table = filled({**MARKS, "target-file-size": "1 b", "compaction.delete-ratio-threshold": "0.3"})
    table.delete("id < 3")
    assert table.compact() == ()
    table.delete("id = 3")
    assert len(table.compact()) == 1
    assert sorted(ids(table))[:2] == [4, 5]
    assert marked_files(table) == {}
    assert {file.row_count for file in live_data_files(table)} == {6, 10}


def test_an_index_file_keeps_the_vectors_of_files_that_stay() -> None:
    table = filled({**MARKS, "target-file-size": "1 b"})
    table.delete("id IN (0, 1, 2, 10)")
    table.delete("id = 20")
    before = marked_files(table)
    assert sorted(map(len, before.values())) == [1, 2]
    table.compact()
    after = marked_files(table)
    assert len(set(before) & set(after)) == 1
    assert sorted(map(len, after.values())) == [1, 1]
    assert sorted(ids(table)) == [*range(3, 10), *range(11, 20), *range(21, 30)]
    assert_vectors_belong_to_live_files(table, 30 - 5)


def test_a_file_without_a_row_left_goes_without_a_successor() -> None:
    table = filled({**MARKS, **BUCKETED})
    table.delete("id < 10")
    table.delete("id >= 20")
    table.compact(full=True)
    assert ids(table) == list(range(10, 20))
    table.delete("id >= 0")
    table.compact(full=True)
    assert (ids(table), live_data_files(table)) == ([], [])


def test_only_the_partitions_that_are_asked_for_are_compacted() -> None:
    table = filled(MARKS, partition_keys=["dt"])
    table.delete("id IN (2, 3)")
    table.compact(full=True, partitions=[{"dt": "a"}])
    assert sorted(entry.file.row_count for entry in live(table)) == [5, 5, 5, 14]
    assert len(marked_files(table)) == 1
    assert sorted(ids(table)) == [i for i in range(30) if i not in (2, 3)]


def test_older_snapshots_still_read_with_their_vectors() -> None:
    table = filled(MARKS)
    table.delete("id < 5")
    table.compact(full=True)
    assert len(rows_of(table, options={"scan.snapshot-id": "4"})) == 25
    assert len(rows_of(table, options={"scan.snapshot-id": "3"})) == 30


@pytest.mark.parametrize("case", ["append_deletion_vectors", "append_compaction", "append_compaction__1.4.2"])
def test_tables_of_the_reference_read_the_same_after_a_compaction(case: str, tmp_path: Path) -> None:
    warehouse = golden_case(case).writable_copy(tmp_path)
    catalog = load_catalog({"warehouse": str(warehouse)})
    for name in catalog.list_tables("db"):
        table = catalog.load_table(f"db.{name}")
        assert isinstance(table, Table)
        before = rows_of(table)
        table.compact(full=True)
        assert rows_of(table) == before
        if table.options.bucket.count == -1:
            table.compact(
                order_by=[f.name for f in table.schema.fields if f.name not in table.schema.partition_keys][:2]
            )
            assert rows_of(table) == before
        assert marked_files(table) == {}


# --- conflicts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, MARKS, {**MARKS, **BUCKETED}, BUCKETED], ids=str)
@pytest.mark.parametrize("marked_before", [False, True])
def test_a_compaction_that_did_not_see_a_delete_is_dropped(options: dict[str, str], marked_before: bool) -> None:
    table = filled(options)
    if marked_before:
        table.delete("id = 1")
    expected = [i for i in range(30) if i != 7 and not (marked_before and i == 1)]
    files = set[str]()

    def late(pieces: Sequence[BucketCompaction]) -> list[CommitMessage]:
        messages = [compact_work(table.facts, work, full=True) for work in pieces]
        table.delete("id = 7")
        files.update(files_of(table))
        return messages

    report = compact(table.facts, "compactor", full=True, perform=late)
    assert (report.snapshots, [lost.bucket for lost in report.dropped]) == ((), [0])
    assert sorted(ids(table)) == expected
    assert len(files_of(table)) < len(files)
    table.compact(full=True)
    assert sorted(ids(table)) == expected


@pytest.mark.parametrize("options", [{}, MARKS, {**MARKS, **BUCKETED}, BUCKETED], ids=str)
@pytest.mark.parametrize("marked_before", [False, True])
def test_a_delete_that_did_not_see_a_compaction_is_refused(options: dict[str, str], marked_before: bool) -> None:
    table = filled(options)
    if marked_before:
        table.delete("id = 1")
    stale = table.scan(filter="id = 7").plan()
    table.compact(full=True)
    expected = sorted(ids(table))
    messages = AppendTableChanges(table.facts, stale, DeleteStatement(table.schema, stale.predicate)).write()
    commit = table.new_commit()
    with pytest.raises(FileConflict):
        commit.commit(messages)
    commit.abort(messages)
    assert sorted(ids(table)) == expected
    table.delete("id = 7")
    assert sorted(ids(table)) == [i for i in expected if i != 7]


def test_rows_that_are_appended_meanwhile_survive() -> None:
    table = filled(MARKS)
    table.delete("id = 7")

    def late(pieces: Sequence[BucketCompaction]) -> list[CommitMessage]:
        messages = [compact_work(table.facts, work, full=True) for work in pieces]
        table.append(keyed([(100, "a", 1)]))
        return messages

    compact(table.facts, "compactor", full=True, perform=late)
    assert sorted(ids(table)) == [*(i for i in range(30) if i != 7), 100]


def files_of(table: Table) -> list[str]:
    return Warehouse(None, table.store.io).files(table)  # type: ignore[arg-type]


# --- the law ----------------------------------------------------------------------------------------------------------


@settings(max_examples=tries(15, many=30), deadline=None, derandomize=True)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("append"), st.integers(1, 6)),
            st.tuples(st.just("delete"), st.tuples(st.integers(0, 30), st.integers(1, 6))),
            st.tuples(st.just("compact"), st.booleans()),
        ),
        min_size=3,
        max_size=12,
    ),
    st.sampled_from([MARKS, {**MARKS, "target-file-size": "1 b"}, {**MARKS, "compaction.min.file-num": "2"}]),
    st.sampled_from([{}, BUCKETED]),
    st.booleans(),
)
def test_a_compaction_never_changes_what_is_read(
    steps: list[tuple[str, Any]], options: dict[str, str], bucket: dict[str, str], partitioned: bool
) -> None:
    table = memory_warehouse().table(
        partition_keys=["dt"] if partitioned else [],
        options={**options, **bucket, "compaction.delete-ratio-threshold": "0.4"},
    )
    written, expected = 0, list[int]()
    for step, argument in steps:
        if step == "append":
            table.append(keyed([(i, "ab"[i % 2], i) for i in range(written, written + argument)]))
            expected += range(written, written + argument)
            written += argument
        elif step == "delete":
            first, count = argument
            table.delete(f"id >= {first} AND id < {first + count}")
            expected = [i for i in expected if not first <= i < first + count]
        else:
            table.compact(full=argument)
        found = ids(table)
        assert sorted(found) == expected
        if bucket and not partitioned:
            assert found == expected, "the rows of a bucket keep their order"
        assert_vectors_belong_to_live_files(table, len(expected))


def assert_vectors_belong_to_live_files(table: Table, rows_left: int) -> None:
    snapshot = table.facts.snapshots.latest()
    if snapshot is None:
        return
    rows = {entry.file.file_name: entry.file.row_count for entry in live(table)}
    marked = 0
    for files in table.facts.deletion_files(snapshot).values():
        for name, file in files.items():
            marked += VectorReader(table.store.io).read(file, rows[name]).cardinality
    assert snapshot.total_record_count == sum(rows.values()) == rows_left + marked

"""Reading tables with deletion vectors: append tables, and primary-key tables that merge on write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format import Table, load_catalog
from table_format.errors import CorruptionError, InvalidOption, MissingFile
from table_format.metastore.commit import conflicts
from table_format.model.commit import Committable
from table_format.model.schema_change import AddColumn, RenameColumn
from table_format.model.split import DataSplit
from table_format.model.types import VarCharType
from tests.support.deletion_marks import (
    MERGE_ON_WRITE,
    lifted,
    live,
    live_data_files,
    mark_deleted,
    with_options,
)
from tests.support.golden import case_names, golden_case
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of


@pytest.fixture
def warehouse() -> Warehouse:
    return memory_warehouse()


def numbered(start: int, stop: int) -> pa.Table:
    return keyed([(i, "a" if i % 2 else "b", i) for i in range(start, stop)])


def ids(table: Table, **arguments: Any) -> list[int]:
    return sorted(row[0] for row in rows_of(table, **arguments))


# --- append tables ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_wide", [False, True])
def test_marked_rows_of_an_append_table_are_gone(warehouse: Warehouse, is_wide: bool) -> None:
    table = warehouse.table()
    table.append(numbered(0, 10))
    table.append(numbered(10, 20))
    table.append(numbered(20, 30))
    first, second, _ = (file.file_name for file in live_data_files(table))
    mark_deleted(table, {first: [0, 9], second: list(range(10))}, is_wide=is_wide)
    assert ids(table) == [*range(1, 9), *range(20, 30)]
    assert ids(table, filter="id >= 8 AND id < 22") == [8, 20, 21]
    assert table.scan(columns=[]).to_arrow().num_rows == 18
    assert ids(table, options={"scan.snapshot-id": "3"}) == list(range(30))


def test_a_split_says_which_files_have_vectors(warehouse: Warehouse) -> None:
    table = warehouse.table()
    table.append(numbered(0, 10))
    table.append(numbered(10, 20))
    assert table.scan().plan()[0].deletion_files == ()
    second = live_data_files(table)[1].file_name
    (path,) = mark_deleted(table, {second: [3, 4]})
    (split,) = table.scan().plan()
    assert split.raw_convertible
    none, found = split.deletion_files
    assert none is None
    assert found is not None
    assert (found.path, found.range.data_file, found.range.cardinality) == (path, second, 2)
    assert "  deleted    2 rows in 1 file" in str(table.scan().plan()).splitlines()


@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
def test_index_files_may_lie_elsewhere(warehouse: Warehouse, scheme: str) -> None:
    table = warehouse.table()
    table.append(numbered(0, 4))
    mark_deleted(table, {live_data_files(table)[0].file_name: [1]}, external_scheme=scheme)
    assert ids(table) == [0, 2, 3]


def test_index_files_may_lie_beside_the_data_files(warehouse: Warehouse) -> None:
    created = warehouse.table(partition_keys=["dt"])
    created.append(numbered(0, 8))
    table = with_options(created, {"index-file-in-data-file-dir": "true"})
    written = mark_deleted(table, {file.file_name: [0] for file in live_data_files(table)})
    assert [path.split("/")[-3:-1] for path in written] == [["dt=a", "bucket-0"], ["dt=b", "bucket-0"]]
    assert ids(table) == list(range(2, 8))


def test_a_damaged_or_missing_index_file_is_named(warehouse: Warehouse) -> None:
    table = warehouse.table()
    table.append(numbered(0, 4))
    (path,) = mark_deleted(table, {live_data_files(table)[0].file_name: [1]})
    sound = warehouse.io.read(path)
    warehouse.io.delete(path)
    with pytest.raises(MissingFile, match=path):
        rows_of(table)
    warehouse.io.create(path, sound[:-1])
    with pytest.raises(CorruptionError, match=path):
        rows_of(table)


def of_several_row_groups(warehouse: Warehouse, rows: int, **options: str) -> Table:
    """A table of one file; small pages and groups, rows in order."""
    table = warehouse.table(options={"file.block-size": "2 kb", "write-buffer-size": "1 mb", **options})
    wide = [(i, f"{i:032}", i) for i in range(rows)]
    table.append(keyed(wide))
    return table


def test_positions_count_from_the_first_row_of_the_file_whatever_is_pruned(warehouse: Warehouse) -> None:
    table = of_several_row_groups(warehouse, 50_000)
    (file,) = live_data_files(table)
    marked = [0, 1, 17_000, 25_000, 25_001, 49_999]
    mark_deleted(table, {file.file_name: marked})
    left = sorted(set(range(50_000)) - set(marked))
    assert ids(table) == left
    counts = table.scan(filter="id >= 24990 AND id < 25010").plan().row_groups()
    assert 0 < counts.row_groups_kept < counts.row_groups
    assert ids(table, filter="id >= 24990 AND id < 25010") == [i for i in left if 24_990 <= i < 25_010]
    assert ids(table, filter="id < 3 OR id > 49995") == [2, 49_996, 49_997, 49_998]


def test_columns_that_a_file_has_not_are_shown_for_the_rows_it_still_has(warehouse: Warehouse) -> None:
    table = warehouse.table()
    table.append(numbered(0, 6))
    mark_deleted(table, {live_data_files(table)[0].file_name: [1, 4]})
    changes = (AddColumn("w", VarCharType(length=9)), RenameColumn("v", "n"))
    warehouse.catalog.alter_table("db.t", changes)
    evolved = warehouse.reopened(table)
    assert evolved.scan(["w"]).to_arrow()["w"].to_pylist() == [None] * 4
    assert rows_of(evolved, columns=["n", "w"], filter="n >= 2 AND w IS NULL") == [(2, None), (3, None), (5, None)]
    assert rows_of(evolved, columns=["n"], filter="w = 'x'") == []


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=4),
    data=st.data(),
    is_wide=st.booleans(),
)
def test_what_is_read_is_what_was_written_without_the_marked_rows(
    sizes: list[int], data: st.DataObject, is_wide: bool
) -> None:
    table = memory_warehouse().table()
    expected: list[int] = []
    positions: dict[str, list[int]] = {}
    start = 0
    for size in sizes:
        table.append(numbered(start, start + size))
        start += size
    start = 0
    for file, size in zip(live_data_files(table), sizes, strict=True):
        marked = data.draw(st.sets(st.integers(0, size - 1)))
        if marked:
            positions[file.file_name] = sorted(marked)
        expected += [start + i for i in range(size) if i not in marked]
        start += size
    if positions:
        mark_deleted(table, positions, is_wide=is_wide)
    low, high = sorted(data.draw(st.tuples(st.integers(0, start), st.integers(0, start))))
    assert ids(table) == expected
    assert ids(table, filter=f"id >= {low} AND v < {high}") == [i for i in expected if low <= i < high]
    assert table.scan(columns=[]).to_arrow().num_rows == len(expected)


# --- merge on write --------------------------------------------------------------------------------------------------


def merged_on_write(warehouse: Warehouse, **options: str) -> Table:
    """Keys 0 to 9 on the highest level, of which 3 and 4 have newer rows on level 4 and 5 is deleted."""
    created = warehouse.table(primary_keys=["id"], options={"bucket": "1", "write-only": "true", **options})
    created.append(keyed([(i, "old", i) for i in range(10)]))
    lifted(created, {live_data_files(created)[0].file_name: 5})
    created.append(keyed([(3, "new", 30), (4, "new", 40)]))
    old, new = (file.file_name for file in live_data_files(created))
    lifted(created, {new: 4})
    table = with_options(created, MERGE_ON_WRITE)
    mark_deleted(table, {old: [3, 4, 5]})
    return table


MERGED = [
    *((i, "old", i) for i in range(3)),
    (3, "new", 30),
    (4, "new", 40),
    *((i, "old", i) for i in range(6, 10)),
]


def test_compacted_files_of_all_levels_are_read_as_they_are(warehouse: Warehouse) -> None:
    table = merged_on_write(warehouse)
    (split,) = table.scan().plan()
    assert split.raw_convertible
    assert sorted(file.level for file in split.files) == [4, 5]
    assert rows_of(table) == MERGED


def test_each_file_is_pruned_by_its_own_statistics(warehouse: Warehouse) -> None:
    table = merged_on_write(warehouse)
    plan = table.scan(filter="v >= 30").plan()
    assert (plan.file_count, plan.counts.files_dropped_by_value_stats) == (1, 1)
    assert rows_of(table, filter="v >= 30") == [(3, "new", 30), (4, "new", 40)]
    # The rows these values belonged to are marked, so that nothing old comes back.
    assert rows_of(table, filter="v IN (3, 4, 5)") == []
    assert rows_of(table, filter="v = 6") == [(6, "old", 6)]


def test_a_bucket_is_cut_by_files_and_not_by_keys(warehouse: Warehouse) -> None:
    table = merged_on_write(warehouse)
    options = {"source.split.target-size": "1 b", "source.split.open-file-cost": "1 b"}
    plan = table.scan(options=options).plan()
    assert [len(split.files) for split in plan] == [1, 1]
    assert sum(1 for split in plan for found in split.deletion_files if found) == 1
    assert rows_of(table, options=options) == MERGED


def newer_on_level_0(table: Table, rows: Sequence[tuple[int, str, int]], **columns: Any) -> Table:
    """Append as a writer that does not compact."""
    writer = replace(table, schema=replace(table.schema, options={"bucket": "1", "write-only": "true"}))
    writer.append(keyed(rows, **columns))
    return table


def test_rows_on_level_0_are_seen_once_they_are_compacted(warehouse: Warehouse) -> None:
    table = newer_on_level_0(merged_on_write(warehouse), [(0, "fresh", 100), (50, "fresh", 500)])
    plan = table.scan().plan()
    # Three commits to level 0 need not even be looked at, of the two that lifted files one half each.
    assert (plan.counts.manifests_dropped, plan.counts.entries_dropped_by_level) == (3, 2)
    assert rows_of(table) == MERGED
    assert rows_of(table, filter="v = 100") == []


def test_readers_that_merge_see_level_0(warehouse: Warehouse) -> None:
    table = newer_on_level_0(merged_on_write(warehouse), [(0, "fresh", 100), (5, "again", 5)])
    merging = {"deletion-vectors.merge-on-read": "true"}
    expected = sorted([(0, "fresh", 100), *MERGED[1:], (5, "again", 5)])
    assert rows_of(table, options=merging) == expected
    assert rows_of(table, filter="v < 3", options=merging) == [(1, "old", 1), (2, "old", 2)]
    assert not any(split.raw_convertible for split in table.scan(options=merging).plan())


def test_deletes_on_level_0_count_for_readers_that_merge(warehouse: Warehouse) -> None:
    table = merged_on_write(warehouse)
    newer_on_level_0(table, [(1, "", 0), (3, "", 0)], _row_kind=pa.array(["-D", "-D"]))
    assert rows_of(table) == MERGED
    merging = {"deletion-vectors.merge-on-read": "true"}
    assert rows_of(table, options=merging) == [row for row in MERGED if row[0] not in (1, 3)]


def test_retract_rows_that_a_compaction_left_are_dropped(warehouse: Warehouse) -> None:
    created = warehouse.table(primary_keys=["id"], options={"bucket": "1", "write-only": "true"})
    created.append(keyed([(1, "a", 1), (2, "a", 2), (3, "a", 3)]))
    lifted(created, {live_data_files(created)[0].file_name: 5})
    created.append(keyed([(2, "a", 0), (4, "a", 4)], _row_kind=pa.array(["-D", "+I"])))
    lifted(created, {live_data_files(created)[1].file_name: 4})
    table = with_options(created, MERGE_ON_WRITE)
    mark_deleted(table, {live_data_files(table)[0].file_name: [2]})
    (split,) = table.scan().plan()
    assert not split.raw_convertible
    assert rows_of(table) == [(1, "a", 1), (4, "a", 4)]
    assert rows_of(table, filter="v = 2") == []
    assert rows_of(table, filter="v > 0 AND v < 4") == [(1, "a", 1)]


@pytest.mark.parametrize("engine", ["aggregation", "partial-update"])
def test_compacted_rows_of_any_merge_engine_are_read(warehouse: Warehouse, engine: str) -> None:
    table = with_options(merged_on_write(warehouse), {"merge-engine": engine})
    assert rows_of(table) == MERGED


def test_first_row_tables_are_read_as_compaction_left_them(warehouse: Warehouse) -> None:
    created = warehouse.table(primary_keys=["id"], options={"bucket": "1", "write-only": "true"})
    created.append(keyed([(1, "a", 1), (5, "a", 5)]))
    lifted(created, {live_data_files(created)[0].file_name: 5})
    created.append(keyed([(2, "b", 2), (3, "b", 3)]))
    lifted(created, {live_data_files(created)[1].file_name: 4})
    created.append(keyed([(1, "c", 9), (9, "c", 9)]))
    table = with_options(created, {"merge-engine": "first-row"})
    (split,) = table.scan().plan()
    assert split.raw_convertible
    assert rows_of(table) == [(1, "a", 1), (2, "b", 2), (3, "b", 3), (5, "a", 5)]
    assert table.scan(filter="v = 5").plan().file_count == 1


def test_vectors_count_although_the_option_was_taken_away(warehouse: Warehouse) -> None:
    table = merged_on_write(warehouse)
    without = with_options(table, {"deletion-vectors.enabled": "false"})
    assert rows_of(without) == MERGED


@pytest.mark.parametrize("enabled", ["true", "false"])
def test_a_table_with_vectors_is_written_and_compacted(warehouse: Warehouse, enabled: str) -> None:
    table = with_options(merged_on_write(warehouse, **{"write-only": "false"}), {"deletion-vectors.enabled": enabled})
    table.append(keyed([(4, "newest", 4), (11, "newest", 11)]))
    expected = sorted([*(row for row in MERGED if row[0] != 4), (4, "newest", 4), (11, "newest", 11)], key=repr)
    assert rows_of(table) == expected
    table.compact(full=True)
    assert rows_of(table) == expected
    table.delete("id < 4")
    assert rows_of(table) == [row for row in expected if row[0] >= 4]


def test_vectors_count_in_a_compaction_whatever_the_option_says(warehouse: Warehouse) -> None:
    table = warehouse.table()
    table.append(numbered(0, 10))
    mark_deleted(table, {live_data_files(table)[0].file_name: [1]})
    table.compact(full=True)
    assert table.scan(columns=["id"]).to_arrow().column("id").to_pylist() == [0, *range(2, 10)]
    assert live_data_files(table)[0].row_count == 9


def test_the_option_is_not_taken_away_by_one_call(tmp_path: Path) -> None:
    warehouse = golden_case("pk_deletion_vectors").writable_copy(tmp_path)
    catalog = load_catalog({"warehouse": str(warehouse)})
    table = catalog.load_table("db.t")
    assert isinstance(table, Table)
    with pytest.raises(InvalidOption, match=r"deletion-vectors\.enabled.*which one call cannot change"):
        table.copy({"deletion-vectors.enabled": "false"})


@settings(max_examples=15, deadline=None, derandomize=True)
@given(data=st.data())
def test_levels_and_marks_read_as_a_dictionary_of_rows(data: st.DataObject) -> None:
    created = memory_warehouse().table(primary_keys=["id"], options={"bucket": "2", "write-only": "true"})
    state: dict[int, tuple[int, str, int]] = {}
    places: dict[int, tuple[str, int]] = {}
    marks: dict[str, list[int]] = {}
    for level in (5, 4, 3):
        keys = sorted(data.draw(st.sets(st.integers(0, 30), min_size=1, max_size=12)))
        before = {file.file_name for file in live_data_files(created)}
        created.append(keyed([(k, "x", level * 100 + k) for k in keys]))
        added = [f for f in live_data_files(created) if f.file_name not in before]
        lifted(created, {f.file_name: level for f in added})
        for key in keys:
            if key in places:
                name, position = places[key]
                marks.setdefault(name, []).append(position)
            state[key] = (key, "x", level * 100 + key)
        for split in created.scan(filter=f"v >= {level * 100} AND v <= {level * 100 + 99}").plan():
            for file in split.files:
                if file.file_name not in before:
                    places |= {k: (file.file_name, i) for i, k in enumerate(_keys(created, split, file.file_name))}
    for key in data.draw(st.sets(st.sampled_from(sorted(state)))):
        name, position = places[key]
        marks.setdefault(name, []).append(position)
        del state[key]
    table = with_options(created, MERGE_ON_WRITE)
    if marks:
        mark_deleted(table, marks, is_wide=data.draw(st.booleans()))
    assert all(split.raw_convertible for split in table.scan().plan())
    assert sorted(rows_of(table)) == sorted(state.values())
    low = data.draw(st.integers(300, 560))
    assert sorted(rows_of(table, filter=f"v >= {low}")) == [row for row in sorted(state.values()) if row[2] >= low]
    key = low % 31
    assert rows_of(table, filter=f"id = {key}") == ([state[key]] if key in state else [])


def _keys(table: Table, split: DataSplit, name: str) -> list[int]:
    """The keys of one data file in file order."""
    alone = replace(split, files=tuple(f for f in split.files if f.file_name == name), raw_convertible=True)
    return [key for batch in table.scan(["id"]).read(alone) for key in batch.column("id").to_pylist()]


# --- as Java plans ---------------------------------------------------------------------------------------------------

PLANNED = [
    (case, table)
    for case in case_names()
    if case.startswith(("append_deletion_vectors", "pk_deletion_vectors", "spark_modes", "pk_first_row"))
    for table, facts in golden_case(case).tables.items()
    if isinstance(facts.get("plan"), list) and not table.endswith(("_avro", "_orc"))
]


@pytest.mark.parametrize(("case", "name"), PLANNED, ids=lambda value: value)
def test_splits_are_those_of_the_real_paimon(case: str, name: str) -> None:
    golden = golden_case(case)
    table = load_catalog({"warehouse": str(golden.warehouse)}).load_table(name)
    assert isinstance(table, Table)
    found = sorted(
        (
            split.bucket,
            table.facts.partitions.text(split.partition),
            split.raw_convertible,
            sorted(
                (f.file_name, f.level, f.row_count, d and (d.path.rpartition("/")[2], d.range.offset, d.range.length))
                for f, d in zip(split.files, split.deletion_files or [None] * len(split.files), strict=True)
            ),
        )
        for split in table.scan().plan()
    )
    assert found == sorted(
        (
            split["bucket"],
            split["partition"].rstrip("/"),
            split["raw_convertible"],
            sorted(
                (
                    f["file"],
                    f["level"],
                    f["row_count"],
                    (d := f.get("deletion")) and (d["file"], d["offset"], d["length"]),
                )
                for f in split["files"]
            ),
        )
        for split in golden.tables[name]["plan"]
    )


def test_a_vector_that_a_rewrite_in_place_left_behind_is_no_damage(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paimon 1.4 rewrites a marked file of the highest level, and leaves its vector in the index."""
    table = warehouse.table(primary_keys=["id"], options={**MERGE_ON_WRITE, "bucket": "1"})
    table.append(numbered(0, 10))
    [old] = live(table)
    mark_deleted(table, {old.file.file_name: [3]})
    [message] = table.copy({"write-only": "true"}).new_write().write(numbered(4, 10))
    [new] = message.new_files
    rewrite = replace(message, new_files=(), compact_before=(old.file,), compact_after=(new.upgrade(5),))
    with monkeypatch.context() as as_paimon_does:
        as_paimon_does.setattr(conflicts, "_find_dangling_vector", lambda _live, _facts: None)
        table.facts.committer("other").commit(Committable(identifier=9, messages=(rewrite,)))
    assert ids(table) == list(range(4, 10))
    table.append(numbered(4, 5))
    assert ids(table) == list(range(4, 10))
    # Nothing has expired: a file that is not there has never been one.
    warehouse.io.delete(table.store.paths.data_file("", 0, old.file))
    with pytest.raises(CorruptionError, match="not a file of its bucket"):
        ids(table, options={"scan.snapshot-id": "4"})

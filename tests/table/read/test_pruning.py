"""What each stage of pruning drops, as the plan tells it, and that no row is lost by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format import Table
from table_format.formats.data_file_reader import DataFileReader
from table_format.formats.protocol import RowGroups
from table_format.kernels.predicate import matches
from table_format.metastore.scan.file_plan import PlanCounts
from table_format.model.data_file import DataFileMeta
from table_format.model.predicate import And, Compare, CompareOp, In, IsNull, Not, Or, Predicate
from table_format.table.system.read_optimized import ReadOptimizedTable
from tests.support.deletion_marks import MERGE_ON_WRITE, lifted, live_data_files, mark_deleted, with_options
from tests.support.matrix import tries
from tests.support.tables import Warehouse, keyed, memory_warehouse, rows_of


@pytest.fixture
def warehouse() -> Warehouse:
    return memory_warehouse()


def line_of(table: Table, stage: str, condition: str) -> str:
    """What the plan of a scan says about one stage."""
    report = table.scan(filter=condition).plan().explain(row_groups=True)
    return next(line.strip() for line in report.splitlines() if line.strip().startswith(stage))


def same_rows(table: Table, condition: str) -> list[tuple[Any, ...]]:
    """The rows a filter selects while files are pruned; they must be those it selects of all rows."""
    pruned = table.scan(filter=condition)
    predicate = pruned.plan().predicate
    assert predicate is not None
    found = pruned.to_arrow()
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, unpruned(table, predicate)))
    return rows_of(table, filter=condition)


def unpruned(table: Table, predicate: Predicate) -> list[dict[str, Any]]:
    """The rows of a scan without filter that the predicate selects."""
    fields = table.schema.fields
    batches = table.scan().to_arrow().to_batches()
    return [row for batch in batches for row in batch.filter(matches(predicate, batch, fields)).to_pylist()]


# --- stage by stage --------------------------------------------------------------------------------------------------


def test_manifests_are_dropped_by_their_partitions(warehouse: Warehouse) -> None:
    table = warehouse.table(partition_keys=["dt"])
    for month in range(12):
        table.append(keyed([(month, f"2024-{month:02}", month)]))
    assert line_of(table, "manifests", "dt = '2024-05'") == (
        "manifests  12, dropped 11 by partition, bucket or level, kept 1"
    )
    assert same_rows(table, "dt = '2024-05'") == [(5, "2024-05", 5)]


def test_entries_are_dropped_by_their_partition(warehouse: Warehouse) -> None:
    table = warehouse.table(partition_keys=["dt"])
    table.append(keyed([(i, f"p{i % 4}", i) for i in range(40)]))
    assert line_of(table, "entries", "dt IN ('p1', 'p2')") == "entries    4, dropped 2 by partition, kept 2"
    assert len(same_rows(table, "dt IN ('p1', 'p2')")) == 20


def test_files_are_dropped_by_the_bucket_of_the_key(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "5"})
    table.append(keyed([(i, "a", i) for i in range(50)]))
    assert line_of(table, "files", "id = 7") == "files      5, dropped 4 by bucket, kept 1"
    assert same_rows(table, "id = 7") == [(7, "a", 7)]


def test_files_are_dropped_by_the_statistics_of_their_keys(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1", "write-only": "true"})
    for start in range(0, 100, 10):
        table.append(keyed([(i, "a", i) for i in range(start, start + 10)]))
    assert line_of(table, "files", "id > 12 AND id < 38") == "files      10, dropped 7 by key statistics, kept 3"
    assert len(same_rows(table, "id > 12 AND id < 38")) == 25


def test_files_are_dropped_by_the_statistics_of_their_values(warehouse: Warehouse) -> None:
    table = warehouse.table()
    for start in range(0, 1000, 10):
        table.append(keyed([(i, f"x{i:04}", i) for i in range(start, start + 10)]))
    assert line_of(table, "files", "v = 512") == "files      100, dropped 99 by value statistics, kept 1"
    assert same_rows(table, "v = 512") == [(512, "x0512", 512)]


def test_entries_are_dropped_by_their_level(warehouse: Warehouse) -> None:
    table = merge_on_write_table(warehouse, [[1, 2], [3, 4]], levels=[5, 0])
    assert line_of(table, "manifests", "id > 0") == "manifests  3, dropped 2 by partition, bucket or level, kept 1"
    assert line_of(table, "entries", "id > 0") == "entries    2, dropped 1 by level, kept 1"
    assert same_rows(table, "id > 0") == [(1, "a", 1), (2, "a", 2)]


def a_file_of_several_row_groups(warehouse: Warehouse, rows: int = 40_000, **options: Any) -> Table:
    table = warehouse.table(**options)
    table.append(keyed([(i, f"{i:032}", i) for i in range(rows)]))
    return table


def test_row_groups_are_dropped_by_the_statistics_of_the_footer(warehouse: Warehouse) -> None:
    table = a_file_of_several_row_groups(warehouse, options={"file.block-size": "2 kb"})
    plan = table.scan(filter="v >= 20000 AND v < 20010").plan()
    counts = plan.row_groups()
    assert plan.file_count == 1
    assert counts.row_groups > 3
    assert counts.row_groups_kept == 1
    assert counts.rows == 40_000
    assert 10 <= counts.rows_kept < 20_000
    assert plan.explain(row_groups=True).splitlines()[-1] == (
        f"  row groups {counts.row_groups}, dropped {counts.row_groups - 1} by statistics, kept 1; "
        f"{counts.rows_kept} of 40000 stored rows are decoded"
    )
    assert "row groups" not in str(plan)
    assert len(same_rows(table, "v >= 20000 AND v < 20010")) == 10


def test_only_conditions_on_the_key_drop_row_groups_of_files_to_be_merged(warehouse: Warehouse) -> None:
    options = {"bucket": "1", "write-only": "true", "file.block-size": "2 kb"}
    table = a_file_of_several_row_groups(warehouse, 9000, primary_keys=["id"], options=options)
    table.append(keyed([(i, "newer", -i) for i in range(0, 9000, 7)]))

    def counts(condition: str) -> tuple[int, int]:
        found = table.scan(filter=condition).plan().row_groups()
        return found.row_groups, found.row_groups_kept

    groups, kept = counts("id < 10")
    assert kept < groups
    assert counts("v < 10") == (groups, groups)
    assert len(same_rows(table, "v = 14")) == 0
    assert same_rows(table, "id = 14") == [(14, "newer", -14)]
    table.compact(full=True)
    groups, kept = counts("v > 8000")
    assert kept < groups
    assert len(same_rows(table, "v > 8000")) == len([i for i in range(8001, 9000) if i % 7])


def test_a_plan_without_filter_keeps_all_row_groups(warehouse: Warehouse) -> None:
    table = a_file_of_several_row_groups(warehouse, options={"file.block-size": "2 kb"})
    counts = table.scan().plan().row_groups()
    assert counts.row_groups_kept == counts.row_groups
    assert counts.rows_kept == counts.rows == 40_000


@pytest.mark.parametrize(
    ("span", "mode", "skips"),
    [("0,1", "delta", True), ("1,2", "changelog", True), ("1,2", "diff", False)],
)
def test_the_row_groups_of_changes_are_those_that_the_read_keeps(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, span: str, mode: str, skips: bool
) -> None:
    options = {"bucket": "1", "changelog-producer": "input", "write-only": "true", "file.block-size": "2 kb"}
    table = a_file_of_several_row_groups(warehouse, 9000, primary_keys=["id"], options=options)
    table.append(keyed([(i, f"{i:032}", -i) for i in range(9000)]))
    span_options = {"incremental-between": span, "incremental-between-scan-mode": mode}
    scan = table.scan(filter="v > 8900 OR v < -8900", options=span_options)
    read: dict[str, RowGroups] = {}
    plain = DataFileReader.read

    def noted(reader: DataFileReader, partition: bytes, bucket: int, file: DataFileMeta, *args: Any, **named: Any):
        read[file.file_name] = reader.row_groups(partition, bucket, file, named["predicate"])
        return plain(reader, partition, bucket, file, *args, **named)

    counts = scan.plan().row_groups()
    monkeypatch.setattr(DataFileReader, "read", noted)
    scan.to_arrow()
    assert counts.row_groups == sum(found.count for found in read.values())
    assert counts.row_groups_kept == sum(len(found.kept) for found in read.values())
    assert (counts.row_groups_kept < counts.row_groups) == skips


def test_a_plan_without_snapshot_has_nothing_to_explain(warehouse: Warehouse) -> None:
    assert warehouse.table().scan().plan().explain(row_groups=True) == "scan of db.t: no snapshot, no rows"


# --- how many splits there are ---------------------------------------------------------------------------------------

SMALL_SPLITS = {"source.split.target-size": "1 b", "source.split.open-file-cost": "1 b"}


def test_files_to_be_merged_make_one_split_for_each_bucket_at_most(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "8", "write-only": "true"})
    for start in (0, 50, 20):
        table.append(keyed([(i, "a", start) for i in range(start, start + 100)]))
    plan = table.scan(options=SMALL_SPLITS).plan()
    assert len(plan) == 8
    assert not any(split.raw_convertible for split in plan)


def test_compacted_files_of_one_bucket_are_pruned_and_read_apart_from_each_other(warehouse: Warehouse) -> None:
    table = warehouse.table(primary_keys=["id"], options={"bucket": "1", "write-only": "true"})
    for shift in (0, 1):
        table.append(keyed([(i, f"{i:040}", i + shift) for i in range(30_000)]))
    assert len(table.scan(options=SMALL_SPLITS).plan()) == 1
    assert table.scan(filter="v = 29000").plan().file_count == 2
    table.copy({"target-file-size": "1 b"}).compact(full=True)
    files = table.scan().plan().file_count
    assert files > 2
    for view in (table, ReadOptimizedTable(table)):
        assert len(view.scan(options=SMALL_SPLITS).plan()) == files
        plan = view.scan(filter="v = 29000").plan()
        assert (plan.file_count, plan.counts.files_dropped_by_value_stats) == (1, files - 1)
    assert same_rows(table, "v = 29000") == [(28_999, f"{28_999:040}", 29_000)]


# --- no row is lost --------------------------------------------------------------------------------------------------


def merge_on_write_table(warehouse: Warehouse, keys: Sequence[Sequence[int]], levels: Sequence[int]) -> Table:
    """A primary-key table with deletion vectors: each list of keys one file, on its level; older ones are marked."""
    created = warehouse.table(primary_keys=["id"], options={"bucket": "1", "write-only": "true"})
    newest: dict[int, int] = {}
    for number, wanted in enumerate(keys):
        created.append(keyed([(k, "a", k + 100 * number) for k in sorted(set(wanted))]))
        newest |= dict.fromkeys(wanted, number)
    files = live_data_files(created)
    lifted(created, {file.file_name: level for file, level in zip(files, levels, strict=True) if level})
    marks: dict[str, list[int]] = {}
    for number, (file, wanted) in enumerate(zip(files, keys, strict=True)):
        overtaken = [i for i, k in enumerate(sorted(set(wanted))) if newest[k] != number and levels[newest[k]] > 0]
        if overtaken:
            marks[file.file_name] = overtaken
    table = with_options(created, MERGE_ON_WRITE)
    if marks:
        mark_deleted(table, marks)
    return table


def append_table(warehouse: Warehouse, keys: Sequence[Sequence[int]]) -> Table:
    table = warehouse.table(options={"file.block-size": "1 kb"})
    for number, wanted in enumerate(keys):
        table.append(keyed([(k, "abc"[k % 3], None if k % 5 == 0 else k + 100 * number) for k in wanted]))
    first, *_ = live_data_files(table)
    mark_deleted(table, {first.file_name: list(range(0, first.row_count, 2))})
    return table


def partitioned_table(warehouse: Warehouse, keys: Sequence[Sequence[int]]) -> Table:
    table = warehouse.table(
        primary_keys=["id", "dt"], partition_keys=["dt"], options={"bucket": "2", "write-only": "true"}
    )
    for number, wanted in enumerate(keys):
        table.append(keyed([(k, "abc"[k % 3], None if k % 5 == 0 else k + 100 * number) for k in wanted]))
        if number == 1:
            table.copy({"write-only": "false"}).compact(full=True)
    return table


def settled_table(warehouse: Warehouse, keys: Sequence[Sequence[int]]) -> Table:
    return merge_on_write_table(warehouse, keys, levels=[5, 4, 3, 0][: len(keys)])


def dynamic_table(warehouse: Warehouse, keys: Sequence[Sequence[int]]) -> Table:
    """Dynamic buckets of few keys, with file indexes in place of statistics."""
    indexes = {"file-index.bloom-filter.columns": "id,v", "metadata.stats-mode": "none"}
    buckets = {"bucket": "-1", "dynamic-bucket.target-row-num": "10", "write-only": "true"}
    table = warehouse.table(primary_keys=["id"], options={**buckets, **indexes})
    for number, wanted in enumerate(keys):
        table.append(keyed([(k, "abc"[k % 3], None if k % 5 == 0 else k + 100 * number) for k in wanted]))
    return table


CONDITIONS = st.recursive(
    st.one_of(
        st.builds(
            Compare,
            st.just("id"),
            st.sampled_from(CompareOp).filter(lambda op: op.value in "=<>=!="),
            st.integers(0, 60),
        ),
        st.builds(
            Compare,
            st.just("v"),
            st.sampled_from(CompareOp).filter(lambda op: op.value in "=<>=!="),
            st.integers(0, 400),
        ),
        st.builds(
            Compare, st.just("dt"), st.sampled_from([CompareOp.EQ, CompareOp.NE, CompareOp.LE]), st.sampled_from("abc")
        ),
        st.builds(In, st.just("id"), st.lists(st.integers(0, 60), min_size=1, max_size=4).map(tuple)),
        st.builds(IsNull, st.sampled_from(["v", "dt"])),
    ),
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: And(tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Or(tuple(parts))),
    ),
    max_leaves=4,
)
KEYS = st.lists(st.lists(st.integers(0, 60), min_size=1, max_size=25, unique=True), min_size=2, max_size=4)


@pytest.mark.parametrize(
    "make", [append_table, partitioned_table, settled_table, dynamic_table], ids=lambda make: make.__name__
)
def test_the_rows_with_and_without_pruning_are_the_same(make: Callable[[Warehouse, Any], Table]) -> None:
    dropped = 0

    @settings(max_examples=tries(6, many=15), deadline=None, derandomize=True)
    @given(keys=KEYS, conditions=st.lists(CONDITIONS, min_size=4, max_size=8))
    def holds(keys: list[list[int]], conditions: list[Predicate]) -> None:
        nonlocal dropped
        table = make(memory_warehouse(), keys)
        for condition in conditions:
            scan = table.scan(filter=condition)
            dropped += dropped_by(scan.plan().counts)
            assert sorted(map(repr, scan.to_arrow().to_pylist())) == sorted(map(repr, unpruned(table, condition)))

    holds()
    assert dropped > 20


def dropped_by(counts: PlanCounts) -> int:
    return (
        counts.entries_dropped_by_partition
        + counts.files_dropped_by_bucket
        + counts.files_dropped_by_key_stats
        + counts.files_dropped_by_value_stats
        + counts.files_dropped_by_index
    )

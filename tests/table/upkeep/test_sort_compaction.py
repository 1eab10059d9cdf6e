"""Rows put in order by columns: nothing is lost, files cover small ranges, and who writes meanwhile is heard.

Mission row M103: ``compact`` with order by c, and the ranges of c in ``$files`` do not overlap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_format import Table
from table_format.append import sort as append_sort
from table_format.errors import (
    ColumnNotFound,
    FileConflict,
    HashIndexChanged,
    InvalidInputError,
    MissingFile,
    UnsupportedFeature,
)
from table_format.kernels.hashing import row_hashes
from table_format.lsm import sort as lsm_sort
from table_format.model.snapshot import CommitKind
from table_format.model.types import BigIntType
from table_format.table.upkeep import sort_compact
from tests.support.deletion_marks import live, live_data_files
from tests.support.dynamic_buckets import assert_sound
from tests.support.matrix import tries
from tests.support.tables import Warehouse, memory_warehouse

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("c", pa.int64()),
        ("d", pa.float64()),
        ("s", pa.string()),
        pa.field("dt", pa.string(), nullable=False),
    ]
)
SMALL_FILES = {"bucket": "-1", "target-file-size": "8 kb"}
DYNAMIC = {"bucket": "-1", "dynamic-bucket.target-row-num": "100"}
MARKS = {"deletion-vectors.enabled": "true"}
STRATEGIES = ["order", "zorder", "hilbert"]


def rows(ids: Sequence[int], seed: int = 0) -> pa.Table:
    """Rows with random values."""
    chance = np.random.default_rng(seed)
    count = len(ids)
    columns = [
        pa.array(ids, pa.int64()),
        pa.array(chance.integers(-5000, 5000, count)),
        pa.array(chance.normal(0, 1e6, count)),
        pa.array([f"user-{n:05}" for n in chance.integers(0, 10_000, count)]),
        pa.array(["ab"[i % 2] for i in ids]),
    ]
    return pa.table(columns, schema=SCHEMA)


def append_table(count: int = 20_000, options: dict[str, str] | None = None, **arguments: Any) -> Table:
    table = memory_warehouse().table(schema=SCHEMA, options={**SMALL_FILES, **(options or {})}, **arguments)
    for start in range(0, count, max(count // 2, 1)):
        table.append(rows(range(start, start + count // 2), seed=start))
    return table


def keyed_table(count: int = 1000, options: dict[str, str] | None = None, **arguments: Any) -> Table:
    keys = ["dt", "id"] if arguments.get("partition_keys") else ["id"]
    options = {**DYNAMIC, **(options or {})}
    table = memory_warehouse().table(schema=SCHEMA, primary_keys=keys, options=options, **arguments)
    table.append(rows(range(count)))
    return table


def content(table: Table) -> list[str]:
    return sorted(map(repr, table.scan().to_arrow().to_pylist()))


def ranges(warehouse: Warehouse, column: str) -> dict[tuple[str, int, str], tuple[int, int]]:
    """The range of a column in each file, as ``$files`` tells it."""
    found = {}
    for file in warehouse.catalog.load_table("db.t$files").scan().to_arrow().to_pylist():
        low, high = (value_of(file[f"{end}_value_stats"], column) for end in ("min", "max"))
        found[file["partition"], file["bucket"], file["file_path"]] = (int(low), int(high))
    return found


def value_of(stats: str, column: str) -> str:
    return dict(pair.split("=", 1) for pair in stats.strip("{}").split(", "))[column]


def files_read(table: Table, where: str) -> tuple[int, int]:
    """Files that a filter leaves, and files there are."""
    plan = table.scan(filter=where).plan()
    return sum(len(split.files) for split in plan.splits), len(live_data_files(table))


# --- order and skipping -----------------------------------------------------------------------------------------------


def test_ordered_by_a_column_the_files_of_an_append_table_do_not_overlap() -> None:
    warehouse = memory_warehouse()
    table = warehouse.table(schema=SCHEMA, options=SMALL_FILES)
    table.append(rows(range(20_000)))
    (snapshot,) = table.compact(order_by=["c"])
    assert snapshot.commit_kind is CommitKind.COMPACT
    assert (snapshot.total_record_count, snapshot.delta_record_count) == (20_000, 0)
    found = sorted(ranges(warehouse, "c").values())
    assert len(found) > 5
    assert all(left[1] <= right[0] for left, right in pairwise(found))
    values = table.scan(columns=["c"]).to_arrow().column("c").to_pylist()
    assert values == sorted(values)


def test_ordered_by_a_column_the_dynamic_buckets_do_not_overlap() -> None:
    warehouse = memory_warehouse()
    table = warehouse.table(schema=SCHEMA, primary_keys=["id"], options=DYNAMIC)
    table.append(rows(range(1000)))
    before = content(table)
    snapshots = table.compact(order_by=["c"])
    assert {s.commit_kind for s in snapshots} == {CommitKind.COMPACT}
    found = sorted(ranges(warehouse, "c").values())
    assert len(found) == 10
    assert all(left[1] <= right[0] for left, right in pairwise(found))
    assert content(table) == before
    assert_sound(table, exact=True)
    kept, there = files_read(table, "c > 4000")
    assert there == 10
    assert kept <= 2


@pytest.mark.parametrize("strategy", ["zorder", "hilbert"])
@pytest.mark.parametrize("columns", [["c", "d"], ["d", "s"], ["c", "s"]])
def test_on_a_curve_a_filter_on_any_of_the_columns_skips_files(strategy: str, columns: list[str]) -> None:
    filters = {"c": "c < -4000", "d": "d < -1500000", "s": "s < 'user-01000'"}
    table = append_table()
    assert all(files_read(table, filters[name])[0] == len(live_data_files(table)) for name in columns)
    table.compact(order_by=columns, order_strategy=strategy)
    for name in columns:
        kept, there = files_read(table, filters[name])
        assert there > 8
        assert kept <= there / 2, f"{filters[name]} reads {kept} of {there} files"
        assert "by value statistics" in str(table.scan(filter=filters[name]).plan())


def test_the_order_of_columns_counts_for_order_only() -> None:
    table = append_table()
    table.compact(order_by=["c", "d"], order_strategy="order")
    assert files_read(table, "c < -4000")[0] < files_read(table, "d < -1500000")[0]


def test_each_partition_is_put_in_order_by_itself_and_only_those_asked_for() -> None:
    table = append_table(partition_keys=["dt"])
    before, content_before = {f.file_name for f in live_data_files(table)}, content(table)
    table.compact(order_by=["c"], partitions=[{"dt": "a"}])
    assert content(table) == content_before
    for entry in live(table):
        is_a = table.facts.partitions.text(entry.partition) == "dt=a"
        assert (entry.file.file_name in before) == (not is_a)
    found = table.scan(columns=["c"], filter="dt = 'a'").to_arrow().column("c").to_pylist()
    assert found == sorted(found)


def test_rows_that_do_not_fit_in_memory_wait_in_the_given_directory(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    original = append_sort.ExternalSort.sorted

    def noting(self: append_sort.ExternalSort) -> Any:
        seen.append(len(list(tmp_path.iterdir())))
        return original(self)

    monkeypatch.setattr(append_sort.ExternalSort, "sorted", noting)
    table = append_table(4000, options={"write-buffer-size": "100 kb"})
    before = content(table)
    table.compact(order_by=["s", "c"], temporary_directory=str(tmp_path))
    assert seen == [1]
    assert list(tmp_path.iterdir()) == []
    assert content(table) == before


# --- the law ----------------------------------------------------------------------------------------------------------

VALUES = st.tuples(
    st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3),
    st.none() | st.floats() | st.sampled_from([math.nan, -0.0, 0.0, math.inf]),
    st.none() | st.text(max_size=4),
)


@settings(max_examples=tries(14, many=25), deadline=None, derandomize=True)
@given(
    batches=st.lists(st.lists(VALUES, min_size=1, max_size=12), min_size=1, max_size=4),
    strategy=st.sampled_from(STRATEGIES),
    order_by=st.permutations(["c", "d", "s"]).flatmap(lambda names: st.integers(2, 3).map(lambda n: names[:n])),
    deleted=st.sets(st.integers(0, 47)),
    buffer=st.sampled_from([{"write-buffer-size": "400 b", "page-size": "128 b"}, {}]),
    kind=st.sampled_from(["append", "marked", "keyed", "merged on write"]),
    partitioned=st.booleans(),
)
def test_the_rows_before_are_the_rows_after(
    batches: list[list[tuple[Any, ...]]],
    strategy: str,
    order_by: list[str],
    deleted: set[int],
    buffer: dict[str, str],
    kind: str,
    partitioned: bool,
) -> None:
    marks = MARKS if kind in ("marked", "merged on write") else {}
    is_keyed = kind in ("keyed", "merged on write")
    dynamic = {"bucket": "-1", "dynamic-bucket.target-row-num": "5"} if is_keyed else {"bucket": "-1"}
    options = {**dynamic, **marks, **buffer}
    table = memory_warehouse().table(
        schema=SCHEMA,
        primary_keys=["dt", "id"] if is_keyed else [],
        partition_keys=["dt"] if partitioned else [],
        options=options,
    )
    start = 0
    for batch in batches:
        # Half of the keys of a batch have been there before.
        first = start // 2 if is_keyed else start
        added = [(first + n, *values, "ab"[(first + n) % 2]) for n, values in enumerate(batch)]
        table.append(pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in added], schema=SCHEMA))
        start += len(batch)
    table.delete(f"id IN ({', '.join(map(str, deleted)) or -1})")
    before = content(table)
    table.compact(order_by=order_by, order_strategy=strategy)
    assert content(table) == before
    assert sum(f.row_count for f in live_data_files(table)) == len(before)
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert snapshot.total_record_count == len(before)
    if is_keyed:
        assert_sound(table, exact=True)
    else:
        assert snapshot.index_manifest is None


# --- tables with keys -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        MARKS,
        {"merge-engine": "first-row"},
        {"merge-engine": "aggregation", "fields.c.aggregate-function": "sum"},
        {"merge-engine": "partial-update"},
        {"changelog-producer": "lookup"},
        {"changelog-producer": "full-compaction"},
    ],
    ids=str,
)
def test_keys_are_found_again_in_their_new_buckets(options: dict[str, str]) -> None:
    plain, sorted_table = (keyed_table(300, options) for _ in range(2))
    sorted_table.compact(order_by=["c"])
    for table in (plain, sorted_table):
        table.append(rows(range(150, 350), seed=7))
        table.compact(full=True)
    assert content(plain) == content(sorted_table)
    assert_sound(sorted_table)
    sorted_table.compact(order_by=["c", "d"], order_strategy="zorder")
    assert content(plain) == content(sorted_table)
    assert_sound(sorted_table)


def colliding_keys() -> list[int]:
    """Pairs of keys with one hash."""
    keys = np.unique(np.random.default_rng(1).integers(0, 2**60, 200_000))
    hashes = row_hashes([BigIntType()], [pa.array(keys)])
    order = np.argsort(hashes, kind="stable")
    same = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
    return [int(keys[order[i]]) for at in same[:4] for i in (at, at + 1)]


@pytest.mark.parametrize("limit", ["-1", "1", "2"])
def test_keys_with_one_hash_share_a_bucket(limit: str) -> None:
    pairs = colliding_keys()
    assert len(pairs) >= 4
    table = keyed_table(0, {"dynamic-bucket.target-row-num": "5", "dynamic-bucket.max-buckets": limit})
    keys = sorted({*range(20), *pairs})
    table.append(rows(keys))
    table.compact(order_by=["c"])
    assert_sound(table, exact=True)
    table.append(rows(keys, seed=3))
    assert_sound(table)
    assert content(table) == sorted(map(repr, rows(keys, seed=3).to_pylist()))


# --- others write meanwhile -------------------------------------------------------------------------------------------


def meanwhile(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, act: Callable[[], object]) -> None:
    """Do something after rows were sorted and before that is committed."""
    original = getattr(module, name)

    def then_act(*arguments: Any, **named: Any) -> Any:
        found = original(*arguments, **named)
        monkeypatch.undo()
        act()
        return found

    monkeypatch.setattr(module, name, then_act)


def test_rows_appended_meanwhile_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    table = append_table(100)
    meanwhile(monkeypatch, append_sort, "replacement", lambda: table.append(rows(range(100, 110))))
    table.compact(order_by=["c"])
    assert sorted(row["id"] for row in table.scan().to_arrow().to_pylist()) == list(range(110))


@pytest.mark.parametrize("options", [{}, MARKS], ids=str)
def test_rows_deleted_meanwhile_stay_deleted(monkeypatch: pytest.MonkeyPatch, options: dict[str, str]) -> None:
    table = append_table(100, options)
    meanwhile(monkeypatch, append_sort, "replacement", lambda: table.delete("id = 5"))
    with pytest.raises(FileConflict):
        table.compact(order_by=["c"])
    expected = [i for i in range(100) if i != 5]
    assert sorted(row["id"] for row in table.scan().to_arrow().to_pylist()) == expected
    table.compact(order_by=["c"])
    assert sorted(row["id"] for row in table.scan().to_arrow().to_pylist()) == expected


@pytest.mark.parametrize("ids", [range(3), range(2000, 2003)], ids=["known keys", "new keys"])
def test_any_write_to_a_partition_with_dynamic_buckets_is_a_conflict(
    monkeypatch: pytest.MonkeyPatch, ids: range
) -> None:
    table = keyed_table(options={"write-only": "true"})
    original = lsm_sort.sort_buckets

    def then_write(*arguments: Any, **named: Any) -> Any:
        yield from original(*arguments, **named)
        table.append(rows(ids, seed=9))

    monkeypatch.setattr(sort_compact, "sort_buckets", then_write)
    with pytest.raises(FileConflict, match="whose rows were to change their buckets"):
        table.compact(order_by=["c"])
    monkeypatch.undo()
    assert_sound(table)
    table.compact(order_by=["c"])
    assert len(content(table)) == len({*range(1000), *ids})
    assert_sound(table)


def test_a_writer_that_knew_the_old_buckets_gives_its_rows_new_ones() -> None:
    table = keyed_table()
    write = table.new_write()
    messages = write.write(rows(range(990, 1010), seed=5))
    table.compact(order_by=["c"])
    commit = table.new_commit()
    with pytest.raises(HashIndexChanged):
        commit.commit(messages)
    commit.abort(messages)
    table.append(rows(range(990, 1010), seed=5))
    assert len(content(table)) == 1010
    assert_sound(table)


@pytest.mark.parametrize("make", [append_table, keyed_table])
def test_a_sort_that_fails_leaves_no_file_behind(make: Callable[..., Table]) -> None:
    table = make(100)
    table.compact(full=True)
    lost = live(table)[-1]
    path = table.store.paths.data_file(table.facts.partitions.text(lost.partition), lost.bucket, lost.file)
    table.store.io.delete(path)
    files = Warehouse(None, table.store.io).files(table)  # type: ignore[arg-type]
    with pytest.raises(MissingFile):
        table.compact(order_by=["c"])
    assert Warehouse(None, table.store.io).files(table) == files  # type: ignore[arg-type]


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"order_by": ["x"]}, ColumnNotFound, "x"),
        ({"order_by": []}, InvalidInputError, "given: none"),
        ({"order_by": ["c", "c"]}, InvalidInputError, "each once"),
        ({"order_by": ["c"], "order_strategy": "random"}, InvalidInputError, "strategies are order, zorder, hilbert"),
        ({"order_by": ["c"], "order_strategy": "hilbert"}, InvalidInputError, "at least two columns"),
        ({"order_by": ["dt"]}, InvalidInputError, "partition column"),
        ({"order_by": ["l"]}, InvalidInputError, "no order"),
        ({"order_strategy": "zorder"}, InvalidInputError, "require order_by"),
    ],
)
def test_what_cannot_be_ordered_by_is_named(arguments: dict[str, Any], error: type[Exception], text: str) -> None:
    schema = SCHEMA.append(pa.field("l", pa.list_(pa.int32())))
    table = memory_warehouse().table(schema=schema, partition_keys=["dt"])
    with pytest.raises(error, match=text):
        table.compact(**arguments)


@pytest.mark.parametrize("primary_keys", [[], ["id"]])
def test_tables_with_fixed_buckets_are_refused(primary_keys: list[str]) -> None:
    options = {"bucket": "2", **({} if primary_keys else {"bucket-key": "id"})}
    table = memory_warehouse().table(schema=SCHEMA, primary_keys=primary_keys, options=options)
    with pytest.raises(UnsupportedFeature, match="'bucket' = 2"):
        table.compact(order_by=["c"])


def test_tables_whose_keys_move_are_refused() -> None:
    table = memory_warehouse().table(schema=SCHEMA, primary_keys=["id"], partition_keys=["dt"], options=DYNAMIC)
    with pytest.raises(UnsupportedFeature, match="the primary key id without all partition columns"):
        table.compact(order_by=["c"])


def test_a_table_without_rows_has_nothing_to_sort() -> None:
    assert append_table(0).compact(order_by=["c"]) == ()
    assert memory_warehouse().table(schema=SCHEMA, primary_keys=["id"], options=DYNAMIC).compact(order_by=["c"]) == ()

from __future__ import annotations

from dataclasses import replace

import pytest

from table_format.codecs.binary_row import serialize_row
from table_format.errors import BadEncoding, MissingFile, Truncated
from table_format.metastore.manifest.manifest_store import NewFiles, manifest_file_meta
from table_format.metastore.manifest.partitions import partition_stats
from table_format.metastore.scan.file_filter import FileFilter
from table_format.metastore.scan.file_plan import by_bucket, live_files
from table_format.metastore.schema.schema_changes import apply_changes
from table_format.model.data_file import SimpleStats
from table_format.model.predicate import And, Compare, CompareOp, In, IsNull, Not, Or
from table_format.model.schema_change import AddColumn, AlterColumnType, RenameColumn
from table_format.model.types import BigIntType, DoubleType, IntType, VarCharType
from table_format.options.table_options import TableOptions
from table_format.pruning.pruning import Pruning
from table_format.pruning.read_kind import ReadKind
from tests.support.metastore_table import a_table, committable

NO_FILTER = Pruning(schema=a_table().schema, predicate=None, kind=ReadKind.MERGE_ON_READ)
EQ, LT, GE = CompareOp.EQ, CompareOp.LT, CompareOp.GE


def plan(table, wanted=None, schema=None, pruning=None):
    schema = schema or table.schema
    found = live_files(
        table.manifests,
        table.snapshots.latest(),
        schema=schema,
        schemas={0: table.schema, schema.id: schema},
        filter=wanted or FileFilter(),
        pruning=pruning,
    )
    return [e.file.file_name for e in found.entries], found.counts


def pruned(table, predicate, schema=None, kind=None):
    """The plan of a scan with a filter on rows."""
    schema = schema or table.schema
    options = TableOptions.parse(schema.options)
    kind = kind or ReadKind.of_state(schema, options)
    return plan(table, schema=schema, pruning=Pruning.of(kind, schema, options, predicate))


def days_table(**arguments):
    table = a_table(partition_keys=("dt",), **arguments)
    for day in ("a", "b", "c"):
        table.append(table.file(name=f"{day}.parquet"), partition=table.partition(day))
    return table


@pytest.mark.parametrize(
    ("predicate", "names", "manifests_dropped"),
    [
        (Compare("dt", EQ, "b"), ["b.parquet"], 2),
        (Compare("dt", GE, "b"), ["b.parquet", "c.parquet"], 1),
        (In("dt", ("a", "c")), ["a.parquet", "c.parquet"], 1),
        (Not(Compare("dt", EQ, "b")), ["a.parquet", "c.parquet"], 1),
        (Or((Compare("dt", LT, "b"), Compare("dt", EQ, "z"))), ["a.parquet"], 2),
        (IsNull("dt"), [], 3),
        (Compare("dt", EQ, "z"), [], 3),
    ],
)
def test_partitions_are_chosen_by_manifest_ranges_and_then_by_value(predicate, names, manifests_dropped):
    found, counts = plan(days_table(), FileFilter(partition_predicate=predicate))
    assert found == names
    assert (counts.manifests, counts.manifests_dropped, counts.files) == (3, manifests_dropped, len(names))


def test_partitions_in_one_manifest_are_tested_one_by_one():
    table = a_table(partition_keys=("dt",))
    messages = [
        table.message(table.partition(d), new_files=(table.file(name=f"{d}.parquet"),)) for d in ("a", "b", "c", "d")
    ]
    table.committer().commit(committable(1, *messages))
    found, counts = plan(table, FileFilter(partition_predicate=In("dt", ("a", "d"))))
    assert found == ["a.parquet", "d.parquet"]
    assert (counts.manifests_dropped, counts.entries_read, counts.entries_dropped_by_partition) == (0, 4, 2)
    found, _ = plan(table, FileFilter(partitions=frozenset({table.partition("c"), table.partition("x")})))
    assert found == ["c.parquet"]


def test_buckets_and_levels_are_chosen():
    table = a_table(primary_keys=("k",), options={"bucket": "4"})
    messages = [table.message(bucket=b, new_files=(table.file(b, name=f"b{b}", level=b),)) for b in (0, 1, 3)]
    table.committer().commit(committable(1, *messages))
    assert plan(table, FileFilter(buckets=frozenset({1, 2})))[0] == ["b1"]
    assert plan(table, FileFilter(levels=frozenset({0, 3})))[0] == ["b0", "b3"]
    assert plan(table, FileFilter(buckets=frozenset({2})))[1].entries_dropped_by_bucket == 3
    hashed = replace(NO_FILTER, schema=table.schema, bucket_hashes=frozenset({-7}))
    found, counts = plan(table, pruning=hashed)
    assert (found, counts.files_dropped_by_bucket) == (["b3"], 2)


def test_a_removed_file_stays_removed_under_every_filter():
    table = a_table(primary_keys=("k",))
    old, new = table.file(1, 5, name="old"), table.file(1, 5, name="new", level=1)
    table.append(old)
    table.committer().commit(committable(2, table.message(compact_before=(old,), compact_after=(new,))))
    for wanted in (FileFilter(), FileFilter(buckets=frozenset({0})), FileFilter(levels=frozenset({0}))):
        assert "old" not in plan(table, wanted)[0]
    assert "old" not in plan(table, pruning=replace(NO_FILTER, schema=table.schema, bucket_hashes=frozenset({5})))[0]
    assert "old" not in pruned(table, Compare("k", EQ, 3))[0]


def test_keys_are_pruned_file_by_file():
    table = a_table(primary_keys=("k",))
    table.append(table.file(1, 5, name="low"), table.file(4, 9, name="high"), table.file(20, name="far"))
    found, counts = pruned(table, Compare("k", LT, 4), kind=ReadKind.DIFFERENCE)
    assert (found, counts.files_dropped_by_key_stats) == (["low"], 2)
    assert pruned(table, Compare("k", EQ, 5), kind=ReadKind.DIFFERENCE)[0] == ["low", "high"]


def test_values_of_an_append_table_are_pruned_file_by_file():
    table = a_table()
    table.append(table.file(1, 5, name="low"), table.file(4, 9, name="high"))
    found, counts = pruned(table, And((Compare("k", LT, 3), Compare("v", GE, "a"))))
    assert (found, counts.files_dropped_by_value_stats) == (["low"], 1)


def with_value(table, file, low, high):
    types = (IntType(), VarCharType(), VarCharType())
    first, last = file.value_stats.min_values, file.value_stats.max_values
    assert first
    assert last
    stats = SimpleStats(serialize_row(types, (0, "", low)), serialize_row(types, (99, "~", high)), (0, 0, 0))
    return replace(file, value_stats=stats)


@pytest.mark.parametrize(
    ("second", "engine", "names"),
    [
        # Keys apart: each file on its own.
        ((6, 9), "deduplicate", ["new"]),
        # Keys overlap: the older file must not come without the newer, nor be dropped alone.
        ((3, 9), "deduplicate", ["old", "new"]),
        ((3, 9), "aggregation", ["old", "new"]),
    ],
)
def test_values_of_overlapping_files_decide_for_the_bucket(second, engine, names):
    table = a_table(primary_keys=("k",), options={"merge-engine": engine})
    old = with_value(table, table.file(1, 5, name="old"), "a", "c")
    new = with_value(table, table.file(*second, name="new"), "x", "z")
    table.append(old, new)
    assert pruned(table, Compare("v", EQ, "y"))[0] == names


@pytest.mark.parametrize(("engine", "names"), [("deduplicate", []), ("aggregation", ["old", "new"])])
def test_a_merge_that_computes_values_has_no_bounds(engine, names):
    table = a_table(primary_keys=("k",), options={"merge-engine": engine})
    table.append(table.file(1, 5, name="old"), table.file(3, 9, name="new"))
    assert pruned(table, Compare("v", EQ, "zzz"))[0] == names


def test_bounds_follow_columns_through_schema_changes():
    table = a_table()
    table.append(table.file(1, 5, name="f"))
    schema = apply_changes(
        table.schema,
        [
            AlterColumnType("k", BigIntType()),
            RenameColumn("k", "key"),
            AddColumn("n", IntType()),
            AddColumn("k", IntType()),
        ],
    )

    def is_dropped(predicate):
        return pruned(table, predicate, schema)[0] == []

    assert is_dropped(Compare("key", EQ, 7))
    assert not is_dropped(Compare("key", EQ, 3))
    assert is_dropped(Compare("n", EQ, 1))
    assert not is_dropped(IsNull("n"))
    # A new column under an old name is another column.
    assert is_dropped(Compare("k", EQ, 3))
    assert not is_dropped(IsNull("k"))


def test_a_cast_that_rounds_takes_the_bounds_away():
    table = a_table()
    table.append(table.file(1, 5, name="f"))
    widened = apply_changes(table.schema, [AlterColumnType("k", BigIntType()), AlterColumnType("k", DoubleType())])
    exact = apply_changes(table.schema, [AlterColumnType("k", DoubleType())])
    assert pruned(table, Compare("k", EQ, 7.0), exact)[0] == []
    bigint = replace(
        table,
        schema=replace(
            table.schema, fields=(replace(table.schema.fields[0], type=BigIntType()), *table.schema.fields[1:])
        ),
    )
    assert pruned(bigint, Compare("k", EQ, 7.0), widened)[0] == ["f"]


@pytest.mark.parametrize(
    ("columns", "values", "predicate", "kept"),
    [
        (("v",), ("m",), Compare("v", EQ, "m"), True),
        (("v",), ("m",), Compare("v", EQ, "n"), False),
        (("v",), ("m",), Compare("k", EQ, 999), True),
        ((), (), Compare("v", EQ, "n"), True),
    ],
)
def test_dense_statistics_cover_the_columns_they_list(columns, values, predicate, kept):
    table = a_table()
    row = serialize_row(tuple(VarCharType() for _ in columns), values)
    stats = SimpleStats(row, row, tuple(0 for _ in columns))
    table.append(replace(table.file(1, name="f"), value_stats=stats, value_stats_cols=columns))
    assert (pruned(table, predicate)[0] == ["f"]) is kept


def test_unknown_statistics_prune_nothing():
    table = a_table()
    types = (IntType(), VarCharType(), VarCharType())
    nothing = serialize_row(types, (None, None, None))
    table.append(replace(table.file(1, name="f"), value_stats=SimpleStats(nothing, nothing, (None, None, None))))
    for predicate in (Compare("k", EQ, 1), IsNull("v"), Compare("v", LT, "")):
        assert pruned(table, predicate)[0] == ["f"]


def test_entries_are_grouped_by_bucket():
    table = days_table()
    assert [(k[0], [e.file.file_name for e in v]) for k, v in by_bucket(table.live()).items()] == [
        (table.partition(d), [f"{d}.parquet"]) for d in ("a", "b", "c")
    ]


def test_a_table_without_snapshot_has_no_files():
    table = a_table()
    assert plan(table) == ([], live_files(table.manifests, None, schema=table.schema, schemas={}).counts)


# --- manifests ------------------------------------------------------------------------------------------------------


def test_statistics_of_partitions_cover_all_entries():
    types = (VarCharType(), IntType())
    rows = [serialize_row(types, values) for values in (("b", 1), ("a", None), ("b", 7), ("b", 1), ("ü", None))]
    stats = partition_stats(types, rows)
    assert stats.min_values == serialize_row(types, ("a", 1))
    assert stats.max_values == serialize_row(types, ("ü", 7))
    assert stats.null_counts == (0, 2)


def test_the_facts_of_a_manifest_are_those_of_its_entries():
    table = days_table()
    entries = table.live()
    meta = manifest_file_meta("m", 12, entries, types=table.partitions.types, schema_id=4)
    assert (meta.num_added_files, meta.num_deleted_files, meta.schema_id) == (3, 0, 4)
    assert (meta.min_bucket, meta.max_bucket, meta.min_level, meta.max_level) == (0, 0, 0, 0)


def test_large_manifests_are_rolled():
    table = a_table(options={"manifest.target-file-size": "1 kb"})
    message = table.message(new_files=tuple(table.file(i) for i in range(100)))
    (snapshot,) = table.committer().commit(committable(1, message))
    delta = table.manifests.delta_manifests(snapshot)
    assert len(delta) > 2
    assert sum(m.num_added_files for m in delta) == 100
    assert len(table.live()) == 100


def test_missing_truncated_and_foreign_manifests_are_corruption():
    table = a_table()
    snapshot = table.append(table.file(), table.file())
    (meta,) = table.manifests.delta_manifests(snapshot)
    path = table.store.paths.manifest(meta.file_name)
    data = table.store.io.read(path)
    table.store.io.overwrite(path, data[:-3])
    with pytest.raises(Truncated, match=f"expected {len(data)} bytes, found {len(data) - 3}"):
        table.live()
    other = table.append(table.file(), identifier=2)
    (small,) = table.manifests.delta_manifests(other)
    with pytest.raises(BadEncoding, match="expected 2 entries, found 1"):
        table.manifests.read(replace(meta, file_name=small.file_name, file_size=small.file_size))
    table.store.io.delete(path)
    with pytest.raises(MissingFile, match=meta.file_name):
        table.live()
    table.store.io.delete(table.store.paths.manifest(snapshot.delta_manifest_list))
    with pytest.raises(MissingFile, match=snapshot.delta_manifest_list):
        table.live(snapshot)


def test_manifests_that_contradict_each_other_are_corruption():
    table = a_table()
    snapshot = table.append(table.file(), identifier=1)
    manifests = table.manifests
    twice = manifests.write_list([*manifests.data_manifests(snapshot)] * 2, new=NewFiles())
    broken = replace(snapshot, base_manifest_list=twice.name, base_manifest_list_size=twice.size)
    with pytest.raises(BadEncoding, match=r"snapshot-1: the manifests of the snapshot contradict each other: file"):
        table.live(broken)


def test_manifests_are_read_only_once():
    table = a_table()
    for i in range(3):
        table.append(identifier=i)
    manifests, snapshot = table.manifests, table.snapshots.latest()
    live_files(manifests, snapshot, schema=table.schema, schemas={})
    table.io.calls.clear()
    live_files(manifests, snapshot, schema=table.schema, schemas={})
    assert table.io.calls == []

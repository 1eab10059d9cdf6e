"""Deletion vectors applied by Spark's reader: all readers return the same rows."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from table_format.codecs.deletion_vector import DeletionVector
from table_format.io.paths import without_scheme
from table_format.model.data_file import DataFileMeta
from table_format.model.schema_change import AddColumn, AlterColumnType, RenameColumn
from table_format.model.types import BigIntType, VarCharType
from table_format.spark.read import spark_parquet
from table_format.spark.read.deletion_vectors import (
    MAX_FILES_OF_SCAN,
    DeletionVectorBudget,
    FileWithDeletedRows,
    Places,
    places_for,
    scans_of,
    without_deleted_rows,
)
from table_format.spark.read.spark_parquet import divide
from table_format.table.table import Table
from tests.spark.lakes import TestLake, plan_of, rows_of
from tests.support.deletion_marks import live_data_files, mark_deleted

pytestmark = pytest.mark.spark

PARTS = ["plain", "a b", "50%", "50%25", "#1", "[x]{y}*?", "é/=&+"]
SCHEMA = pa.schema([("p", pa.string()), ("id", pa.int64()), ("v", pa.string()), ("n", pa.int32())])
MARKED = {"deletion-vectors.enabled": "true", "bucket": "-1"}


def rows(part: str, start: int, count: int) -> pa.Table:
    ids = range(start, start + count)
    values = [f"value {i * 7919 % 10007:05d}" for i in ids]
    return pa.table({"p": [part] * count, "id": ids, "v": values, "n": [i % 10 for i in ids]}, schema=SCHEMA)


def positions(chance: random.Random, file: DataFileMeta) -> list[int]:
    """Return positions of few rows, many, a range, all, or the last one."""
    count = file.row_count
    start = chance.randrange(count)
    return chance.choice(
        [
            sorted(chance.sample(range(count), 3)),
            sorted(chance.sample(range(count), count // 2)),
            list(range(start, min(count, start + 700))),
            list(range(count)),
            [0, 63, 64, count - 1],
        ]
    )


def filters(chance: random.Random) -> Iterator[str]:
    low = chance.randrange(8_000)
    yield f"id >= {low} AND id < {low + chance.choice([5, 900])}"
    yield f"p = '{chance.choice(PARTS)}' AND v < 'value {chance.randrange(10)}'"
    yield f"v = 'value {low * 7919 % 10007:05d}' OR id = {low}"


@pytest.mark.parametrize("seed", range(3))
def test_spark_skips_the_same_rows_as_a_single_process(lake: TestLake, seed: int) -> None:
    chance = random.Random(seed)
    sizes = {"file.block-size": "16 kb"} if seed else {}
    table = lake.create(schema=SCHEMA, primary_keys=(), partition_keys=("p",), **MARKED, **sizes)
    starts = iter(range(0, 100_000, 1_500))
    for part in chance.sample(PARTS, 3):
        table.append(rows(part, next(starts), 1_200))
    change = [RenameColumn("n", "m"), AddColumn("n", VarCharType()), AlterColumnType("m", BigIntType())]
    if seed == 2:
        lake.lake.catalog.alter_table("s.t", change)
        table = lake.table()
        more = rows(PARTS[0], next(starts), 1_200)
        table.append(more.rename_columns(["p", "id", "v", "m"]).append_column("n", pa.array(["9"] * 1_200)))
    files = live_data_files(table)
    chosen = chance.sample(files, len(files) - (seed == 1))
    mark_deleted(table, {file.file_name: positions(chance, file) for file in chosen}, is_wide=seed == 1)
    frame = lake.lake.table("s.t")
    assert "MapInArrow" not in plan_of(frame)
    left = lake.rows()
    assert 0 < len(left) < sum(file.row_count for file in files)
    assert frame.count() == len(left)
    for text in filters(chance):
        expected = lake.rows(columns=["id", "p"], filter=text)
        # Spark skips row groups and pages for a condition that is added later.
        assert rows_of(frame.where(text).select("id", "p")) == expected


def test_a_filter_on_a_frame_with_deletion_vectors_is_pushed_down_to_the_files(lake: TestLake) -> None:
    table = marked_table(lake)
    frame = lake.lake.table("s.t").where("id > 590").select("v")
    plan = plan_of(frame)
    assert "GreaterThan(id,590)" in plan
    assert "BroadcastHashJoin" not in plan
    assert "Subquery" not in plan
    assert plan.count("FileScan parquet") == 1
    assert rows_of(frame) == [
        (value,) for value in sorted(table.scan(filter="id > 590", columns=["v"]).to_arrow()["v"].to_pylist())
    ]


def marked_table(lake: TestLake) -> Table:
    """Create a table with one partition and two files with deleted rows."""
    table = lake.create(schema=SCHEMA, primary_keys=(), **MARKED)
    table.append(rows("a", 0, 300))
    table.append(rows("b", 300, 300))
    mark_deleted(table, {file.file_name: [1, 5, 299] for file in live_data_files(table)})
    return table


def test_columns_may_have_the_names_of_internal_columns(lake: TestLake) -> None:
    schema = pa.schema([("_metadata", pa.string()), ("_MARK_file", pa.int64()), ("a.b", pa.int64())])
    table = lake.create(schema=schema, primary_keys=(), **MARKED)
    table.append(pa.table({"_metadata": ["x", "y", "z"], "_MARK_file": [1, 2, 3], "a.b": [4, 5, 6]}, schema=schema))
    mark_deleted(table, {live_data_files(table)[0].file_name: [1]})
    assert lake.rows() == [("x", 1, 4), ("z", 3, 6)]
    assert lake.rows(columns=["a.b"], filter='"_MARK_file" > 1') == [(6,)]


@pytest.mark.parametrize("changed", [{"file_size": 7}, {"row_count": 64}])
def test_a_row_of_an_unknown_file_fails_the_query(lake: TestLake, changed: dict[str, int]) -> None:
    path, file = _a_file(lake)
    told = lake.spark.read.parquet(path)
    for vector in (DeletionVector.of([1]), None if "file_size" in changed else DeletionVector.of()):
        other = FileWithDeletedRows(path, replace(file, **changed), vector)
        with pytest.raises(Exception, match="for which the table has deletion vectors"):
            without_deleted_rows(lake.spark, told, [other], told.columns).select("id").collect()


def test_files_of_equal_size_are_distinguished_by_name(lake: TestLake) -> None:
    path, file = _a_file(lake)
    told = lake.spark.read.parquet(path)
    twin = FileWithDeletedRows("", replace(file, file_name="data-twin.parquet"), None)
    found = FileWithDeletedRows(path, file, DeletionVector.of([1, 7]))
    left = without_deleted_rows(lake.spark, told, [twin, found], told.columns)
    assert left.count() == told.count() - 2
    unknown = FileWithDeletedRows(path, replace(file, file_name="data-another.parquet"), found.vector)
    with pytest.raises(Exception, match="for which the table has deletion vectors"):
        without_deleted_rows(lake.spark, told, [twin, unknown], told.columns).select("id").collect()


@pytest.mark.parametrize("keys", [[4], [1, 2, 3, 4, 5], [n << 20 for n in range(200)], [n * n for n in range(200)]])
def test_the_places_of_keys_are_distinct_and_few(keys: list[int]) -> None:
    places = places_for(keys)
    assert len({places.of(key) for key in keys}) == len(keys)
    assert places.mask < 64 * max(1, len(keys) * 2 - 1)


@pytest.mark.parametrize(
    ("keys", "places"),
    [
        ([7], Places(63, 0)),
        ([1, 2], Places(63, 1)),
        ([1, 2, 3], Places(63, 3)),
        ([0, 8, 16], Places(63, 31)),
        ([0, 1 << 20, 2 << 20], Places(14, 255)),
        ([0, 1 << 62], Places(56, 127)),
    ],
)
def test_keys_are_folded_only_if_they_differ_in_no_low_bits(keys: list[int], places: Places) -> None:
    assert places_for(keys) == places


def test_equal_keys_have_no_places() -> None:
    with pytest.raises(ValueError, match=r"equal: \[3, 3\]"):
        places_for([3, 3])


def _a_file(lake: TestLake) -> tuple[str, DataFileMeta]:
    table = marked_table(lake)
    split = table.scan().plan()[0]
    file = split.files[0]
    return without_scheme(table.store.paths.data_file("", split.bucket, file)), file


def test_a_scan_has_a_maximum_of_rows_and_files(lake: TestLake) -> None:
    table = marked_table(lake)
    table.append(rows("c", 600, 100))
    (found,) = divide(table.scan().plan(), table.facts).with_deletions.values()
    sizes = {(300, True), (100, False)}
    assert {(file.file.row_count, file.vector is not None) for file in found} == sizes

    def scans(**bounds: int) -> list[int]:
        parts = list(scans_of(found, **bounds))
        assert [file for part in parts for file in part] == list(found)
        return [len(part) for part in parts]

    assert scans() == [3]
    assert scans(count=2) == [2, 1]
    assert sorted(scans(rows=599)) == [1, 2]
    # A file that exceeds the limit is read, too.
    assert len(scans(rows=0)) >= 2
    assert list(scans_of([])) == []


def test_conditions_are_not_tested_on_deleted_rows_in_several_scans(
    lake: TestLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_parquet, "scans_of", partial(scans_of, count=2))
    table = lake.create(schema=SCHEMA, primary_keys=(), **MARKED)
    for start in range(0, 90, 30):
        table.append(rows("a", start, 30).set_column(2, "v", pa.array([str(i % 10 or "?") for i in range(30)])))
    table.delete("n = 0")
    frame = lake.lake.table("s.t")
    assert plan_of(frame).count("FileScan parquet") == 2
    assert plan_of(frame).count("Join") == 0
    assert lake.spark.conf.get("spark.sql.ansi.enabled") == "true"
    assert frame.where("10 / n > 1").count() == 81
    assert frame.where("cast(v AS int) >= 1").count() == 81
    positive = F.udf(lambda n: 10 // n > 0, "boolean")
    assert frame.where(positive("n")).count() == 81


def test_conditions_are_not_tested_on_deleted_rows_of_many_files(lake: TestLake) -> None:
    table = lake.create(schema=SCHEMA, primary_keys=(), partition_keys=("id",), **MARKED)
    many = pa.table({"p": ["a"] * 460, "id": [i // 2 for i in range(460)], "v": ["?", "7"] * 230, "n": [0, 5] * 230})
    table.append(many.cast(SCHEMA))
    table.delete("n = 0")
    assert len(live_data_files(table)) > MAX_FILES_OF_SCAN
    frame = lake.lake.table("s.t")
    assert frame.where("10 / n > 1").count() == 230
    assert frame.where("cast(v AS int) >= 1").count() == 230


def test_conditions_are_not_tested_on_superseded_rows(lake: TestLake) -> None:
    lake.create()
    lake.append([(i, "?" if i % 2 else "5") for i in range(40)])
    lake.append([(i, "5") for i in range(1, 40, 2)])
    frame = lake.lake.table("s.t")
    assert frame.where("cast(v AS int) >= 5").count() == 40
    assert frame.where("id < 10").where("100 / cast(v AS int) > 1").select("id").count() == 10


def test_spark_reads_a_limited_number_of_rows_and_files_with_distinct_names(lake: TestLake) -> None:
    first, second = live_data_files(marked_table(lake))
    budget = DeletionVectorBudget()
    assert [budget.takes(file) for file in (first, first, second)] == [True, False, True]
    assert not DeletionVectorBudget().takes(replace(first, file_name="my 100%-0.parquet"))
    assert DeletionVectorBudget(rows=0).has_unique_name(first)
    budget = DeletionVectorBudget(rows=599)
    assert [budget.takes(first), budget.takes(second)] == [True, False]
    budget = DeletionVectorBudget(files=1)
    assert [budget.takes(first), budget.takes(second)] == [True, False]


@pytest.mark.parametrize("mode", ["delta", "auto"])
def test_changes_between_states_with_deletion_vectors_equal_those_of_a_single_process(
    lake: TestLake, mode: str
) -> None:
    table = lake.create(schema=SCHEMA, primary_keys=(), **MARKED)
    table.append(rows("a", 0, 30))
    table.append(rows("b", 30, 30))
    table.delete("id IN (3, 40, 41)")
    table.append(rows("c", 60, 5))
    lake.rows(**{"incremental-between": "1,4", "incremental-between-scan-mode": mode})

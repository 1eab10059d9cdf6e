"""Spark's tasks write indexes, and Spark is given the files only that may hold what is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from table_format import Table
from table_format.spark.read.spark_parquet import divide
from tests.spark.lakes import TestLake, plan_of
from tests.support.deletion_marks import live
from tests.support.reachable import check_files

pytestmark = pytest.mark.spark

INDEXED = {
    "file-index.bloom-filter.columns": "id,v",
    "file-index.bloom-filter.id.items": "1000",
    "file-index.bloom-filter.v.items": "1000",
    "file-index.bloom-filter.v.fpp": "0.0001",
    "file-index.bloom-filter.id.fpp": "0.0001",
    "metadata.stats-mode": "none",
}


def native_files(table: Table, filter: str) -> int:
    division = divide(table.scan(filter=filter).plan(), table.facts)
    assert not division.python
    return sum(map(len, (*division.whole.values(), *division.with_deletions.values())))


def write(lake: TestLake, first: int, count: int) -> None:
    rows: list[tuple[Any, ...]] = [(n, f"v{n}") for n in range(first, first + count)]
    lake.write(rows)


def test_append_tables_and_the_data_source(lake: TestLake) -> None:
    table = lake.create(primary_keys=(), **INDEXED)
    for n in range(3):
        write(lake, 10 * n, 10)
    assert all(entry.file.extra_files for entry in live(table))
    assert native_files(table, "v = 'v15'") == 1
    assert lake.rows(filter="v = 'v15' OR id = 3") == [(15, "v15"), (3, "v3")]
    assert native_files(table, "id = 77") == 0
    # Without a file there is nothing that Spark would need a job for.
    nothing = lake.lake.table("s.t", filter="id = 77")
    assert plan_of(nothing).count("LocalTableScan <empty>") == 1
    assert (nothing.collect(), nothing.columns) == ([], ["id", "v"])
    frame = lake.spark.read.format("paimon").load(table.store.paths.root).where("v = 'v21'")
    assert [tuple(row) for row in frame.collect()] == [(21, "v21")]
    assert frame.rdd.getNumPartitions() == 1


def test_primary_key_tables_that_merge_on_write(lake: TestLake) -> None:
    lake.create(**INDEXED, **{"deletion-vectors.enabled": "true"})
    write(lake, 0, 40)
    lake.append([(5, "new"), (50, "v50")])
    lake.lake.compact("s.t", full=False)
    table = lake.table()
    assert lake.rows(filter="v = 'v5'") == []
    assert lake.rows(filter="v = 'new'") == [(5, "new")]
    assert lake.rows(filter="v IN ('v7', 'no')") == [(7, "v7")]
    assert native_files(table, "v = 'no'") == 0
    lake.lake.compact("s.t", full=True)
    assert native_files(lake.table(), "v = 'v7'") == 1
    check_files(lake.table())


def test_few_rows_that_indexes_select_are_read_by_position_and_many_by_spark(lake: TestLake) -> None:
    table = lake.create(primary_keys=(), **{"file-index.bitmap.columns": "v", "metadata.stats-mode": "none"})
    lake.append([(n, "rare" if n % 50 == 7 else f"v{n % 3}") for n in range(200)])
    few = divide(table.scan(filter="v = 'rare'").plan(), table.facts)
    assert (few.whole, len(few.python)) == ({}, 1)
    assert sorted(row[0] for row in lake.rows(filter="v = 'rare'")) == [7, 57, 107, 157]
    assert native_files(table, "v = 'v1'") == len(live(table))
    expected = [n for n in range(200) if n % 3 == 1 and n % 50 != 7]
    assert sorted(row[0] for row in lake.rows(filter="v = 'v1'")) == expected

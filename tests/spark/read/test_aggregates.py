"""Aggregates on Spark equal those of a single process, and tasks read the necessary files."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from table_format import Table
from table_format.errors import ColumnNotFound, InvalidInputError, MissingFile, UnsupportedFeature
from table_format.spark.read import aggregates as on_spark
from tests.spark.lakes import TestLake, jobs_of
from tests.support.reachable import files_below

pytestmark = pytest.mark.spark

COLUMNS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("p", pa.string()),
        ("color", pa.string()),
        ("size", pa.float64()),
        ("n", pa.int64()),
        ("price", pa.decimal128(38, 2)),
        ("seen", pa.timestamp("us")),
    ]
)
WANTED = {
    "rows": ("count", "*"),
    "sizes": ("count", "size"),
    "sum": ("sum", "n"),
    "low": ("min", "n"),
    "high": ("max", "seen"),
    "price": ("sum", "price"),
}
INDEXED = {
    "file-index.bitmap.columns": "color",
    "file-index.bsi.columns": "n,seen,price",
    "metadata.stats-mode": "none",
}


def data(start: int, count: int) -> pa.Table:
    ids = range(start, start + count)
    return pa.table(
        {
            "id": ids,
            "p": ["ab"[i % 2] for i in ids],
            "color": [("red", "blue", None)[i % 3] for i in ids],
            "size": [(0.0, -0.0, math.nan, None, 2.5)[i % 5] for i in ids],
            "n": [None if i % 7 == 0 else 2**62 + i for i in ids],
            "price": [Decimal(10**35 + i) for i in ids],
            "seen": [i * 10**9 for i in ids],
        },
        schema=COLUMNS,
    )


def filled(lake: TestLake, **arguments: Any) -> Table:
    table = lake.create(schema=COLUMNS, **{"primary_keys": (), "partition_keys": ("p",), **arguments})
    for start in range(0, 60, 20):
        table.append(data(start, 20))
    return table


def files(found: Any) -> tuple[int, int, int, int]:
    return found.files_by_row_count, found.files_by_index, found.files_read, found.tasks


def test_files_without_indexes_are_read_by_tasks(lake: TestLake) -> None:
    table = filled(lake)
    for arguments in ({}, {"group_by": "color"}, {"group_by": "size", "filter": "color <> 'red'"}):
        expected = table.scan(filter=arguments.get("filter")).aggregate(WANTED, group_by=arguments.get("group_by"))
        found = lake.lake.aggregate("s.t", WANTED, **arguments)
        assert repr(found.rows) == repr(expected.rows)
        assert found.tasks > 0
        assert found.files_read == expected.files_read == 6
    assert f"6 read; in {found.tasks} Spark tasks and the driver" in found.explain()
    assert lake.lake.count("s.t", filter="n IS NULL") == 9


def test_no_job_is_started_if_metadata_and_a_few_indexes_are_sufficient(lake: TestLake) -> None:
    filled(lake, **INDEXED)
    totals = {"total": ("sum", "n"), "rows": ("count", "*")}
    jobs = jobs_of(lake.spark, lambda: lake.lake.aggregate("s.t", totals, group_by="color", filter="color = 'red'"))
    assert jobs == []
    assert jobs_of(lake.spark, lambda: lake.lake.count("s.t", filter="p = 'a'")) == []
    assert files(lake.lake.aggregate("s.t", totals)) == (0, 6, 0, 0)


def test_many_indexes_are_read_by_tasks(lake: TestLake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = filled(lake, **INDEXED, **{"file-index.in-manifest-threshold": "0 b"})
    monkeypatch.setattr(on_spark, "_MAX_INDEXES_ON_DRIVER", 5)
    for path in list(files_below(table.store.io, table.store.paths.root)):
        if path.rsplit("/", 1)[1].startswith("data-") and not path.endswith(".index"):
            table.store.io.delete(path)
    wanted = {"total": ("sum", "n"), "rows": ("count", "*")}
    expected = table.scan(filter="color = 'red'").aggregate(wanted, group_by="color")
    found = lake.lake.aggregate("s.t", wanted, filter="color = 'red'", group_by="color")
    assert found.rows == expected.rows
    assert files(found)[:3] == (0, 6, 0)
    assert found.tasks > 0
    with pytest.raises(MissingFile, match="data-"):
        lake.lake.aggregate("s.t", {"ids": ("sum", "id")}, filter="color = 'red'")
    # The option of the table applies in the tasks.
    with pytest.raises(MissingFile, match="data-"):
        lake.lake.aggregate("s.t", wanted, filter="color = 'red'", **{"file-index.read.enabled": "false"})


def test_tasks_merge_rows_for_aggregates(lake: TestLake) -> None:
    table = filled(lake, primary_keys=("id", "p"), **INDEXED)
    table.append(data(10, 20).set_column(4, "n", pa.array([1] * 20, pa.int64())))
    expected = table.scan(filter="n < 5").aggregate(WANTED, group_by="color")
    found = lake.lake.aggregate("s.t", WANTED, group_by="color", filter="n < 5")
    assert repr(found.rows) == repr(expected.rows)
    assert lake.lake.count("s.t") == 60


def test_invalid_aggregates_are_refused_as_in_a_single_process(lake: TestLake) -> None:
    filled(lake)
    with pytest.raises(ColumnNotFound, match="'m'"):
        lake.lake.aggregate("s.t", {"x": ("sum", "m")})
    with pytest.raises(UnsupportedFeature, match="sum of column 'color'"):
        lake.lake.aggregate("s.t", {"x": ("sum", "color")})
    with pytest.raises(InvalidInputError, match="is a system table"):
        lake.lake.count("s.t$files")


def test_the_first_rows_of_a_frame_equal_those_of_a_single_process(lake: TestLake) -> None:
    table = filled(lake, **{"file-index.range-bitmap.columns": "n", "file-index.bitmap.columns": "color"})
    for order_by, limit in (("n DESC, id", 4), ("size DESC NULLS FIRST, id", 30), ("seen", 3), (None, 7)):
        frame = lake.lake.table("s.t", columns=["id"], filter="color = 'red'", order_by=order_by, limit=limit)
        found = [row["id"] for row in frame.collect()]
        rows = table.scan(["id"], "color = 'red'", order_by=order_by, limit=limit).to_arrow()["id"].to_pylist()
        assert len(found) == min(limit, 20)
        assert order_by is None or found == rows
    with pytest.raises(UnsupportedFeature, match="limit of a system table"):
        lake.lake.table("s.t$files", limit=1)

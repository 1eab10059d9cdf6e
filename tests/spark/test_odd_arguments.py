"""Arguments of ``Lake.write`` are checked before Spark runs anything, so no session is needed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from table_format.errors import InvalidInputError
from table_format.spark.lake import Lake, paimon
from tests.support.odd_arguments import everything
from tests.support.tables import keyed, memory_warehouse


@pytest.mark.parametrize("rows", [None, "t", pa.table({"id": [1]})], ids=type)
@pytest.mark.parametrize(
    "act",
    [
        lambda lake, rows: lake.write(rows, "db.t"),
        lambda lake, rows: lake.write_to(rows, "db.t"),
        lambda lake, rows: lake.merge("db.t", rows, on="t.id = s.id"),
    ],
)
def test_rows_that_are_not_sparks_are_refused_by_name(act: Callable[[Lake, object], object], rows: object):
    warehouse = memory_warehouse()
    warehouse.table("t")
    with pytest.raises(InvalidInputError, match="expected a pyspark DataFrame, which spark"):
        act(Lake(None, warehouse.catalog), rows)  # type: ignore[arg-type]


def test_a_lake_without_a_session_is_refused_by_name(tmp_path: Path):
    with pytest.raises(InvalidInputError, match="spark: expected a SparkSession, found None"):
        paimon(None, {"warehouse": str(tmp_path)})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "odd",
    [
        *({"identifier": value} for value in ("7", True, 2**63, 0.5)),
        *({"commit_user": value} for value in (5, "", "\ud800", "a\0b")),
        *({"properties": value} for value in ({"a": 1}, {1: "a"}, "a", {"a": "\ud800"})),
        *({"parallelism": value} for value in (0, -1, "2", True, 2**31)),
        *({"mode": value} for value in ("upsert", None)),
        {"mode": "overwrite", "partition": "dt=a"},
        {"mode": "overwrite", "partition": {"dt": "\ud800"}},
    ],
    ids=str,
)
def test_an_invalid_argument_is_refused_and_nothing_is_written(odd: dict[str, Any]):
    warehouse = memory_warehouse()
    table = warehouse.table("t", partition_keys=["dt"])
    table.append(keyed([(1, "a", 1)]))
    before = everything(warehouse.io)
    lake = Lake(None, warehouse.catalog)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError):
        lake.write(None, "db.t", **odd)  # type: ignore[arg-type]
    assert everything(warehouse.io) == before

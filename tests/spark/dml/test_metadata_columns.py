"""Metadata columns in the conditions and values of UPDATE, DELETE and MERGE."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from table_format import Insert, Update
from table_format.errors import UnsupportedFeature
from tests.spark.lakes import TestLake

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

ROWS = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string()), ("p", pa.string())])
DDL = "id long, v string, p string"
KINDS: list[Any] = [
    pytest.param((), {}, id="append"),
    pytest.param((), {"deletion-vectors.enabled": "true"}, id="append with deletion vectors"),
    pytest.param(("id", "p"), {"bucket": "1"}, id="primary key"),
]


@pytest.mark.parametrize(("keys", "options"), KINDS)
def test_rows_are_changed_by_their_file_and_position(
    lake: TestLake, keys: tuple[str, ...], options: dict[str, str]
) -> None:
    lake.create(schema=ROWS, primary_keys=keys, partition_keys=("p",), **options)
    for part in ("a", "b", "c"):
        # One file for each.
        lake.table().append(pa.Table.from_pylist([{"id": n, "v": f"{part}{n}", "p": part} for n in range(3)], ROWS))
    if keys:
        lake.lake.compact("s.t", full=True)
    columns = ["p", "__paimon_file_path"]
    paths = dict(map(tuple, lake.lake.table("s.t", columns=columns).distinct().collect()))
    assert lake.lake.sql(f"DELETE FROM s.t WHERE __paimon_file_path = '{paths['a']}' AND id > 0").count() == 0  # noqa: S608
    if keys:
        # The deleted rows must be merged with those of other files.
        lake.lake.compact("s.t", full=True)
    update = lake.lake.update(
        "s.t",
        {"v": "concat(v, '@', __paimon_partition.p, __paimon_bucket)"},
        (F.col("t.__PAIMON_ROW_INDEX") == 2) & (F.col("p") == "b"),
    )
    assert update.updated == 1
    if keys:
        lake.lake.compact("s.t", full=True)
    source = lake.frame([(1, "new", "c"), (7, "new", "c")], DDL)
    merged = lake.lake.merge(
        "s.t",
        source,
        on="t.id = s.id AND t.p = s.p",
        when_matched=Update({"v": "concat(s.v, t.__paimon_row_index)"}, "t.__paimon_file_path LIKE '%p=c%'"),
        when_not_matched=Insert(),
    )
    assert (merged.updated, merged.inserted) == (1, 1)
    assert lake.rows() == [
        *((0, "a0", "a"), (0, "b0", "b"), (0, "c0", "c"), (1, "b1", "b"), (1, "new1", "c")),
        *((2, "b2@b0", "b"), (2, "c2", "c"), (7, "new", "c")),
    ]


def test_the_error_names_a_metadata_column_of_rows_that_are_merged_from_several_files(lake: TestLake) -> None:
    lake.create(write_only="true")
    lake.append([(1, "a"), (2, "a")])
    lake.append([(1, "b")])
    with pytest.raises(UnsupportedFeature, match=r"or leave out __paimon_bucket$"):
        lake.lake.delete("s.t", "__paimon_bucket = 0")
    # A subquery may use it if its own table has it.
    lake.create("u", primary_keys=())
    lake.append([(1, "a")], name="u")
    lake.lake.sql("DELETE FROM s.t WHERE id IN (SELECT id FROM s.u WHERE __paimon_bucket = 0)")
    assert lake.rows() == [(2, "a")]


def test_a_table_column_hides_the_metadata_column_with_the_same_name(lake: TestLake) -> None:
    schema = pa.schema([("id", pa.int64()), ("__paimon_bucket", pa.string())])
    lake.create(schema=schema, primary_keys=())
    lake.write([(1, "x"), (2, "y")], "id long, __paimon_bucket string")
    assert lake.lake.delete("s.t", "__paimon_bucket = 'x'").deleted == 1
    assert lake.rows() == [(2, "y")]

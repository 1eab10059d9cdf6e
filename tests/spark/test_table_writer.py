"""``lake.write_to``."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from table_format import col
from table_format.errors import AlreadyExistsError, InvalidInputError, InvalidOption, TableNotFound, UnsupportedFeature
from tests.spark.lakes import TestLake, rows_of

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

COLUMNS = pa.schema([("dt", pa.string()), ("id", pa.int64()), ("v", pa.string())])


def frame(lake: TestLake, *rows: tuple[object, ...]) -> Any:
    return lake.frame(rows, "dt string, id long, v string")


def test_a_table_is_created_with_its_rows(lake: TestLake) -> None:
    writer = lake.lake.write_to(frame(lake, ("a", 1, "x"), ("b", 1, "y")), "s.t")
    writer.partitioned_by("dt").table_property("primary-key", "dt,id").table_property("bucket", "1").create()
    assert lake.rows() == [("a", 1, "x"), ("b", 1, "y")]
    schema = lake.table().schema
    assert (schema.partition_keys, schema.primary_keys) == (("dt",), ("dt", "id"))
    with pytest.raises(AlreadyExistsError):
        writer.create()
    lake.lake.write_to(frame(lake, ("c", 1, "z")), "s.t").create(ignore_if_exists=True)
    lake.lake.write_to(frame(lake, ("b", 1, "upserted"), ("b", 2, "new")), "s.t").append()
    assert lake.rows() == [("a", 1, "x"), ("b", 1, "upserted"), ("b", 2, "new")]
    lake.lake.write_to(frame(lake, ("b", 9, "only")), "s.t").overwrite_partitions()
    assert lake.rows() == [("a", 1, "x"), ("b", 9, "only")]
    lake.lake.write_to(frame(lake, ("c", 1, "all")), "s.t").overwrite()
    assert lake.rows() == [("c", 1, "all")]


def test_a_replaced_table_may_be_read_by_its_own_query(lake: TestLake) -> None:
    lake.lake.write_to(frame(lake, ("a", 1, "x")), "s.t").create_or_replace()
    lake.lake.write_to(lake.lake.sql("SELECT id, upper(v) AS u FROM s.t"), "s.t").create_or_replace()
    assert lake.rows() == [(1, "X")]
    with pytest.raises(TableNotFound):
        lake.lake.write_to(frame(lake), "s.none").replace()
    assert lake.lake.catalog.list_tables("s") == ("t",)


def test_a_failed_creation_leaves_no_table(lake: TestLake) -> None:
    broken = lake.spark.sql("SELECT CAST(raise_error('no') AS STRING) AS v")
    with pytest.raises(Exception, match="no"):
        lake.lake.write_to(broken, "s.t").create()
    assert lake.lake.catalog.list_tables("s") == ()


def test_table_properties_apply_to_new_tables_and_options_to_writes(lake: TestLake) -> None:
    lake.lake.write_to(frame(lake, ("a", 1, "x")), "s.t").create()
    with pytest.raises(InvalidInputError, match="partitioned_by and table_property are for create"):
        lake.lake.write_to(frame(lake), "s.t").partitioned_by("dt").append()
    more = lake.spark.sql("SELECT 2 AS n")
    lake.lake.write_to(more, "s.t").option("write.merge-schema", "true").append()
    assert lake.table().schema.field_names == ("dt", "id", "v", "n")


def test_a_new_table_of_an_attached_database_gets_an_entry(lake: TestLake) -> None:
    try:
        lake.lake.attach("s")
        lake.lake.write_to(frame(lake, ("a", 1, "x")), "s.t").create()
        assert rows_of(lake.spark.sql("SELECT id FROM s.t")) == [(1,)]
        # Spark runs without compiled code here.
        assert lake.lake.attach("s") == ("t",)
    finally:
        lake.spark.sql("DROP DATABASE IF EXISTS s CASCADE")


# --- overwrite(condition) ---------------------------------------------------------------------------------------------


def overwritten(lake: TestLake, condition: Any, *rows: tuple[object, ...]) -> list[tuple[Any, ...]]:
    """Create a table with the partitions a, b, c and null, overwrite those that match, and return the rows."""
    if not lake.lake.catalog.table_exists("s.t"):
        lake.create(schema=COLUMNS, primary_keys=(), partition_keys=("dt",))
    lake.table().truncate()
    lake.append(OLD)
    lake.lake.write_to(frame(lake, *rows), "s.t").overwrite(condition)
    return lake.rows()


OLD = [("a", 1, "x"), ("b", 2, "x"), ("c", 3, "x"), (None, 4, "x")]


@pytest.mark.parametrize(
    ("condition", "new", "kept"),
    [
        ("dt = 'b'", "b", "ac0"),
        ("DT >= 'b' AND length(t.dt) = 1", "b", "a0"),
        (lambda: F.col("dt").isin("a", "c"), "c", "b0"),
        (col("dt") == "a", "a", "bc0"),
        ("dt IS NULL", None, "abc"),
        ("dt IN (SELECT max(v) FROM VALUES ('a'), ('b') AS q(v)) OR dt = 'new'", "new", "ac0"),
        ("true", "b", ""),
    ],
)
def test_the_partitions_that_match_a_condition_are_replaced(
    lake: TestLake, condition: Any, new: str | None, kept: str
) -> None:
    wanted = [*(row for row in OLD if (row[0] or "0") in kept), (new, 9, "y")]
    if callable(condition):
        condition = condition()  # a Spark column, which needs a session
    assert overwritten(lake, condition, (new, 9, "y")) == sorted(wanted, key=repr)


def test_partitions_that_match_are_emptied_if_there_are_no_new_rows(lake: TestLake) -> None:
    assert overwritten(lake, "dt < 'c'") == [("c", 3, "x"), (None, 4, "x")]
    assert overwritten(lake, "dt = 'nothing'") == OLD


def test_a_condition_on_other_columns_replaces_nothing(lake: TestLake) -> None:
    with pytest.raises(InvalidInputError, match=r"`id` is not a partition column; the partition columns are dt\."):
        overwritten(lake, "dt = 'a' AND id = 1", ("a", 9, "y"))
    assert lake.rows() == OLD
    with pytest.raises(InvalidInputError, match="is not a partition column"):
        overwritten(lake, col("v") == "x", ("a", 9, "y"))
    with pytest.raises(InvalidInputError, match="where requires the mode 'overwrite'"):
        lake.lake.write(frame(lake), "s.t", where="dt = 'a'")


def test_the_option_that_an_overwrite_sets_is_refused_rather_than_replaced(lake: TestLake) -> None:
    overwritten(lake, "dt = 'b'", ("b", 9, "y"))
    before = lake.rows()
    writer = lake.lake.write_to(frame(lake, ("a", 7, "z")), "s.t").option("dynamic-partition-overwrite", "true")
    for overwrite in (writer.overwrite, writer.overwrite_partitions):
        with pytest.raises(InvalidOption, match="'dynamic-partition-overwrite': has no effect here"):
            overwrite()
    assert lake.rows() == before


def test_rows_outside_of_the_condition_are_refused_and_leave_no_files(lake: TestLake) -> None:
    overwritten(lake, "dt = 'b'", ("b", 9, "y"))
    before, files = lake.rows(), lake.files()
    writer = lake.lake.write_to(frame(lake, ("a", 7, "z"), ("b", 7, "z")), "s.t")
    with pytest.raises(InvalidInputError, match=r"in partition \{dt='a'\}, outside the partitions that the condition"):
        writer.overwrite("dt = 'b'")
    assert (lake.rows(), lake.files()) == (before, files)


def test_a_condition_selects_partitions_of_every_kind_of_table(lake: TestLake) -> None:
    keyed = lake.lake.write_to(frame(lake, ("a", 1, "x"), ("b", 1, "x")), "s.k").partitioned_by("dt")
    keyed.table_property("primary-key", "dt,id").table_property("bucket", "-1").create()
    lake.lake.write_to(frame(lake, ("b", 2, "y")), "s.k").overwrite("dt > 'a'")
    assert lake.rows("k") == [("a", 1, "x"), ("b", 2, "y")]
    lake.lake.write_to(frame(lake, ("a", 1, "x")), "s.plain").create()
    with pytest.raises(InvalidInputError, match="the partition columns are none"):
        lake.lake.write_to(frame(lake), "s.plain").overwrite("dt = 'a'")
    lake.lake.write_to(frame(lake, ("b", 2, "y")), "s.plain").overwrite("1 = 1")
    assert lake.rows("plain") == [("b", 2, "y")]
    across = lake.lake.write_to(frame(lake, ("a", 1, "x")), "s.across").partitioned_by("dt")
    across.table_property("primary-key", "id").table_property("bucket", "-1").create()
    with pytest.raises(UnsupportedFeature, match="the primary key lacks partition columns"):
        lake.lake.write_to(frame(lake, ("a", 2, "y")), "s.across").overwrite("dt = 'a'")

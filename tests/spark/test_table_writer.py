"""``lake.write_to``."""

from __future__ import annotations

from typing import Any

import pytest

from table_format.errors import AlreadyExistsError, InvalidInputError, TableNotFound
from tests.spark.lakes import TestLake, rows_of

pytestmark = pytest.mark.spark


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
    finally:
        lake.spark.sql("DROP DATABASE IF EXISTS s CASCADE")

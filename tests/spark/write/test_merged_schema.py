"""``write.merge-schema``: the table gets the columns of the rows."""

from __future__ import annotations

from typing import Any

import pytest

from table_format.errors import InvalidData, UnsupportedFeature
from table_format.model.types import BigIntType, IntType
from tests.spark.lakes import TestLake, rows_of

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

MERGE: dict[str, str] = {"write.merge-schema": "true"}


@pytest.fixture
def narrow(lake: TestLake) -> TestLake:
    lake.lake.sql("USE s; CREATE TABLE t (k INT, s STRUCT<a: INT>) WITH ('bucket' = '-1')")
    lake.lake.sql("INSERT INTO t VALUES (1, named_struct('a', 1))")
    return lake


def plain(lake: TestLake) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, lake.lake.sql("SELECT * FROM s.t").collect()), key=repr)


def test_a_frame_adds_columns_and_widens_types(narrow: TestLake) -> None:
    frame = narrow.spark.sql("SELECT 'x' AS v, 5000000000L AS k, named_struct('b', 'y') AS s")
    narrow.lake.write(frame, "s.t", options=MERGE)
    assert narrow.table().schema.field_names == ("k", "s", "v")
    assert narrow.table().schema.field("k").type == BigIntType()
    assert plain(narrow) == [(1, (1, None), None), (5000000000, (None, "y"), "x")]
    narrow.lake.write(narrow.spark.sql("SELECT 'z' AS v"), "s.t", options=MERGE)
    assert plain(narrow)[-1] == (None, None, "z")
    assert narrow.table().schema.id == 1


def test_without_the_option_other_columns_are_refused(narrow: TestLake) -> None:
    with pytest.raises(InvalidData, match="not in the table: w"):
        narrow.lake.write(narrow.spark.sql("SELECT 1 AS k, null AS s, 2 AS w"), "s.t")
    assert narrow.table().schema.id == 0


def test_types_without_a_common_type_change_nothing(narrow: TestLake) -> None:
    with pytest.raises(InvalidData, match="column 'k' is INT, and STRING in the rows"):
        narrow.lake.write(narrow.spark.sql("SELECT 'x' AS k, 1 AS more"), "s.t", options=MERGE)
    assert narrow.table().schema.id == 0


def test_the_error_names_a_column_that_needs_an_explicit_cast_of_stored_values(narrow: TestLake) -> None:
    options = {**MERGE, "write.merge-schema.explicit-cast": "true"}
    with pytest.raises(UnsupportedFeature, match=r"write\.merge-schema\.explicit-cast"):
        narrow.lake.write(narrow.spark.sql("SELECT 1 AS k"), "s.t", options=options)


def test_the_option_of_a_table_applies_to_all_its_writes(lake: TestLake) -> None:
    lake.create(**MERGE)  # type: ignore[arg-type]  # options
    lake.write([(1, "a", 9)], "id long, v string, more int")
    lake.write([("-D", 1)], "_row_kind string, id long")
    lake.write([(2, "b")])
    assert lake.rows() == [(2, "b", None)]


def test_a_write_by_path_adds_columns(narrow: TestLake) -> None:
    path = narrow.table().store.paths.root
    frame = narrow.spark.sql("SELECT 2 AS k, 'x' AS v")
    frame.write.format("paimon").mode("append").options(**MERGE).save(path)
    assert plain(narrow) == [(1, (1,), None), (2, None, "x")]


def test_an_insert_adds_columns_by_name_and_by_position(narrow: TestLake) -> None:
    hint = "/*+ OPTIONS('write.merge-schema' = 'true') */"
    narrow.lake.sql(f"INSERT INTO t {hint} BY NAME SELECT 'x' AS v, 2 AS K")
    narrow.lake.sql(f"INSERT INTO t {hint} SELECT 3, named_struct('a', 3), 'y', 3.5D AS d")
    assert narrow.table().schema.field_names == ("k", "s", "v", "d")
    assert narrow.table().schema.field("k").type == IntType()
    assert plain(narrow) == [(1, (1,), None, None), (2, None, "x", None), (3, (3,), "y", 3.5)]


def test_new_columns_can_be_selected_and_filtered(narrow: TestLake) -> None:
    narrow.lake.write(narrow.spark.sql("SELECT 2 AS k, 'x' AS v"), "s.t", options=MERGE)
    assert rows_of(narrow.lake.table("s.t", columns=["k", "v"], filter="v = 'x'")) == [(2, "x")]

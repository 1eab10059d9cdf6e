"""``write.merge-schema`` of MERGE: which columns of the source are added to the table."""

from __future__ import annotations

import pytest
from pyspark.sql import types as T

from table_format import Insert, TableSchema, Update
from table_format.errors import ColumnNotFound, InvalidData
from table_format.model.types import BigIntType, DataField
from table_format.spark.dml.clauses import Names
from table_format.spark.dml.merged_schema import columns_to_hold
from tests.spark.lakes import TestLake, rows_of

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

MERGES = {"write.merge-schema": "true"}


@pytest.fixture
def shop(lake: TestLake) -> TestLake:
    lake.lake.sql(
        "USE s; CREATE TABLE t (id BIGINT NOT NULL, v STRING, n INT DEFAULT 5) TBLPROPERTIES ('primary-key' = 'id', "
        "'bucket' = '1'); INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)"
    )
    return lake


def test_a_star_adds_all_source_columns_and_other_clauses_add_the_columns_they_assign() -> None:
    source = T.StructType([T.StructField(n, T.LongType()) for n in ("ID", "v", "x", "y")])
    schema = TableSchema(0, (DataField(0, "id", BigIntType()), DataField(1, "v", BigIntType())), 1)
    names = Names(is_case_sensitive=False)

    def held(matched: Update, inserted: Insert) -> list[str]:
        return columns_to_hold(schema, source, names, matched, inserted).names

    assert held(Update(), Insert({"id": "s.id"})) == ["id", "v", "x", "y"]
    assert held(Update({"v": "s.v"}), Insert()) == ["id", "v", "x", "y"]
    assert held(Update({"v": "s.v", "X": "s.x + 1"}), Insert({"id": "s.id"})) == ["x"]
    assert held(Update({"v": "s.x"}), Insert({"id": "s.id", "v": "s.v"})) == []


def test_columns_are_added_and_widened_and_missing_columns_keep_their_value_or_get_the_default(shop: TestLake) -> None:
    source = shop.spark.sql("SELECT 2L AS ID, 'new' AS v, true AS flag UNION ALL SELECT 3L, 'c', false")
    shop.lake.merge("s.t", source, on="t.id = s.id", when_matched=Update(), when_not_matched=Insert(), options=MERGES)
    assert shop.rows() == [(1, "a", 1, None), (2, "new", 2, True), (3, "c", 5, False)]
    wide = shop.spark.sql("SELECT 1L AS id, 5000000000L AS n")
    shop.lake.merge("s.t", wide, on="t.id = s.id", when_matched=Update(), options=MERGES)
    assert shop.table().schema.field("n").type == BigIntType()
    assert shop.rows()[0] == (1, "a", 5000000000, None)


def test_merge_with_schema_evolution_adds_columns_that_clauses_assign(shop: TestLake) -> None:
    shop.lake.sql(
        "MERGE WITH SCHEMA EVOLUTION INTO t USING (SELECT 1L AS id, 7 AS extra, 'no' AS other) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET t.extra = s.extra + 1 WHEN NOT MATCHED THEN INSERT (id, extra) VALUES (s.id, 0)"
    )
    assert rows_of(shop.lake.sql("SELECT id, extra FROM t")) == [(1, 8), (2, None)]
    assert shop.table().schema.field_names == ("id", "v", "n", "extra")


def test_merges_use_the_option_of_the_table_and_add_nothing_without_it(shop: TestLake) -> None:
    source = shop.spark.sql("SELECT 1L AS id, 'z' AS v, 9 AS n, 1 AS extra")
    shop.lake.merge("s.t", source, on="t.id = s.id", when_matched=Update())
    assert shop.rows() == [(1, "z", 9), (2, "b", 2)]
    with pytest.raises(ColumnNotFound, match=r"no column v.*With write\.merge-schema = true, columns may be missing"):
        shop.lake.merge("s.t", source.drop("v"), on="t.id = s.id", when_matched=Update())
    shop.lake.sql("ALTER TABLE t SET TBLPROPERTIES ('write.merge-schema' = 'true')")
    shop.lake.merge("s.t", source, on="t.id = s.id", when_matched=Update())
    assert shop.rows() == [(1, "z", 9, 1), (2, "b", 2, None)]


def test_types_without_a_common_type_change_nothing(shop: TestLake) -> None:
    source = shop.spark.sql("SELECT 1L AS id, 'text' AS n, 1 AS extra")
    with pytest.raises(InvalidData, match="column 'n' is INT, and STRING in the rows"):
        shop.lake.merge("s.t", source, on="t.id = s.id", when_matched=Update(), options=MERGES)
    assert shop.table().schema.field_names == ("id", "v", "n")


@pytest.mark.parametrize("keys", ["", "'primary-key' = 'id', "])
def test_row_fields_that_the_source_lacks_stay_and_new_fields_are_added(lake: TestLake, keys: str) -> None:
    lake.lake.sql(
        f"USE s; CREATE TABLE t (id BIGINT NOT NULL, r STRUCT<a: INT, b: INT>) TBLPROPERTIES ({keys}'bucket' = '-1')"
    )
    lake.lake.sql("INSERT INTO t VALUES (1, struct(1, 2))")
    source = lake.spark.sql(
        "SELECT 1L AS id, named_struct('a', 9, 'c', 3) AS r UNION ALL SELECT 2L, named_struct('a', 8, 'c', 4)"
    )
    lake.lake.merge("s.t", source, on="t.id = s.id", when_matched=Update(), when_not_matched=Insert(), options=MERGES)
    found = rows_of(lake.lake.sql("SELECT id, r.a, r.b, r.c FROM t"))
    assert found == [(1, 9, 2, 3), (2, 8, None, 4)]

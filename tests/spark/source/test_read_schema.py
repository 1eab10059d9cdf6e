"""``spark.read.schema(...).format("paimon")``."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import types as st

from table_format.errors import InvalidInputError
from table_format.model.types import ArrayType, DataField, DecimalType, FloatType, IntType, VarCharType
from table_format.spark.source.read_schema import check_read_schema
from tests.spark.lakes import TestLake, rows_of

pytestmark = pytest.mark.spark

FIELDS = (
    DataField(0, "id", IntType(nullable=False)),
    DataField(1, "v", VarCharType()),
    DataField(2, "n", DecimalType(9, 2)),
    DataField(3, "f", FloatType()),
    DataField(4, "a", ArrayType(IntType())),
)


def test_a_schema_with_fewer_and_wider_columns_reads_a_primary_key_table(lake: TestLake) -> None:
    lake.create().append(pa.table({"id": [1, 2], "v": ["a", "b"]}))
    path = lake.table().store.paths.root
    reader = lake.spark.read.format("paimon")
    for schema, expected in (("id long", [(1,), (2,)]), ("v string, id long NOT NULL", [("a", 1), ("b", 2)])):
        assert rows_of(reader.schema(schema).load(path)) == expected
    with pytest.raises(AnalysisException, match=r"column 'id' the type int.*table's bigint"):
        reader.schema("id int").load(path).collect()


@pytest.mark.parametrize(
    "wanted",
    ["id int", "id long, v string", "n decimal(12,3)", "f double", "a array<int>", "v string, id int NOT NULL"],
)
def test_schemas_that_can_represent_all_values_are_accepted(wanted: str) -> None:
    check_read_schema(_schema(wanted), FIELDS)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("id short", "type smallint, which cannot represent all values of the table's int"),
        ("ID int", "names a column 'ID'; the table has id, v, n, f, a"),
        ("id int, id int", "'id' more than once"),
        ("v int", "'v' the type int"),
        ("v string NOT NULL", "'v' has no nulls"),
        ("n decimal(9,1)", r"type decimal\(9,1\)"),
        ("f float, a array<long>", "'a' the type array<bigint>"),
    ],
)
def test_the_error_names_the_column_of_an_unsuitable_schema(wanted: str, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        check_read_schema(_schema(wanted), FIELDS)


def _schema(ddl: str) -> Any:
    """Columns of a simple DDL text, without a session."""
    kinds = {"int": st.IntegerType(), "long": st.LongType(), "short": st.ShortType(), "string": st.StringType()}
    kinds |= {"float": st.FloatType(), "double": st.DoubleType(), "array<int>": st.ArrayType(st.IntegerType())}
    kinds |= {"array<long>": st.ArrayType(st.LongType())}
    kinds |= {f"decimal({p},{s})": st.DecimalType(p, s) for p, s in ((9, 1), (12, 3))}
    fields = []
    for column in ddl.split(", "):
        name, kind, *rest = column.split(" ")
        fields.append(st.StructField(name, kinds[kind], not rest))
    return st.StructType(fields)

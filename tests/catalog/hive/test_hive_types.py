"""Types of columns in a Hive metastore."""

from __future__ import annotations

import pytest

from table_format.catalog.hive.hive_types import hive_type
from table_format.model.types import (
    ArrayType,
    BinaryType,
    CharType,
    DataField,
    DataType,
    DateType,
    DecimalType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
    VarBinaryType,
    VarCharType,
)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (DecimalType(38, 18), "decimal(38,18)"),
        (CharType(255), "char(255)"),
        (CharType(256), "string"),
        (VarCharType(65_535), "varchar(65535)"),
        (VarCharType(65_536), "string"),
        (VarCharType(), "string"),
        (BinaryType(3), "binary"),
        (VarBinaryType(), "binary"),
        (DateType(), "date"),
        (TimeType(3), "string"),
        (TimestampType(9), "timestamp"),
        (LocalZonedTimestampType(3), "timestamp"),
        (MultisetType(VarCharType()), "map<string,int>"),
        (MapType(IntType(), ArrayType(DateType())), "map<int,array<date>>"),
        (RowType((DataField(0, "a", IntType()), DataField(1, "b", CharType(2)))), "struct<a:int,b:char(2)>"),
    ],
)
def test_a_type_has_the_name_that_java_gives_it(kind: DataType, expected: str) -> None:
    assert hive_type(kind) == expected

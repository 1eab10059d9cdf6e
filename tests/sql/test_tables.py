"""Parsing of CREATE TABLE and other statements about tables, in Spark and Flink syntax."""

from __future__ import annotations

import pytest

from table_format.errors import InvalidSql, UnsupportedFeature
from table_format.model.types import (
    MAX_LENGTH,
    ArrayType,
    BigIntType,
    BinaryType,
    DataField,
    DataType,
    DecimalType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    RowType,
    TimestampType,
    TimeType,
    VarBinaryType,
    VarCharType,
)
from table_format.sql.reader import Reader, SqlName
from table_format.sql.tables import (
    AnalyzeTable,
    ColumnDefinition,
    CreateTable,
    DropTable,
    TruncateTable,
    read_table_statement,
)

STRING = VarCharType(MAX_LENGTH)


def read(text: str, **parameters: object) -> object:
    return read_table_statement(Reader.of(text, parameters))


def created(text: str) -> CreateTable:
    found = read(text)
    assert isinstance(found, CreateTable)
    return found


def test_create_table_in_spark_syntax() -> None:
    found = created(
        "CREATE TABLE IF NOT EXISTS d.t (k INT NOT NULL COMMENT 'key', v STRING DEFAULT 'a, b', dt DATE) "
        "USING paimon PARTITIONED BY (dt) COMMENT 'c' TBLPROPERTIES ('primary-key' = 'k,dt', bucket = 4)"
    )
    assert found.name == SqlName(("d", "t"))
    assert found.columns[:2] == (
        ColumnDefinition("k", IntType(nullable=False), "key"),
        ColumnDefinition("v", STRING, None, "'a, b'"),
    )
    assert (found.partition_keys, found.comment, found.provider) == (("dt",), "c", "paimon")
    assert found.options == {"primary-key": "k,dt", "bucket": "4"}
    assert found.if_not_exists
    assert not found.or_replace


def test_create_table_in_flink_syntax() -> None:
    found = created("CREATE TABLE t (a INT, b STRING, PRIMARY KEY (a, b) NOT ENFORCED) WITH ('bucket'='8', 'x' = 'y')")
    assert found.primary_keys == ("a", "b")
    assert found.options == {"bucket": "8", "x": "y"}
    assert created("CREATE TABLE t (a BIGINT PRIMARY KEY NOT ENFORCED, b INT)").primary_keys == ("a",)


TYPES: dict[str, DataType] = {
    "LONG": BigIntType(),
    "DECIMAL(10, 2)": DecimalType(10, 2),
    "BINARY": VarBinaryType(MAX_LENGTH),
    "VARCHAR(7)": VarCharType(7),
    "TIME(3)": TimeType(3),
    "TIMESTAMP": LocalZonedTimestampType(6),
    "TIMESTAMP_NTZ": TimestampType(6),
    "TIMESTAMP(3)": TimestampType(3),
    "TIMESTAMP(3) WITH LOCAL TIME ZONE": LocalZonedTimestampType(3),
    "ARRAY<ARRAY<INT>>": ArrayType(ArrayType(IntType())),
    "MAP<STRING, INT NOT NULL>": MapType(STRING.with_nullable(False), IntType(nullable=False)),
    "STRUCT<a: INT NOT NULL COMMENT 'x', `b c` STRING>": RowType(
        (DataField(0, "a", IntType(nullable=False), description="x"), DataField(1, "b c", STRING))
    ),
    "ROW<a INT, b STRING>": RowType((DataField(0, "a", IntType()), DataField(1, "b", STRING))),
}


@pytest.mark.parametrize("text", TYPES)
def test_column_types(text: str) -> None:
    (column,) = created(f"CREATE TABLE t (c {text})").columns
    assert column.type == TYPES[text]


NO_TYPES = {
    "DECIMAL(39, 2)": "DECIMAL(39, 2): the precision must be 1 to 38, the scale 0 to the precision",
    "DECIMAL(0)": "DECIMAL(0, 0): the precision must be 1 to 38, the scale 0 to the precision",
    "DECIMAL(10, -2)": "DECIMAL(10, -2): the precision must be 1 to 38, the scale 0 to the precision",
    "NUMERIC(5, 6)": "DECIMAL(5, 6): the precision must be 1 to 38, the scale 0 to the precision",
    "TIME(10)": "TIME(10): the precision must be 0 to 9",
    "TIMESTAMP(10)": "TIMESTAMP(10): the precision must be 0 to 9",
    "TIMESTAMP_LTZ(-1)": "TIMESTAMP WITH LOCAL TIME ZONE(-1): the precision must be 0 to 9",
    "CHAR(0)": "CHAR(0): the length must be 1 to 2147483647",
    "VARCHAR(2147483648)": "VARCHAR(2147483648): the length must be 1 to 2147483647",
    "BINARY(-1)": "BINARY(-1): the length must be 1 to 2147483647",
    "VARBINARY(0)": "VARBINARY(0): the length must be 1 to 2147483647",
}


@pytest.mark.parametrize("text", NO_TYPES)
@pytest.mark.parametrize("around", ["{}", "ARRAY<{}>", "ROW<a {}>"])
def test_a_type_with_a_number_that_it_does_not_take_is_refused_where_it_stands(text: str, around: str) -> None:
    statement = f"CREATE TABLE t (c {around.format(text)})"
    with pytest.raises(InvalidSql) as refused:
        created(statement)
    assert refused.value.column == statement.index(text) + 1
    assert str(refused.value).endswith(NO_TYPES[text])


@pytest.mark.parametrize(("text", "expected"), [("TIMESTAMP", TimestampType(6)), ("BINARY", BinaryType(1))])
def test_types_with_another_meaning_in_flink(text: str, expected: DataType) -> None:
    (column,) = created(f"CREATE TABLE t (c {text}) WITH ('bucket' = '1')").columns
    assert column.type == expected


def test_create_table_as_select_and_create_table_like() -> None:
    text = "CREATE OR REPLACE TABLE t TBLPROPERTIES ('bucket'='1') AS WITH a AS (SELECT 1) SELECT * FROM a"
    found = created(text)
    assert found.query is not None
    assert found.query.strip() == "WITH a AS (SELECT 1) SELECT * FROM a"
    assert text.endswith(found.query.lstrip())
    assert len(found.query) == len(text)
    assert found.or_replace
    assert created("CREATE TABLE t LIKE d.s").like == SqlName(("d", "s"))
    assert created("REPLACE TABLE t (a INT)").must_exist


def test_a_partition_column_may_be_declared_only_in_partitioned_by() -> None:
    found = created("CREATE TABLE t (a INT) PARTITIONED BY (dt STRING, hh INT)")
    assert [column.name for column in found.columns] == ["a", "dt", "hh"]
    assert found.partition_keys == ("dt", "hh")


def test_drop_truncate_and_analyze() -> None:
    assert read("DROP TABLE IF EXISTS d.t") == DropTable(SqlName(("d", "t")), if_exists=True)
    assert read("TRUNCATE TABLE t PARTITION (dt = :d, hh = 3)", d="x") == TruncateTable(
        SqlName(("t",)), {"dt": "x", "hh": 3}
    )
    assert read("ANALYZE TABLE t COMPUTE STATISTICS") == AnalyzeTable(SqlName(("t",)))
    assert read("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS a, b") == AnalyzeTable(SqlName(("t",)), ("a", "b"))
    assert read("ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS") == AnalyzeTable(SqlName(("t",)), None)


REFUSED = {
    "CREATE TABLE t (a INT, WATERMARK FOR a AS a - 1)": "WATERMARK",
    "CREATE TABLE t (a INT METADATA FROM 'x')": "METADATA of column 'a'",
    "CREATE TABLE t (a INT, b AS a + 1)": "a computed column",
    "CREATE TABLE t (a INT GENERATED ALWAYS AS (1))": "GENERATED of column 'a'",
    "CREATE TABLE t (a INT) LOCATION '/x'": "CREATE TABLE ... LOCATION",
    "CREATE TABLE t (a INT) CLUSTERED BY (a) INTO 4 BUCKETS": "CREATE TABLE ... CLUSTERED",
    "CREATE TABLE t (a INT) STORED AS orc": "CREATE TABLE ... STORED",
    "CREATE TABLE t (a INT) PARTITIONED BY (days(a))": "the partition transform 'days(...)'",
    "CREATE TEMPORARY TABLE t (a INT)": "CREATE TEMPORARY TABLE",
    "CREATE TABLE t (a INTERVAL)": "type INTERVAL",
    "CREATE TABLE t (a TIMESTAMP WITH TIME ZONE)": "TIMESTAMP WITH TIME ZONE",
}


@pytest.mark.parametrize("text", REFUSED)
def test_the_error_names_an_unsupported_clause_with_line_and_column(text: str) -> None:
    with pytest.raises(UnsupportedFeature, match=r"^line 1, column \d+: .* is not supported; \w") as raised:
        read(text)
    assert raised.value.feature == REFUSED[text]


UNREADABLE = {
    "CREATE TABLE t (a)": (18, "expected a type, found '\\)'"),
    "CREATE TABLE t (a INT": (22, "expected ,, found the end"),
    "CREATE TABLE t (a INT) FOO": (24, "expected a clause of CREATE TABLE, found 'FOO'"),
    "CREATE TABLE t (PRIMARY KEY (a), PRIMARY KEY (b))": (34, "there are two primary keys"),
    "CREATE TABLE t (a INT) AS SELECT 1": (15, "the query determines the columns"),
    "TRUNCATE TABLE t PARTITION (dt = :d)": (34, "there is no parameter 'd'; the parameters are none"),
    "DROP TABLE a b": (14, "expected the end of the statement, found 'b'"),
}


@pytest.mark.parametrize("text", UNREADABLE)
def test_a_syntax_error_names_its_line_and_column(text: str) -> None:
    column, message = UNREADABLE[text]
    with pytest.raises(InvalidSql, match=f"^line 1, column {column}: .*{message}"):
        read(text)

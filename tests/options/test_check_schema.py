"""Which columns, keys and partitions a table may have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from table_format.errors import InvalidOption, InvalidSchema, TableFormatError
from table_format.limits import MAX_COLUMNS
from table_format.model.schema import TableSchema
from table_format.model.types import (
    BigIntType,
    CharType,
    DataField,
    IntType,
    MapType,
    RowType,
    VarBinaryType,
    VarCharType,
)
from table_format.options.check_schema import check_schema


def field(name: str, position: int = 0, *, nullable: bool = True) -> DataField:
    return DataField(position, name, IntType(nullable=nullable))


@pytest.mark.parametrize("name", ["", " ", "_KEY_id", "_SEQUENCE_NUMBER", "rowkind", "_row_kind", "x" * 256, "a\nb"])
def test_an_illegal_column_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidSchema, match="is not legal"):
        check_schema(TableSchema(0, (field(name),), 0))


def test_column_names_differ_also_inside_rows() -> None:
    with pytest.raises(InvalidSchema, match="more than one column named 'a'"):
        check_schema(TableSchema(0, (field("a"), field("a", 1)), 1))
    row = RowType(fields=(field("x", 1), field("x", 2)))
    with pytest.raises(InvalidSchema, match=r"ROW of column 'm'.*'x'"):
        check_schema(TableSchema(0, (DataField(0, "m", MapType(key=VarCharType(), value=row)),), 2))


def test_a_table_has_at_least_one_column_and_not_too_many() -> None:
    with pytest.raises(InvalidSchema, match="at least one column"):
        check_schema(TableSchema(0, (), -1))
    many = tuple(field(f"c{i}", i) for i in range(MAX_COLUMNS + 1))
    with pytest.raises(InvalidSchema, match=f"more than {MAX_COLUMNS}"):
        check_schema(TableSchema(0, many, MAX_COLUMNS))


@pytest.mark.parametrize(
    ("primary", "partition", "problem"),
    [
        (("k", "k"), (), "primary key has more than one column named 'k'"),
        (("z",), (), "primary key column 'z' does not exist; the columns are"),
        (("m",), (), "primary key column 'm' is MAP"),
        (("v",), (), "'v' is nullable"),
        (("p",), ("p",), "holds partition columns only"),
        ((), ("m",), "partition column 'm' is MAP"),
        ((), ("z",), "partition column 'z' does not exist"),
        ((), ("k", "p", "v", "m"), "partition column 'm'"),
    ],
)
def test_keys_must_fit_the_columns(primary: tuple[str, ...], partition: tuple[str, ...], problem: str) -> None:
    fields = (
        DataField(0, "k", BigIntType(nullable=False)),
        DataField(1, "p", IntType(nullable=False)),
        DataField(2, "v", IntType()),
        DataField(3, "m", MapType(key=VarCharType(), value=IntType())),
    )
    with pytest.raises(InvalidSchema, match=problem):
        check_schema(TableSchema(0, fields, 3, partition, primary))


def test_a_table_of_partition_columns_only_is_refused() -> None:
    with pytest.raises(InvalidSchema, match="a column besides"):
        check_schema(TableSchema(0, (field("p"),), 0, partition_keys=("p",)))


def test_a_key_without_partition_columns_takes_dynamic_buckets_and_no_sequence() -> None:
    fields = (field("k", nullable=False), field("p", 1), field("v", 2))
    check_schema(TableSchema(0, fields, 2, ("p",), ("k",)))
    with pytest.raises(InvalidOption, match=r"lacks the partition columns p: .* takes 'bucket' = -1"):
        check_schema(TableSchema(0, fields, 2, ("p",), ("k",), {"bucket": "2"}))
    with pytest.raises(InvalidOption, match=r"'sequence.field'.*in different partitions, the later one always wins"):
        check_schema(TableSchema(0, fields, 2, ("p",), ("k",), {"sequence.field": "v"}))


def test_default_values_are_values_of_their_columns() -> None:
    check_schema(TableSchema(0, (DataField(0, "a", IntType(), default_value="1"),), 0))
    with pytest.raises(TableFormatError, match="column 'a': unsupported default value `x` for type INT"):
        check_schema(TableSchema(0, (DataField(0, "a", IntType(), default_value="x"),), 0))


def test_a_partition_column_of_bytes_needs_names_made_of_the_bytes() -> None:
    fields = (field("k"), DataField(1, "pt", VarBinaryType(nullable=False)))
    schema = TableSchema(0, fields, 1, partition_keys=("pt",))
    with pytest.raises(InvalidSchema, match=r"'pt' is BYTES NOT NULL.*'partition.legacy-name' = 'false'"):
        check_schema(schema)
    check_schema(replace(schema, options={"partition.legacy-name": "false"}))


def test_a_bucket_function_must_take_the_key_also_where_buckets_are_given_later() -> None:
    fields = (DataField(0, "k", VarCharType(nullable=False)),)
    options = {"bucket": "-2", "bucket-function.type": "mod"}
    with pytest.raises(InvalidOption, match="'mod' takes one INT or BIGINT"):
        check_schema(TableSchema(0, fields, 0, primary_keys=("k",), options=options))


def test_a_row_kind_must_fit_its_column() -> None:
    fields = (field("k", nullable=False), DataField(1, "kind", CharType(1)))
    schema = TableSchema(0, fields, 1, primary_keys=("k",), options={"bucket": "1", "rowkind.field": "kind"})
    with pytest.raises(InvalidOption, match=r"'kind' is CHAR\(1\), which no row kind fits into"):
        check_schema(schema)
    check_schema(replace(schema, fields=(fields[0], DataField(1, "kind", CharType(2)))))

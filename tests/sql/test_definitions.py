"""The SQL of a table creates an equal table."""

from __future__ import annotations

from table_format.model.schema import TableSchema
from table_format.model.types import DataField
from table_format.sql.definitions import create_table_sql
from table_format.sql.reader import Reader, SqlName
from table_format.sql.tables import CreateTable, read_table_statement
from tests.sql.test_tables import TYPES


def test_the_output_of_show_create_table_parses_to_the_same_table() -> None:
    fields = tuple(
        DataField(number, f"c `{number}", data_type.with_nullable(number % 2 == 0), f"it's \\ {number}")
        for number, data_type in enumerate(TYPES.values())
    )
    schema = TableSchema(
        id=0,
        fields=fields,
        highest_field_id=len(fields),
        partition_keys=(fields[1].name,),
        primary_keys=(),
        options={"bucket": "1", "a'b": "c\\d"},
        comment="the 'table'",
    )
    found = read_table_statement(Reader.of(create_table_sql("d.my t", schema)))
    assert isinstance(found, CreateTable)
    assert found.name == SqlName(("d", "my t"))
    assert [(c.name, c.type, c.comment) for c in found.columns] == [(f.name, f.type, f.description) for f in fields]
    assert (found.partition_keys, found.options, found.comment) == (
        schema.partition_keys,
        schema.options,
        schema.comment,
    )

"""Files of before a change of a column's type: what is read of them, and what filters on the new type leave of it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

from table_format import Schema, Table
from table_format.errors import InvalidData
from table_format.kernels.values import array_of, values_of
from table_format.model.arrow_types import arrow_schema
from table_format.model.predicate import Compare, CompareOp
from table_format.model.schema_change import (
    AddColumn,
    AlterColumnType,
    DropColumn,
    MoveColumn,
    RenameColumn,
    SchemaChange,
)
from table_format.model.types import (
    ArrayType,
    BigIntType,
    BooleanType,
    DataField,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntType,
    MapType,
    RowType,
    VarCharType,
)
from tests.support.cast_cases import DAY, MS, numbers, ts
from tests.support.tables import Warehouse, memory_warehouse

FORMATS = ("parquet", "orc", "avro")
STRING = VarCharType()
OPERATORS: dict[CompareOp, Callable[[Any, Any], bool]] = {
    CompareOp.EQ: operator.eq,
    CompareOp.GE: operator.ge,
    CompareOp.LT: operator.lt,
}
CHANGES: list[tuple[DataType, DataType, list[Any], list[Any]]] = [
    (IntType(), STRING, [9, 10, -1, None], ["9", "10", "-1", None]),
    (STRING, IntType(), ["10", "9", "+2.5", None], [10, 9, 2, None]),
    (BigIntType(), IntType(), [2**32 + 5, 7, -(2**31) - 1, None], [5, 7, 2**31 - 1, None]),
    (DoubleType(), IntType(), [1e10, -0.5, 2.9, None], [2**31 - 1, 0, 2, None]),
    (BooleanType(), BigIntType(), [True, False, True, None], [1, 0, 1, None]),
    (
        DecimalType(10, 2),
        DecimalType(8, 1),
        [*numbers("0.05", "0.04", "1e7"), None],
        [*numbers("0.1", "0"), None, None],
    ),
    (ts(3), DateType(), [DAY, -MS, -DAY, None], [1, 0, -1, None]),
    (DateType(), STRING, [0, -1, 19782, None], ["1970-01-01", "1969-12-31", "2024-02-29", None]),
]
"""Old and new type, the values of four files, and those that are read."""


def new_table(
    *fields: DataField, file_format: str = "parquet", keys: tuple[str, ...] = (), **options: str
) -> tuple[Warehouse, Table]:
    warehouse = memory_warehouse()
    given = {"file.format": file_format, **({"bucket": "1"} if keys else {}), **options}
    table = warehouse.catalog.create_table("db.t", Schema(fields, (), keys, given))
    assert isinstance(table, Table)
    return warehouse, table


def altered(warehouse: Warehouse, table: Table, *changes: SchemaChange) -> Table:
    warehouse.catalog.alter_table("db.t", list(changes))
    return warehouse.reopened(table)


def append(table: Table, *rows: dict[str, Any]) -> None:
    table.append(pa.Table.from_pylist(list(rows), schema=arrow_schema(table.schema.fields)))


def rows_of(table: Table) -> list[dict[str, Any]]:
    return table.scan().to_arrow().sort_by("id").to_pylist()


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_filter_on_the_new_type_finds_every_row_of_old_files(file_format: str) -> None:
    """One file for each row, so that bounds of a file that do not fit the new type would lose it."""
    fields = [DataField(i, f"c{i}", old) for i, (old, _, _, _) in enumerate(CHANGES)]
    warehouse, table = new_table(*fields, file_format=file_format)
    for at in range(4):
        arrays = [array_of([values[at]], old) for old, _, values, _ in CHANGES]
        table.append(pa.Table.from_arrays(arrays, schema=arrow_schema(fields)))
    table = altered(warehouse, table, *(AlterColumnType(f"c{i}", new) for i, (_, new, _, _) in enumerate(CHANGES)))
    whole = table.scan().to_arrow()
    for field, (_, new, _, expected) in zip(table.schema.fields, CHANGES, strict=True):
        assert values_of(whole.column(field.name).combine_chunks(), new) == expected
        known = [value for value in expected if value is not None]
        for value, (op, holds) in product(known, OPERATORS.items()):
            found = table.scan(filter=Compare(field.name, op, value), columns=[field.name]).to_arrow()
            assert found.num_rows == sum(holds(each, value) for each in known), (field, op, value)


def test_old_files_are_still_pruned_where_the_new_type_keeps_their_order() -> None:
    warehouse, table = new_table(DataField(0, "n", IntType()), DataField(1, "s", STRING))
    for n in range(3):
        append(table, {"n": n, "s": str(n)})
    table = altered(warehouse, table, AlterColumnType("n", BigIntType()), AlterColumnType("s", IntType()))
    assert table.scan(filter="n = 1").plan().file_count == 1
    assert table.scan(filter="s = 1").plan().file_count == 3


def test_a_value_that_has_no_cast_fails_the_read_and_names_the_value() -> None:
    warehouse, table = new_table(DataField(0, "id", IntType()), DataField(1, "s", STRING))
    append(table, {"id": 1, "s": "7"}, {"id": 2, "s": "seven"})
    table = altered(warehouse, table, AlterColumnType("s", IntType()))
    problem = r"t/bucket-0/data-\S*: column 's': a value of type STRING cannot be cast to INT: 'seven' is not a value"
    with pytest.raises(InvalidData, match=problem):
        table.scan().to_arrow()
    assert table.scan(columns=["id"]).to_arrow().num_rows == 2
    # Nothing is lost: the old type shows the value again.
    table = altered(warehouse, table, AlterColumnType("s", STRING))
    assert [row["s"] for row in rows_of(table)] == ["7", "seven"]


@pytest.mark.parametrize("file_format", FORMATS)
def test_nested_values_become_the_text_that_the_reference_writes(file_format: str) -> None:
    inner = RowType((DataField(4, "x", IntType()), DataField(5, "d", DateType())))
    warehouse, table = new_table(
        DataField(0, "id", IntType(nullable=False)),
        DataField(1, "a", ArrayType(DoubleType())),
        DataField(2, "m", MapType(STRING, ArrayType(IntType()))),
        DataField(3, "r", inner),
        file_format=file_format,
        keys=("id",),
    )
    append(table, {"id": 1, "a": [1.0, None, 1e7], "m": {"k": [1, None], "l": None}, "r": {"x": 1, "d": None}})
    append(table, {"id": 2, "a": [], "m": {}, "r": {"x": None, "d": None}}, {"id": 3, "a": None, "m": None, "r": None})
    table = altered(warehouse, table, *(AlterColumnType(name, STRING) for name in "amr"))
    append(table, {"id": 4, "a": "as it is", "m": None, "r": None})
    expected = [
        (1, "[1.0, null, 1.0E7]", "{k -> [1, null], l -> null}", "{1, null}"),
        (2, "[]", "{}", "{null, null}"),
        (3, None, None, None),
        (4, "as it is", None, None),
    ]
    assert [tuple(row.values()) for row in rows_of(table)] == expected
    table.compact(full=True)
    assert [tuple(row.values()) for row in rows_of(table)] == expected


ITEM = RowType((DataField(10, "a", IntType()), DataField(11, "b", STRING)))
NESTED_FIELDS = (
    DataField(0, "id", IntType(nullable=False)),
    DataField(1, "items", ArrayType(ITEM)),
    DataField(2, "m", MapType(STRING, ArrayType(ITEM))),
    DataField(3, "n", ArrayType(IntType())),
)


@pytest.mark.parametrize("keys", [(), ("id",)], ids=["append", "keys"])
@pytest.mark.parametrize("file_format", FORMATS)
def test_fields_inside_arrays_and_maps_change_and_old_files_are_read_by_their_ids(
    file_format: str, keys: tuple[str, ...]
) -> None:
    warehouse, table = new_table(*NESTED_FIELDS, file_format=file_format, keys=keys)
    old = [{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}]
    append(table, {"id": 1, "items": old, "m": {"k": old}, "n": [1, None]}, {"id": 2, "items": None, "m": {}, "n": []})
    each = ("items", "element"), ("m", "value", "element")
    for path in each:
        table = altered(
            warehouse,
            table,
            RenameColumn((*path, "a"), "number"),
            AlterColumnType((*path, "number"), STRING),
            DropColumn((*path, "b")),
            AddColumn((*path, "b"), BigIntType(), first=True),
            AddColumn((*path, "c"), DoubleType()),
            MoveColumn((*path, "c"), after="b"),
        )
    table = altered(warehouse, table, AlterColumnType(("n", "element"), DoubleType()))
    assert str(table.schema.field("items").type) == "ARRAY<ROW<`b` BIGINT, `c` DOUBLE, `number` STRING>>"
    assert str(table.schema.field("n").type) == "ARRAY<DOUBLE>"
    new = [{"b": 5, "c": 0.5, "number": "n"}]
    append(table, {"id": 3, "items": new, "m": {"l": new}, "n": [0.5]})
    read = [{"b": None, "c": None, "number": "1"}, None, {"b": None, "c": None, "number": None}]
    expected = [
        {"id": 1, "items": read, "m": [("k", read)], "n": [1.0, None]},
        {"id": 2, "items": None, "m": [], "n": []},
        {"id": 3, "items": new, "m": [("l", new)], "n": [0.5]},
    ]
    assert rows_of(table) == expected
    table.compact(full=True)
    assert rows_of(table) == expected

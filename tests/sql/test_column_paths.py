"""The spelling of columns in ALTER TABLE."""

from __future__ import annotations

import pytest

from table_format.errors import InvalidInputError
from table_format.model.schema_change import (
    AddColumn,
    DropColumn,
    MoveColumn,
    RenameColumn,
    SchemaChange,
    SetColumnComment,
    SetOption,
)
from table_format.model.types import ArrayType, DataField, IntType, MapType, RowType
from table_format.sql.column_paths import spelled_change

INT = IntType()
ROW = RowType((DataField(3, "Inner", INT), DataField(4, "other", INT)))
FIELDS = (
    DataField(0, "Key", INT),
    DataField(1, "items", ArrayType(ROW)),
    DataField(2, "Pairs", MapType(INT, ROW)),
    DataField(5, "x", INT),
    DataField(6, "X", INT),
)
SPELLED: dict[str, tuple[SchemaChange, SchemaChange]] = {
    "a column": (SetColumnComment(("KEY",), "c"), SetColumnComment(("Key",), "c")),
    "a nested field": (DropColumn(("ITEMS", "ELEMENT", "INNER")), DropColumn(("items", "element", "Inner"))),
    "a field of a map": (
        RenameColumn(("pairs", "Value", "inner"), "INNER"),
        RenameColumn(("Pairs", "value", "Inner"), "INNER"),
    ),
    "a neighbour": (MoveColumn(("key",), after="ITEMS"), MoveColumn(("Key",), after="items")),
    "a new field": (
        AddColumn(("pairs", "VALUE", "New"), INT, after="OTHER"),
        AddColumn(("Pairs", "value", "New"), INT, after="other"),
    ),
    "an exact name among similar ones": (DropColumn(("X",)), DropColumn(("X",))),
    "a name that does not exist": (DropColumn(("None", "a")), DropColumn(("None", "a"))),
    "no column": (SetOption("Key", "v"), SetOption("Key", "v")),
}


@pytest.mark.parametrize("case", SPELLED)
def test_names_are_spelled_as_in_the_table(case: str) -> None:
    written, expected = SPELLED[case]
    assert spelled_change(written, FIELDS) == expected


@pytest.mark.parametrize(
    "change",
    [AddColumn(("KEY",), INT), AddColumn(("items", "element", "inner"), INT), RenameColumn(("key",), "ITEMS")],
)
def test_a_new_name_differs_not_only_in_case(change: SchemaChange) -> None:
    with pytest.raises(InvalidInputError, match="differs only in case from the column"):
        spelled_change(change, FIELDS)

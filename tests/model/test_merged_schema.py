"""Schema changes after which a table can store rows of another schema."""

from __future__ import annotations

import pytest

from table_format.errors import InvalidData
from table_format.model.merged_schema import changes_to_hold
from table_format.model.schema_change import AddColumn, AlterColumnType
from table_format.model.types import BigIntType, BooleanType, DataField, IntType, RowType, VarCharType

ID = DataField(0, "id", BigIntType(nullable=False))


def test_rows_that_fit_change_nothing() -> None:
    assert changes_to_hold([ID], [DataField(0, "id", BigIntType())]) == ()
    assert changes_to_hold([ID], [DataField(0, "id", IntType())]) == ()
    assert changes_to_hold([ID, DataField(1, "v", VarCharType())], [ID]) == ()


def test_new_columns_admit_nulls_and_keep_their_comments() -> None:
    new = DataField(7, "n", IntType(nullable=False), "a number")
    assert changes_to_hold([ID], [new, ID]) == (AddColumn(("n",), IntType(), "a number"),)


def test_a_wider_type_keeps_the_nullability_of_the_column() -> None:
    small = DataField(0, "n", IntType(nullable=False))
    assert changes_to_hold([small], [DataField(0, "n", BigIntType())]) == (
        AlterColumnType(("n",), BigIntType(nullable=False)),
    )


def test_fields_of_rows_are_merged_in_their_place() -> None:
    old = DataField(0, "r", RowType((DataField(1, "a", IntType()),)))
    new = DataField(0, "r", RowType((DataField(0, "a", BigIntType()), DataField(1, "b", VarCharType()))))
    assert changes_to_hold([old], [new]) == (
        AlterColumnType(("r", "a"), BigIntType()),
        AddColumn(("r", "b"), VarCharType()),
    )


def test_types_of_keys_stay_as_they_are() -> None:
    key = DataField(0, "k", IntType(nullable=False))
    assert changes_to_hold([key], [DataField(0, "k", BigIntType())], fixed={"k"}) == ()


def test_types_with_nothing_in_common_are_refused() -> None:
    with pytest.raises(InvalidData, match=r"column 'r\.a' is BOOLEAN, and INT in the rows"):
        changes_to_hold(
            [DataField(0, "r", RowType((DataField(1, "a", BooleanType()),)))],
            [DataField(0, "r", RowType((DataField(1, "a", IntType()),)))],
        )

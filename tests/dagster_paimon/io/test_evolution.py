"""The schema changes that a frame may cause."""

from __future__ import annotations

import pytest

from dagster_paimon.io.evolution import SchemaEvolution, changes_for
from table_format.errors import InvalidData
from table_format.model.schema import TableSchema
from table_format.model.schema_change import AddColumn, AlterColumnType, SchemaChange
from table_format.model.types import BigIntType, DataField, DataType, DecimalType, IntType, VarCharType

NARROW, WIDE = DecimalType(precision=10, scale=2), DecimalType(precision=12, scale=2)


def fields(**types: DataType) -> tuple[DataField, ...]:
    return tuple(DataField(number, name, data_type) for number, (name, data_type) in enumerate(types.items()))


def a_table(**types: DataType) -> TableSchema:
    return TableSchema(0, fields(**types), len(types) - 1)


TABLE = a_table(id=BigIntType(nullable=False), amount=NARROW)


@pytest.mark.parametrize(
    ("frame", "changes"),
    [
        (fields(id=BigIntType(), amount=NARROW), ()),
        (fields(amount=NARROW, id=BigIntType()), ()),
        (fields(id=IntType(), amount=DecimalType(precision=4, scale=1)), ()),
        (fields(id=BigIntType()), ()),
        (fields(id=BigIntType(), amount=NARROW, _row_kind=VarCharType()), ()),
        (fields(id=BigIntType(), amount=WIDE), (AlterColumnType("amount", WIDE),)),
        (
            fields(id=BigIntType(), amount=NARROW, coupon=VarCharType(nullable=False)),
            (AddColumn("coupon", VarCharType()),),
        ),
    ],
)
def test_a_frame_causes_only_the_necessary_schema_changes(
    frame: tuple[DataField, ...], changes: tuple[SchemaChange, ...]
) -> None:
    assert changes_for(TABLE, frame, SchemaEvolution.widen, name="db.t") == changes


@pytest.mark.parametrize(
    ("policy", "frame", "message"),
    [
        ("error", fields(id=BigIntType(), amount=NARROW, coupon=VarCharType()), "db.t.*coupon.*add_columns"),
        ("add_columns", fields(id=BigIntType(), amount=WIDE), "amount.*DECIMAL.10, 2.*wider DECIMAL.12, 2.*widen"),
        ("widen", fields(id=BigIntType(), amount=VarCharType()), "neither holds every value"),
        ("widen", fields(amount=NARROW), "lacks id"),
        ("widen", fields(id=BigIntType(), Amount=NARROW), "column Amount, and the table has amount.*case only.*rename"),
    ],
)
def test_the_error_names_a_schema_change_that_the_policy_forbids(
    policy: str, frame: tuple[DataField, ...], message: str
) -> None:
    with pytest.raises(InvalidData, match=message):
        changes_for(TABLE, frame, SchemaEvolution(policy), name="db.t")

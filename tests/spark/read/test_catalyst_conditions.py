"""Reading of conditions of Spark's optimizer, without a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from table_format.codecs.foreign_conditions import implied
from table_format.model.predicate import Compare, CompareOp, In, IsNull, Not, Or, Predicate
from table_format.model.types import BigIntType, CharType, DataField, DecimalType, TimestampType, VarCharType
from table_format.spark.read.catalyst_conditions import ConditionReader

pytestmark = pytest.mark.spark

COLUMNS = {
    1: DataField(0, "id", BigIntType()),
    2: DataField(1, "v", VarCharType()),
    3: DataField(2, "t", TimestampType(3)),
    4: DataField(3, "c", CharType(3)),
    5: DataField(4, "m", DecimalType(4, 2)),
}
TYPES = {1: "long", 2: "string", 3: "timestamp_ntz", 4: "string", 5: "decimal(4,2)"}
Nodes = list[dict[str, Any]]


def node(kind: str, *children: Nodes, **facts: Any) -> Nodes:
    first = {"class": f"org.apache.spark.sql.catalyst.expressions.{kind}", "num-children": len(children), **facts}
    return [first, *(inner for child in children for inner in child)]


def column(number: int, data_type: str | None = None) -> Nodes:
    return node("AttributeReference", exprId={"id": number}, dataType=data_type or TYPES.get(number, "long"))


def literal(value: str | None, data_type: str = "long") -> Nodes:
    return node("Literal", value=value, dataType=data_type)


@dataclass(frozen=True)
class Originals:
    """Values by the path of their node."""

    instants: dict[tuple[int, ...], int]
    sets: dict[tuple[int, ...], tuple[Sequence[str], bool]]

    def number(self, path: Sequence[int]) -> int:
        return self.instants[tuple(path)]

    def texts(self, path: Sequence[int]) -> tuple[Sequence[str], bool] | None:
        return self.sets.get(tuple(path))


def read(nodes: Nodes, originals: Originals | None = None) -> Predicate | None:
    return implied(ConditionReader(COLUMNS, originals or Originals({}, {})).read(nodes))


IS_THREE = node("EqualTo", column(1), literal("3"))
OTHER = node("RLike", column(2), literal("x", "string"))


def test_comparisons_need_exactly_the_type_of_the_column() -> None:
    assert read(IS_THREE) == Compare("id", CompareOp.EQ, 3)
    assert read(node("LessThan", literal("3"), column(1))) == Compare("id", CompareOp.GT, 3)
    assert read(node("EqualTo", column(1), literal("3", "integer"))) is None
    assert read(node("EqualTo", column(1, "integer"), literal("3", "integer"))) is None
    assert read(node("EqualTo", column(9), literal("3"))) is None
    assert read(node("EqualTo", column(1), literal(None))) is None
    assert read(node("EqualTo", column(2), literal("x", "string collate UNICODE"))) is None
    assert read(node("StartsWith", literal("abc", "string"), column(2))) is None
    # Only one of the two pads CHAR values.
    assert read(node("EqualTo", column(4), literal("a", "string"))) is None
    assert read(node("EqualTo", column(1), literal("9223372036854775808"))) is None
    assert read(node("EqualTo", node("Cast", column(1)), literal("3"))) is None


def test_unsupported_parts_are_left_out_only_of_an_and() -> None:
    three = Compare("id", CompareOp.EQ, 3)
    assert read(node("And", OTHER, IS_THREE)) == three
    assert read(node("Or", OTHER, IS_THREE)) is None
    assert read(node("Or", node("And", OTHER, IS_THREE), IS_THREE)) == Or((three, three))
    assert read(node("Not", IS_THREE)) == Not(three)
    assert read(node("Not", node("And", OTHER, IS_THREE))) is None
    assert read(node("Not", node("Or", OTHER, IS_THREE))) is None
    assert read(OTHER) is None


def test_instants_are_used_only_if_the_column_can_represent_them() -> None:
    test = node("And", OTHER, node("LessThan", column(3), literal("1500", "timestamp_ntz")))
    assert read(test, Originals({(1, 1): 2_000}, {})) == Compare("t", CompareOp.LT, 2_000_000)
    assert read(test, Originals({(1, 1): 1_500}, {})) is None


def test_a_negated_in_with_null_is_not_used() -> None:
    some = node("In", column(2), literal("a", "string"), literal(None, "string"))
    assert read(some) == In("v", ("a",))
    assert read(node("Not", some)) is None
    given = node("InSet", column(1))
    assert read(given, Originals({}, {(): (("1", "2"), False)})) == In("id", (1, 2))
    assert read(node("Not", given), Originals({}, {(0,): (("1", "2"), False)})) == Not(In("id", (1, 2)))
    assert read(node("Not", given), Originals({}, {(0,): (("1", "2"), True)})) is None
    assert read(given) is None
    assert read(node("Not", node("IsNotNull", column(1)))) == Not(Not(IsNull("id")))

"""Reads resolved conditions of Spark's optimizer from JSON: a list of nodes, each before its children."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from table_format.codecs.foreign_conditions import (
    AllOf,
    AnyOf,
    Condition,
    Known,
    Negation,
    Unknown,
    comparison,
    membership,
    same_value,
    value_of_micros,
    value_of_text,
)
from table_format.model.predicate import Compare, CompareOp, IsNull, Literal
from table_format.model.types import AnyTimestampType, BooleanType, DataField, DataType, DateType, InternalValue
from table_format.spark.types import spark_type

_PACKAGE: Final = "org.apache.spark.sql.catalyst.expressions."
_COMPARISONS: Final = {
    "EqualTo": CompareOp.EQ,
    "LessThan": CompareOp.LT,
    "LessThanOrEqual": CompareOp.LE,
    "GreaterThan": CompareOp.GT,
    "GreaterThanOrEqual": CompareOp.GE,
    "StartsWith": CompareOp.STARTS_WITH,
    "EndsWith": CompareOp.ENDS_WITH,
    "Contains": CompareOp.CONTAINS,
}
_CALENDARS_AGREE: Final = "1582-10-16"
"""Before this day, Spark may write dates in the Julian calendar, and the 5th to the 14th as the 15th (``LEGACY`` in
``spark.sql.legacy.timeParserPolicy``)."""


class Originals(Protocol):
    """Access to values that the JSON does not contain."""

    def number(self, path: Sequence[int]) -> int:
        """Return the value of a date literal in days, or of a timestamp literal in microseconds. A path is the number
        of a child at each depth.
        """

    def texts(self, path: Sequence[int]) -> tuple[Sequence[str], bool] | None:
        """Return the values of an IN that Spark stores as a set, and whether null is one; ``None`` if there are too
        many.
        """


@dataclass(frozen=True, slots=True)
class _Node:
    facts: Mapping[str, Any]
    children: tuple[_Node, ...]
    path: tuple[int, ...]

    @property
    def kind(self) -> str:
        return str(self.facts["class"]).removeprefix(_PACKAGE)


@dataclass(frozen=True, slots=True)
class ConditionReader:
    """Reads conditions on columns, which are identified by the ids of their attributes."""

    columns: Mapping[int, DataField]
    originals: Originals

    def read(self, nodes: Sequence[Mapping[str, Any]]) -> Condition:
        """Return the condition of an expression in JSON."""
        return self._condition(_tree(iter(nodes), ()))

    def _condition(self, node: _Node) -> Condition:
        match node.kind:
            case "And":
                return AllOf(tuple(map(self._condition, node.children)))
            case "Or":
                return AnyOf(tuple(map(self._condition, node.children)))
            case "Not":
                return Negation(self._condition(node.children[0]))
            case "Literal":
                return Known(Literal({"true": True, "false": False}.get(node.facts["value"])))
            case "AttributeReference":
                found = self._column(node)
                is_truth = found is not None and isinstance(found.type, BooleanType)
                return Known(Compare(found.name, CompareOp.EQ, True)) if found and is_truth else Unknown()
            case "IsNull" | "IsNotNull" | "In" | "InSet":
                return self._test(node)
            case "EqualNullSafe":
                return self._comparison(node, None)
        op = _COMPARISONS.get(node.kind)
        return Unknown() if op is None else self._comparison(node, op)

    def _comparison(self, node: _Node, op: CompareOp | None) -> Condition:
        left, right = node.children[:2]
        is_mirrored = left.kind == "Literal"
        if is_mirrored:
            left, right = right, left
        found = self._column(left)
        if found is None or len(node.children) != 2 or not self._is_value(right, found.type):
            return Unknown()
        value = self._value(right, found.type)
        return same_value(found, value) if op is None else comparison(found, op, value, is_mirrored=is_mirrored)

    def _test(self, node: _Node) -> Condition:
        found = self._column(node.children[0])
        if found is None:
            return Unknown()
        match node.kind:
            case "IsNull":
                return Known(IsNull(found.name))
            case "IsNotNull":
                return Negation(Known(IsNull(found.name)))
            case "In":
                given = node.children[1:]
                if not all(self._is_value(value, found.type) for value in given):
                    return Unknown()
                some = [value for value in given if value.facts["value"] is not None]
                values = [self._value(value, found.type) for value in some]
                return membership(found, values, has_null=len(some) < len(given))
        known = None if isinstance(found.type, AnyTimestampType) else self.originals.texts(node.path)
        if known is None:
            return Unknown()
        texts, has_null = known
        # In a set, dates are numbers of days.
        values = [value_of_text(text, found.type) for text in texts]
        return membership(found, values, has_null=has_null)

    def _column(self, node: _Node) -> DataField | None:
        if node.kind != "AttributeReference":
            return None
        found = self.columns.get(node.facts["exprId"]["id"])
        return found if found is not None and self._is_of(node, found.type) else None

    def _is_value(self, node: _Node, data_type: DataType) -> bool:
        return node.kind == "Literal" and self._is_of(node, data_type)

    def _is_of(self, node: _Node, data_type: DataType) -> bool:
        return bool(node.facts["dataType"] == spark_type(data_type).jsonValue())

    def _value(self, node: _Node, data_type: DataType) -> InternalValue | None:
        text = node.facts["value"]
        if text is None:
            return None
        if isinstance(data_type, AnyTimestampType):
            return value_of_micros(self.originals.number(node.path), data_type)
        if isinstance(data_type, DateType) and text < _CALENDARS_AGREE:
            return self.originals.number(node.path)
        return value_of_text(text, data_type)


def _tree(nodes: Iterator[Mapping[str, Any]], path: tuple[int, ...]) -> _Node:
    facts = next(nodes)
    children = tuple(_tree(nodes, (*path, number)) for number in range(facts["num-children"]))
    return _Node(facts, children, path)

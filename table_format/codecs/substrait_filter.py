"""Converts Arrow expressions, which DuckDB and other engines push into a dataset, to predicates.

Python cannot inspect an expression, but Arrow can serialise it in the Substrait format, which is read here. Unsupported
parts are left to the engine; see ``foreign_conditions``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from table_format.codecs.foreign_conditions import (
    AllOf,
    AnyOf,
    Condition,
    Known,
    Negation,
    Unknown,
    comparison,
    implied,
    membership,
    value_of_decimal,
    value_of_micros,
    value_of_number,
)
from table_format.codecs.protobuf import Message
from table_format.model.predicate import And, CompareOp, In, IsNull, Not, Predicate
from table_format.model.types import (
    BooleanType,
    DataField,
    DataType,
    DateType,
    DecimalType,
    IntegerType,
    InternalValue,
    LocalZonedTimestampType,
    TimestampType,
    VarCharType,
)

_OPERATORS: Final = {
    "equal": CompareOp.EQ,
    "not_equal": CompareOp.NE,
    "lt": CompareOp.LT,
    "lte": CompareOp.LE,
    "gt": CompareOp.GT,
    "gte": CompareOp.GE,
    "starts_with": CompareOp.STARTS_WITH,
}
_ON_CASE: Final = b"CASE_SENSITIVE"

# Field numbers: the fields of an expression, and the kinds of its literals.
_LITERAL, _SELECTION, _FUNCTION, _IF_THEN, _IN_LIST, _CAST = 1, 2, 3, 6, 8, 11
_BOOLEAN, _STRING, _TIMESTAMP, _DATE, _DECIMAL, _INSTANT, _NULL = 1, 12, 14, 16, 24, 27, 29
_INTEGERS: Final = {2: 8, 3: 16, 5: 32, 7: 64}
"""The number of bits of each kind of literal."""


@dataclass(frozen=True, slots=True)
class PushedFilter:
    """The pushed-down filter of an expression.

    ``predicate`` holds for every row for which the expression holds; ``columns`` are all columns of the expression.
    """

    predicate: Predicate | None
    columns: tuple[str, ...]


def pushed_filter(data: bytes, fields: Sequence[DataField]) -> PushedFilter:
    """Read an expression that was bound to these columns and serialised in the Substrait format.

    Raises:
        ValueError: the bytes are not a Substrait expression.
    """
    message = Message.of(data)
    [expression] = message.all(3)
    functions = {f.number(2): f.data(3).decode() for e in message.all(2) for f in e.all(3)}
    binder = _Binder(functions, fields, {})
    condition = binder.condition(expression.one(1))
    return PushedFilter(implied(condition), tuple(binder.columns))


@dataclass(frozen=True, slots=True)
class _Binder:
    """Reads conditions, and collects the columns of all of them, including unsupported ones."""

    functions: Mapping[int, str]
    fields: Sequence[DataField]
    columns: dict[str, None]

    def condition(self, expression: Message) -> Condition:
        if expression.has(_FUNCTION):
            return self._function(expression.one(_FUNCTION))
        if expression.has(_IN_LIST):
            return self._in_list(expression.one(_IN_LIST))
        if expression.has(_IF_THEN):
            return self._if_then(expression.one(_IF_THEN))
        field = self._field(expression)
        if field is not None and isinstance(field.type, BooleanType):
            return comparison(field, CompareOp.EQ, value=True)
        return self._unknown(expression)

    def _function(self, call: Message) -> Condition:
        name = self.functions.get(call.number(1), "")
        arguments = [argument.one(3) for argument in call.all(4)]
        if name == "and":
            return AllOf(tuple(map(self.condition, arguments)))
        if name == "or":
            return AnyOf(tuple(map(self.condition, arguments)))
        if name == "not" and len(arguments) == 1:
            return Negation(self.condition(arguments[0]))
        if name in ("is_null", "is_not_null") and len(arguments) == 1:
            field = self._field(arguments[0])
            if field is not None:
                known = Known(IsNull(field.name))
                return known if name == "is_null" else Negation(known)
        if name in _OPERATORS and len(arguments) == 2 and _is_plain(call):
            return self._comparison(_OPERATORS[name], *arguments)
        return self._unknown(*arguments)

    def _comparison(self, op: CompareOp, left: Message, right: Message) -> Condition:
        for column, literal, is_mirrored in ((left, right, False), (right, left, True)):
            field = self._field(column)
            if field is not None and literal.has(_LITERAL):
                return comparison(field, op, _value(literal.one(_LITERAL), field.type), is_mirrored=is_mirrored)
        return self._unknown(left, right)

    def _in_list(self, test: Message) -> Condition:
        """Read ``is_in``, which is false instead of unknown if the column is null."""
        field = self._field(test.one(1))
        options = test.all(2)
        if field is None or not all(option.has(_LITERAL) for option in options):
            return self._unknown(test.one(1), *options)
        found = membership(field, [_value(o.one(_LITERAL), field.type) for o in options], has_null=False)
        if not isinstance(found, Known):
            return Unknown()
        return Known(And((Not(IsNull(field.name)), found.predicate)))

    def _if_then(self, test: Message) -> Condition:
        """Read ``if_else(is_valid(a), is_in(a, ...), null)``, which DuckDB writes for an IN."""
        clauses = test.all(1)
        parts = [part for clause in clauses for part in (clause.one(1), clause.one(2))]
        if len(clauses) == 1 and _is_null_literal(test.one(2)):
            condition, found = map(self.condition, parts)
            match condition, found:
                case (
                    Negation(Known(IsNull(tested))),
                    Known(And((Not(IsNull(column)), In() as member))),
                ) if tested == column:
                    return Known(member)
            return Unknown()
        return self._unknown(*parts, test.one(2))

    def _field(self, expression: Message) -> DataField | None:
        """Return the column that an expression names; ``None`` if it is not a column, or is a field of a ROW."""
        if not expression.has(_SELECTION):
            return None
        place = expression.one(_SELECTION).one(1)
        number = place.one(2).number(1)
        if not place.has(2) or not 0 <= number < len(self.fields):
            message = "a reference to something other than a column"
            raise ValueError(message)
        field = self.fields[number]
        self.columns.setdefault(field.name)
        return None if place.one(2).has(2) else field

    def _unknown(self, *parts: Message) -> Unknown:
        """Return a condition that only the engine can test, and collect its columns."""
        for part in parts:
            self._note(part)
        return Unknown()

    def _note(self, expression: Message) -> None:
        if expression.has(_SELECTION):
            self._field(expression)
        elif expression.has(_CAST):
            self._note(expression.one(_CAST).one(2))
        elif any(expression.has(kind) for kind in (_FUNCTION, _IF_THEN, _IN_LIST)):
            self.condition(expression)
        elif not expression.has(_LITERAL):
            message = f"an unknown kind of expression: {[number for number, _ in expression.fields]}"
            raise ValueError(message)


def _is_plain(call: Message) -> bool:
    """Return whether a function has no options except case sensitivity, which concerns only texts."""
    return all(option.data(2) == _ON_CASE for option in call.all(5) if option.data(1) == b"case_sensitivity")


def _is_null_literal(expression: Message) -> bool:
    return expression.has(_LITERAL) and expression.one(_LITERAL).has(_NULL)


def _value(literal: Message, data_type: DataType) -> InternalValue | None:
    """Return the value of a literal of the column's exact type; ``None`` if unsure, as for floating-point numbers."""
    kinds = [kind for kind, _ in literal.fields]
    match data_type:
        case BooleanType() if _BOOLEAN in kinds:
            return bool(literal.number(_BOOLEAN))
        case IntegerType():
            for kind in kinds:
                if kind in _INTEGERS:
                    return value_of_number(literal.number(kind), data_type)
        case VarCharType() if _STRING in kinds:
            return literal.data(_STRING).decode()
        case DateType() if _DATE in kinds:
            return literal.number(_DATE)
        case DecimalType() if _DECIMAL in kinds:
            found = literal.one(_DECIMAL)
            unscaled = int.from_bytes(found.data(1), "little", signed=True)
            return value_of_decimal(str(Decimal(unscaled).scaleb(-found.number(3))), data_type)
        case TimestampType() if _TIMESTAMP in kinds:
            return value_of_micros(literal.number(_TIMESTAMP), data_type)
        case LocalZonedTimestampType() if _INSTANT in kinds:
            return value_of_micros(literal.number(_INSTANT), data_type)
    return None

"""Parses and binds SQL expressions: the values of an UPDATE, and the conditions and values of a MERGE.

Names are written as in filters. With two relations, a name may be qualified (``target.v`` or ``t.v``, ``source.v`` or
``s.v``), and must be if both have the column. Supported: literals as in filters, ``+ - * /``, comparisons,
AND, OR, NOT, IN, BETWEEN, IS [NOT] NULL / TRUE / FALSE / DISTINCT FROM, CASE, IF, COALESCE, NULLIF, CAST, ``||`` and
CONCAT, UPPER, LOWER, TRIM, LENGTH, SUBSTRING, REPLACE, ABS, ROUND. Everything else is refused with an error that names
it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from typing import Final

from sqlglot import exp, parse

from table_format.codecs.filter_literals import MisfitError, literal_value
from table_format.codecs.filter_sql import FilterDialect
from table_format.codecs.sql_errors import parse_errors_as
from table_format.counted import listed
from table_format.errors import ColumnNotFound, InvalidExpression
from table_format.model.column_names import does_not_exist
from table_format.model.expression import SOURCE, TARGET, Call, CastTo, ColumnOf, Constant, Expression
from table_format.model.types import (
    BigIntType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)

Scope = Mapping[str, Collection[str]]
"""The column names of each relation that an expression may use."""

_ALIASES: Final = {"t": TARGET, "target": TARGET, "s": SOURCE, "source": SOURCE}
_TYPES: Final[Mapping[exp.DType, DataType]] = {
    exp.DType.BOOLEAN: BooleanType(),
    exp.DType.TINYINT: TinyIntType(),
    exp.DType.SMALLINT: SmallIntType(),
    exp.DType.INT: IntType(),
    exp.DType.BIGINT: BigIntType(),
    exp.DType.FLOAT: FloatType(),
    exp.DType.DOUBLE: DoubleType(),
    exp.DType.TEXT: VarCharType(),
    exp.DType.VARCHAR: VarCharType(),
    exp.DType.DATE: DateType(),
    exp.DType.TIMESTAMP: TimestampType(6),
}
_FUNCTIONS: Final[Mapping[type[exp.Expr], tuple[str, tuple[str, ...], tuple[str, ...]]]] = {
    # syntax: function, required arguments, optional arguments
    exp.Add: ("add", ("this", "expression"), ()),
    exp.Sub: ("subtract", ("this", "expression"), ()),
    exp.Mul: ("multiply", ("this", "expression"), ()),
    exp.Div: ("divide", ("this", "expression"), ()),
    exp.EQ: ("equal", ("this", "expression"), ()),
    exp.NEQ: ("not_equal", ("this", "expression"), ()),
    exp.LT: ("less", ("this", "expression"), ()),
    exp.LTE: ("less_equal", ("this", "expression"), ()),
    exp.GT: ("greater", ("this", "expression"), ()),
    exp.GTE: ("greater_equal", ("this", "expression"), ()),
    exp.NullSafeEQ: ("same", ("this", "expression"), ()),
    exp.And: ("and", ("this", "expression"), ()),
    exp.Or: ("or", ("this", "expression"), ()),
    exp.Not: ("not", ("this",), ()),
    exp.DPipe: ("concat", ("this", "expression"), ()),
    exp.Nullif: ("nullif", ("this", "expression"), ()),
    exp.Upper: ("upper", ("this",), ()),
    exp.Lower: ("lower", ("this",), ()),
    exp.Trim: ("trim", ("this",), ()),
    exp.Length: ("length", ("this",), ()),
    exp.Substring: ("substring", ("this", "start"), ("length",)),
    exp.Replace: ("replace", ("this", "expression", "replacement"), ()),
    exp.Abs: ("abs", ("this",), ()),
    exp.Round: ("round", ("this",), ("decimals",)),
}
_MICROSECOND: Final = 1_000
_MILLISECOND: Final = 1_000_000
_MARKS: Final = frozenset({"safe", "typed", "_type", "coalesce"})
"""Arguments that the parser sets for its dialect, which have no effect."""


def parse_expression(text: str, scope: Scope) -> Expression:
    """Parse an expression on the columns of these relations.

    >>> parse_expression("v + s.v", {"target": ["id"], "source": ["v"]})
    Call(function='add', arguments=(ColumnOf(relation='source', name='v'), ColumnOf(relation='source', name='v')))

    Raises:
        ColumnNotFound: the text names a column that does not exist.
        InvalidExpression: the text cannot be parsed, has an ambiguous column, or uses unsupported syntax.
    """
    with parse_errors_as(InvalidExpression, "expression", text):
        trees = parse(text, dialect=FilterDialect)
        if len(trees) != 1 or trees[0] is None:
            message = f"an expression is one value, found {text!r}"
            raise InvalidExpression(message)
        return _Binder(text, scope).bound(trees[0])


class _Binder:
    """Converts syntax trees to expressions on known columns."""

    def __init__(self, text: str, scope: Scope) -> None:
        self._text = text
        self._scope = scope
        self._special: Mapping[type[exp.Expr], Callable[[exp.Expr], Expression]] = {
            exp.Column: self._column,
            exp.Literal: self._literal,
            exp.HexString: lambda node: self._value(node, VarBinaryType()),
            exp.Boolean: lambda node: Constant(bool(node.this), BooleanType()),
            exp.Null: lambda _node: Constant(None, None),
            exp.Neg: self._negated,
            exp.Paren: lambda node: self.bound(node.this),
            exp.Cast: self._cast,
            exp.Case: self._case,
            exp.If: self._if,
            exp.Coalesce: lambda node: self._call("coalesce", (node.this, *node.expressions)),
            exp.Concat: lambda node: self._call("concat", node.expressions),
            exp.In: self._in,
            exp.Between: self._between,
            exp.Is: self._is,
            exp.NullSafeNEQ: lambda node: Call("not", (self._call("same", (node.this, node.expression)),)),
        }

    def bound(self, node: exp.Expr) -> Expression:
        special = self._special.get(type(node))
        if special is not None:
            return special(node)
        known = _FUNCTIONS.get(type(node))
        if known is None:
            raise self._unsupported(node)
        name, needed, optional = known
        self._check_arguments(node, *needed, *optional)
        given = [node.args[key] for key in needed]
        given += [node.args[key] for key in optional if node.args.get(key) is not None]
        return self._call(name, given)

    def _call(self, function: str, arguments: Sequence[exp.Expr]) -> Expression:
        return Call(function, tuple(self.bound(argument) for argument in arguments))

    def _column(self, node: exp.Expr) -> Expression:
        self._check_arguments(node, "this", "table")
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
            raise self._unsupported(node)
        name, qualifier = node.name, node.table
        if qualifier:
            relation = _ALIASES.get(qualifier)
            if relation is None or relation not in self._scope:
                known = " and ".join(self._scope)
                message = f"'{qualifier}.{name}': unknown relation; expected {known}"
                raise self._error(message)
            found = [relation] if name in self._scope[relation] else []
        else:
            found = [relation for relation, names in self._scope.items() if name in names]
        if len(found) > 1:
            message = f"column '{name}' is in {' and '.join(found)}; qualify it, as in {found[-1]}.{name}"
            raise self._error(message)
        if not found:
            by_relation = "; ".join(f"{relation}: {listed(names)}" for relation, names in self._scope.items())
            shown = by_relation if len(self._scope) > 1 else None
            columns = dict.fromkeys(chain(*self._scope.values()))
            message = f"column '{name}' of the expression {self._text!r} {does_not_exist(name, columns, shown=shown)}"
            raise ColumnNotFound(message)
        return ColumnOf(found[0], name)

    def _negated(self, node: exp.Expr) -> Expression:
        if isinstance(node.this, exp.Literal) and not node.this.is_string:
            return self._number(f"-{node.this.this}")
        return self._call("negate", (node.this,))

    def _literal(self, node: exp.Expr) -> Expression:
        if node.args.get("is_string"):
            return Constant(str(node.this), VarCharType())
        return self._number(str(node.this))

    def _number(self, text: str) -> Expression:
        if "e" in text.lower():
            return Constant(float(text), DoubleType())
        number = Decimal(text)
        if "." not in text and -(2**63) <= number < 2**63:
            return Constant(int(number), BigIntType())
        scale = max(0, -int(number.as_tuple().exponent))
        digits = max(len(number.as_tuple().digits), scale)
        if digits > 38:
            message = f"{text} has more than 38 digits"
            raise self._error(message)
        return Constant(number, DecimalType(precision=max(digits, 1), scale=scale))

    def _value(self, node: exp.Expr, data_type: DataType) -> Constant:
        try:
            return Constant(literal_value(node, data_type), data_type)
        except MisfitError as error:
            message = f"expected {error}, found {node.sql(dialect=FilterDialect)}"
            raise self._error(message) from error

    def _cast(self, node: exp.Expr) -> Expression:
        self._check_arguments(node, "this", "to")
        if isinstance(node.this, exp.Literal) and node.this.is_string:
            literal = self._moment(node)
            if literal is not None:
                return literal
        return CastTo(self.bound(node.this), self._type(node.args["to"]))

    def _moment(self, node: exp.Expr) -> Expression | None:
        """Return the value of ``DATE '...'``, ``TIME '...'``, ``TIMESTAMP '...'`` or ``TIMESTAMP_LTZ '...'``."""
        to = node.args["to"]
        if to.this is exp.DType.DATE:
            return self._value(node.this, DateType())
        if to.this is exp.DType.TIME and not to.expressions:
            return self._time_of_day(node)
        if to.this is exp.DType.TIMESTAMPLTZ and not to.expressions:
            return self._instant(node, LocalZonedTimestampType)
        if to.this is exp.DType.TIMESTAMP:
            found, wanted = self._instant(node.this, TimestampType), self._type(to)
            return CastTo(found, wanted) if to.expressions else found
        return None

    def _instant(self, node: exp.Expr, kind: type[TimestampType | LocalZonedTimestampType]) -> Expression:
        # Nanoseconds, which end in 2262, only if the text has them.
        found = self._value(node, kind(9))
        fine = isinstance(found.value, int) and found.value % _MICROSECOND
        return found if fine else Constant(found.value, kind(6))

    def _time_of_day(self, node: exp.Expr) -> Expression:
        found = self._value(node, TimeType(3))
        millis, rest = divmod(found.value, _MILLISECOND) if isinstance(found.value, int) else (0, 0)
        if rest:
            message = f"a TIME has at most three decimals, found {node.sql(dialect=FilterDialect)}"
            raise self._error(message)
        return Constant(millis, TimeType(3))

    def _type(self, node: exp.DataType) -> DataType:
        lengths = [int(str(part.this.this)) for part in node.expressions if isinstance(part, exp.DataTypeParam)]
        kind = node.this
        if kind is exp.DType.DECIMAL:
            precision, scale = (*lengths, *((10, 0)[len(lengths) :]))
            try:
                return DecimalType(precision=precision, scale=scale)
            except ValueError as error:
                raise self._error(str(error)) from error
        if kind is exp.DType.TIMESTAMP and lengths and lengths[0] in range(10):
            return TimestampType(lengths[0])
        known = _TYPES.get(kind) if isinstance(kind, exp.DType) else None
        if known is None or lengths:
            message = f"a cast to {node.sql(dialect=FilterDialect)} is not supported"
            raise self._error(message)
        return known

    def _case(self, node: exp.Expr) -> Expression:
        self._check_arguments(node, "this", "ifs", "default")
        subject = node.args.get("this")
        parts: list[Expression] = []
        for branch in node.args["ifs"]:
            test = self.bound(branch.this)
            parts += [test if subject is None else Call("equal", (self.bound(subject), test))]
            parts += [self.bound(branch.args["true"])]
        default = node.args.get("default")
        return Call("case", (*parts, Constant(None, None) if default is None else self.bound(default)))

    def _if(self, node: exp.Expr) -> Expression:
        self._check_arguments(node, "this", "true", "false")
        otherwise = node.args.get("false")
        last = Constant(None, None) if otherwise is None else self.bound(otherwise)
        return Call("case", (self.bound(node.this), self.bound(node.args["true"]), last))

    def _in(self, node: exp.Expr) -> Expression:
        self._check_arguments(node, "this", "expressions")
        subject = self.bound(node.this)
        tests = [Call("equal", (subject, self.bound(item))) for item in node.expressions]
        found: Expression = tests[0]
        for test in tests[1:]:
            found = Call("or", (found, test))
        return found

    def _between(self, node: exp.Expr) -> Expression:
        self._check_arguments(node, "this", "low", "high")
        low, high = node.args["low"], node.args["high"]
        return Call("and", (self._call("greater_equal", (node.this, low)), self._call("less_equal", (node.this, high))))

    def _is(self, node: exp.Expr) -> Expression:
        self._check_arguments(node, "this", "expression")
        match node.expression:
            case exp.Null():
                return self._call("is_null", (node.this,))
            case exp.Boolean():
                return self._call("same", (node.this, node.expression))
            case _:
                raise self._unsupported(node)

    def _check_arguments(self, node: exp.Expr, *known: str) -> None:
        """Refuse syntax that would otherwise be ignored silently."""
        if any(value for name, value in node.args.items() if name not in known and name not in _MARKS):
            raise self._unsupported(node)

    def _unsupported(self, node: exp.Expr) -> InvalidExpression:
        name = str(node.this).upper() if isinstance(node, exp.Anonymous) else type(node).__name__
        return self._error(f"{name} is not supported, in '{node.sql(dialect=FilterDialect)}'")

    def _error(self, message: str) -> InvalidExpression:
        return InvalidExpression(f"expression {self._text!r}: {message}")

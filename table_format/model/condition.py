"""Filters as objects: ``col("amount") > 10`` is equivalent to the text ``amount > 10``.

A condition contains column names and Python values, and does not depend on a schema. ``codecs.filter_sql`` binds it to
the columns of a table, in the same way as a text. Its ``repr`` is that text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from numbers import Integral
from typing import NoReturn, TypeAlias

from table_format.errors import InvalidFilter
from table_format.model.arguments import shown
from table_format.model.filter_text import FilterValue, name_text, value_text
from table_format.model.predicate import CompareOp, Predicate


class Condition:
    """A filter that was built in Python; ``&``, ``|`` and ``~`` combine conditions.

    >>> from table_format import col
    >>> (col("amount") > 10) & (col("state") == "open") | col("amount").is_null()
    (amount > 10 AND state = 'open') OR amount IS NULL
    """

    __slots__ = ()

    def __and__(self, other: Condition) -> Condition:
        return AllConditions((*_parts(self, AllConditions), *_parts(other, AllConditions)))

    def __or__(self, other: Condition) -> Condition:
        return AnyCondition((*_parts(self, AnyCondition), *_parts(other, AnyCondition)))

    def __invert__(self) -> Condition:
        return NotCondition(self)

    def __bool__(self) -> NoReturn:
        message = (
            f"the condition '{self!r}' is neither true nor false without rows: combine conditions with & | ~, each in "
            "parentheses, not with and, or, not; use between() instead of a < x < b, and is_in() instead of in"
        )
        raise InvalidFilter(message)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Column(Condition):
    """A column, by name, of the table to filter; comparing it with a value creates a condition.

    A BOOLEAN column is itself a condition. Values are ``bool``, ``int``, ``float``, ``Decimal``, ``str``, ``bytes``,
    ``date``, ``datetime`` and ``time``. They are compared in the same way as literals in filter texts: exactly, and
    dates and times may be given as text. For a TIMESTAMP WITH LOCAL TIME ZONE, a ``datetime`` without a zone is in UTC.

    Every comparison raises ``InvalidFilter`` for a value of another Python type. Whether the value is valid for the
    type of the column is checked when the condition is used.
    """

    name: str

    def __repr__(self) -> str:
        return name_text(self.name)

    def __eq__(self, value: object) -> Condition:  # type: ignore[override]  # a comparison creates a condition
        return self._compared(CompareOp.EQ, value)

    def __ne__(self, value: object) -> Condition:  # type: ignore[override]  # as above
        return self._compared(CompareOp.NE, value)

    def __lt__(self, value: FilterValue) -> Condition:
        return self._compared(CompareOp.LT, value)

    def __le__(self, value: FilterValue) -> Condition:
        return self._compared(CompareOp.LE, value)

    def __gt__(self, value: FilterValue) -> Condition:
        return self._compared(CompareOp.GT, value)

    def __ge__(self, value: FilterValue) -> Condition:
        return self._compared(CompareOp.GE, value)

    def is_in(self, values: Iterable[FilterValue]) -> Condition:
        """Return the condition that the column has one of the values.

        >>> Column("state").is_in(["open", "paid"])
        state IN ('open', 'paid')
        """
        if isinstance(values, str | bytes | Condition) or not isinstance(values, Iterable):
            message = f"is_in of column '{self.name}': expected several values, found {shown(values)}"
            raise InvalidFilter(message)
        return IsOneOf(self.name, tuple(_value(self.name, value) for value in values))

    def not_in(self, values: Iterable[FilterValue]) -> Condition:
        """Return the condition that the column has a value, but none of these.

        >>> Column("id").not_in(range(3))
        id NOT IN (0, 1, 2)
        """
        return ~self.is_in(values)

    def between(self, low: FilterValue, high: FilterValue) -> Condition:
        """Return the condition that the value is from ``low`` to ``high``, both included.

        >>> Column("amount").between(1, 9.5)
        amount BETWEEN 1 AND 9.5
        """
        return IsBetween(self.name, _value(self.name, low), _value(self.name, high))

    def is_null(self) -> Condition:
        """Return the condition that the column is null.

        >>> Column("amount").is_null()
        amount IS NULL
        """
        return HasNoValue(self.name)

    def is_not_null(self) -> Condition:
        """Return the condition that the column is not null.

        >>> Column("amount").is_not_null()
        amount IS NOT NULL
        """
        return ~self.is_null()

    def starts_with(self, value: str | bytes) -> Condition:
        """Return the condition that the text or the bytes of the column start with ``value``.

        >>> Column("city").starts_with("San ")
        starts_with(city, 'San ')
        """
        return self._compared(CompareOp.STARTS_WITH, value)

    def ends_with(self, value: str | bytes) -> Condition:
        """Return the condition that the text or the bytes of the column end with ``value``.

        >>> Column("file").ends_with(".csv")
        ends_with(file, '.csv')
        """
        return self._compared(CompareOp.ENDS_WITH, value)

    def contains(self, value: str | bytes) -> Condition:
        """Return the condition that the text or the bytes of the column contain ``value``.

        >>> Column("note").contains("urgent")
        contains(note, 'urgent')
        """
        return self._compared(CompareOp.CONTAINS, value)

    def like(self, pattern: str) -> Condition:
        """Return the condition that the text of the column matches a pattern.

        ``%`` matches any text, ``_`` one character, and a backslash makes the next character an ordinary one.

        >>> Column("city").like("San _%")
        city LIKE 'San _%'
        """
        return FitsPattern(self.name, _pattern(self.name, pattern))

    def _compared(self, op: CompareOp, value: object) -> Condition:
        return Comparison(self.name, op, _value(self.name, value))


def col(name: str) -> Column:
    """Return a column from which to build a filter. Whether the column exists is checked when the filter is used.

    >>> col("amount").between(1, 10) & ~col("state").is_in(["void", "lost"])
    amount BETWEEN 1 AND 10 AND state NOT IN ('void', 'lost')
    >>> col("amount") == None
    Traceback (most recent call last):
    table_format.errors.InvalidFilter: column 'amount' is compared with None: use is_null() or is_not_null()

    Raises:
        InvalidFilter: the name is not a text.
    """
    if not isinstance(name, str) or not name:
        message = f"col: expected the name of a column, found {shown(name)}"
        raise InvalidFilter(message)
    return Column(name)


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Condition):
    """``column op value``."""

    column: str
    op: CompareOp
    value: FilterValue

    def __repr__(self) -> str:
        column, value = name_text(self.column), value_text(self.value)
        if self.op in (CompareOp.STARTS_WITH, CompareOp.ENDS_WITH, CompareOp.CONTAINS):
            return f"{self.op.value}({column}, {value})"
        return f"{column} {self.op.value} {value}"


@dataclass(frozen=True, slots=True, repr=False)
class IsOneOf(Condition):
    """``column IN (values)``."""

    column: str
    values: tuple[FilterValue, ...]

    def __repr__(self) -> str:
        return self.text("IN")

    def text(self, operator: str) -> str:
        """Return the text of the condition with this operator."""
        return f"{name_text(self.column)} {operator} ({', '.join(map(value_text, self.values))})"


@dataclass(frozen=True, slots=True, repr=False)
class IsBetween(Condition):
    """``column BETWEEN low AND high``."""

    column: str
    low: FilterValue
    high: FilterValue

    def __repr__(self) -> str:
        return f"{name_text(self.column)} BETWEEN {value_text(self.low)} AND {value_text(self.high)}"


@dataclass(frozen=True, slots=True, repr=False)
class HasNoValue(Condition):
    """``column IS NULL``."""

    column: str

    def __repr__(self) -> str:
        return self.text("IS NULL")

    def text(self, operator: str) -> str:
        """Return the text of the condition with this operator."""
        return f"{name_text(self.column)} {operator}"


@dataclass(frozen=True, slots=True, repr=False)
class FitsPattern(Condition):
    """``column LIKE pattern``."""

    column: str
    pattern: str

    def __repr__(self) -> str:
        return self.text("LIKE")

    def text(self, operator: str) -> str:
        """Return the text of the condition with this operator."""
        return f"{name_text(self.column)} {operator} {value_text(self.pattern)}"


@dataclass(frozen=True, slots=True, repr=False)
class AllConditions(Condition):
    """All parts hold."""

    parts: tuple[Condition, ...]

    def __repr__(self) -> str:
        return " AND ".join(map(_part_text, self.parts))


@dataclass(frozen=True, slots=True, repr=False)
class AnyCondition(Condition):
    """At least one part holds."""

    parts: tuple[Condition, ...]

    def __repr__(self) -> str:
        return " OR ".join(map(_part_text, self.parts))


@dataclass(frozen=True, slots=True, repr=False)
class NotCondition(Condition):
    """The part does not hold; unknown stays unknown."""

    part: Condition

    def __repr__(self) -> str:
        match self.part:
            case IsOneOf():
                return self.part.text("NOT IN")
            case HasNoValue():
                return self.part.text("IS NOT NULL")
            case FitsPattern():
                return self.part.text("NOT LIKE")
            case Column():
                return f"NOT {self.part!r}"
            case _:
                return f"NOT ({self.part!r})"


Filter: TypeAlias = str | Condition | Predicate
"""A filter: SQL text, a condition built with ``col``, or a predicate that is bound to a schema."""


def _parts(condition: object, kind: type[AllConditions | AnyCondition]) -> tuple[Condition, ...]:
    """Return the parts of a condition of this kind, so that a long chain is stored as one level."""
    if isinstance(condition, kind):
        return condition.parts
    if isinstance(condition, Condition):
        return (condition,)
    message = (
        f"a condition is combined with {shown(condition)}: put each comparison in parentheses, as in "
        "(col('a') > 1) & (col('b') == 'x')"
    )
    raise InvalidFilter(message)


def _part_text(part: Condition) -> str:
    return f"({part!r})" if isinstance(part, AllConditions | AnyCondition) else repr(part)


def _pattern(column: str, pattern: object) -> str:
    if isinstance(pattern, str):
        return pattern
    message = f"LIKE for column '{column}': expected a pattern, found {shown(pattern)}"
    raise InvalidFilter(message)


def _value(column: str, value: object) -> FilterValue:
    match value:
        case bool() | Decimal() | bytes() | date() | time():
            return value
        case float():
            return float(value)
        case str():
            return str.__str__(value)
        case Integral():
            return int(value)
        case None:
            message = f"column '{column}' is compared with None: use is_null() or is_not_null()"
            raise InvalidFilter(message)
        case Column(name=other):
            message = f"column '{column}' is compared with column '{other}': a filter compares a column with values"
            raise InvalidFilter(message)
        case _:
            message = (
                f"column '{column}' is compared with {shown(value)}: expected a bool, int, float, Decimal, str, bytes, "
                "date, datetime or time"
            )
            raise InvalidFilter(message)

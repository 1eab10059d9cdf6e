"""Predicates on columns, such as filters; they do not define how to evaluate them.

A predicate is *bound*: it names columns of a schema, and its literals are internal values of the column's type
(``table_format.model.types``). The logic is three-valued as in SQL: a comparison with null is unknown and selects
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

from table_format.model.types import InternalValue

_Form = TypeVar("_Form")


class CompareOp(StrEnum):
    """The comparison of a column with a value; the last three are for text and bytes."""

    EQ = "="
    NE = "<>"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    STARTS_WITH = "starts_with"
    ENDS_WITH = "ends_with"
    CONTAINS = "contains"


@dataclass(frozen=True, slots=True)
class Compare:
    """``column op value``; the value is never null."""

    column: str
    op: CompareOp
    value: InternalValue


@dataclass(frozen=True)
class In:
    """``column IN (values)``; no value is null."""

    column: str
    values: tuple[InternalValue, ...]

    def __reduce__(self) -> tuple[type[In], tuple[str, tuple[InternalValue, ...]]]:
        return (In, (self.column, self.values))

    def prepared(self, name: Hashable, form: Callable[[], _Form]) -> _Form:
        """Return the values in some form, computed only once, because there may be as many files as values.

        >>> condition = In("a", (3, 1))
        >>> condition.prepared("sorted", lambda: sorted(condition.values))
        [1, 3]
        """
        if name not in self._prepared:
            self._prepared[name] = form()
        found: _Form = self._prepared[name]
        return found

    @cached_property
    def _prepared(self) -> dict[Hashable, Any]:
        return {}


@dataclass(frozen=True, slots=True)
class SortedValues:
    """Values of an IN for binary search, those of each kind apart."""

    numbers: tuple[bool | int | float | Decimal, ...]
    texts: tuple[str, ...]
    data: tuple[bytes, ...]
    has_nan: bool

    @classmethod
    def of(cls, values: tuple[InternalValue, ...]) -> SortedValues:
        """Sort values.

        >>> SortedValues.of((3, "b", 1.5, "a"))
        SortedValues(numbers=(1.5, 3), texts=('a', 'b'), data=(), has_nan=False)
        """
        numbers = [value for value in values if isinstance(value, bool | int | float | Decimal)]
        known = [number for number in numbers if not math.isnan(number)]
        return cls(
            numbers=tuple(sorted(known)),
            texts=tuple(sorted(value for value in values if isinstance(value, str))),
            data=tuple(sorted(value for value in values if isinstance(value, bytes))),
            has_nan=len(known) < len(numbers),
        )


def in_order(condition: In) -> SortedValues:
    """Return the values of an IN for binary search."""
    return condition.prepared(SortedValues, lambda: SortedValues.of(condition.values))


@dataclass(frozen=True, slots=True)
class Like:
    """``column LIKE pattern`` with ``%`` and ``_`` and the escape character ``\\``."""

    column: str
    pattern: str


@dataclass(frozen=True, slots=True)
class IsNull:
    """``column IS NULL``."""

    column: str


@dataclass(frozen=True, slots=True)
class And:
    """All parts hold."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one part holds."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold; unknown stays unknown."""

    part: Predicate


@dataclass(frozen=True, slots=True)
class Literal:
    """A condition that does not depend on the row: TRUE, FALSE, or unknown (``None``)."""

    value: bool | None


Predicate: TypeAlias = Compare | In | Like | IsNull | And | Or | Not | Literal


def columns_of(predicate: Predicate) -> frozenset[str]:
    """Return the columns that a predicate reads.

    >>> sorted(columns_of(And((IsNull("a"), Compare("b", CompareOp.EQ, 1)))))
    ['a', 'b']
    """
    return frozenset(_columns(predicate))


def _columns(predicate: Predicate) -> Iterator[str]:
    match predicate:
        case And(parts) | Or(parts):
            for part in parts:
                yield from _columns(part)
        case Not(part):
            yield from _columns(part)
        case Compare(column=column) | In(column=column) | Like(column=column) | IsNull(column=column):
            yield column
        case Literal():
            return


def conjuncts(predicate: Predicate | None) -> tuple[Predicate, ...]:
    """Return the parts of a top-level AND, flattened; empty without a predicate."""
    match predicate:
        case None:
            return ()
        case And(parts):
            return tuple(inner for part in parts for inner in conjuncts(part))
        case _:
            return (predicate,)


def conjunction(parts: tuple[Predicate, ...]) -> Predicate | None:
    """Return one predicate for all parts; ``None`` without parts."""
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else And(parts)


def only_on(predicate: Predicate | None, columns: frozenset[str]) -> Predicate | None:
    """Return the strongest conjunction implied by ``predicate`` that reads only ``columns``."""
    return conjunction(tuple(p for p in conjuncts(predicate) if columns_of(p) <= columns))

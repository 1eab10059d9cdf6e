"""The result of a file index for a condition, and the combination of results with AND and OR.

``Skip``: no row of the file matches. ``Rows``: only these rows may match. ``Unknown``: any row may match. For ``Rows``,
a reader reads only these positions of the file. If they are not exact, it still evaluates the condition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from pyroaring import BitMap

from table_format.kernels.predicate import normalise
from table_format.model.predicate import And, Compare, In, IsNull, Like, Literal, Not, Or, Predicate


@dataclass(frozen=True, slots=True)
class Skip:
    """No row of the file matches the condition."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The index cannot evaluate the condition: any row may match."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The positions in the file, from 0, of all matching rows; if not ``is_exact``, perhaps also of other rows.

    The set is never empty and must not be changed.
    """

    positions: BitMap
    is_exact: bool


IndexResult: TypeAlias = Skip | Rows | Unknown
Leaf: TypeAlias = Compare | In | Like | IsNull | Not
"""A condition on one column. ``Not`` is used for NOT IN, IS NOT NULL and NOT LIKE."""

SKIP: Final = Skip()
UNKNOWN: Final = Unknown()


def rows(positions: BitMap, *, is_exact: bool = True) -> Skip | Rows:
    """Return the result for these positions; ``Skip`` if there are none.

    >>> rows(BitMap())
    Skip()
    """
    return Rows(positions, is_exact) if positions else SKIP


def evaluate(predicate: Predicate, leaf: Callable[[Leaf], IndexResult]) -> IndexResult:
    """Evaluate a predicate on indexes, given a function that evaluates a condition on one column.

    NOT is first moved to the leaves, where each condition has its opposite in the three-valued logic of SQL. So results
    are never inverted, and rows with nulls match neither a condition nor its opposite.

    >>> from table_format.model.predicate import CompareOp
    >>> known = {"a": rows(BitMap([1, 2])), "b": rows(BitMap([2, 3]), is_exact=False), "c": UNKNOWN, "d": SKIP}
    >>> a, b, c, d = (Compare(column, CompareOp.EQ, 1) for column in "abcd")
    >>> evaluate(And((a, b, c)), lambda leaf: known[leaf.column])
    Rows(positions=BitMap([2]), is_exact=False)
    >>> evaluate(Or((And((a, d)), b)), lambda leaf: known[leaf.column])
    Rows(positions=BitMap([2, 3]), is_exact=False)
    """
    return evaluate_normal(normalise(predicate), leaf)


def evaluate_normal(predicate: Predicate, leaf: Callable[[Leaf], IndexResult]) -> IndexResult:
    """Evaluate a predicate that is already normalised; see ``evaluate``."""
    match predicate:
        case And(parts):
            return _every(evaluate_normal(part, leaf) for part in parts)
        case Or(parts):
            return _any(evaluate_normal(part, leaf) for part in parts)
        case Literal(value):
            return UNKNOWN if value is True else SKIP
        case _:
            return leaf(predicate)


def _every(results: Iterable[IndexResult]) -> IndexResult:
    """Return the rows that match all conditions; stop evaluating when no row is left."""
    found: Rows | None = None
    is_exact = True
    for result in results:
        match result:
            case Skip():
                return SKIP
            case Unknown():
                is_exact = False
            case Rows(positions, exact):
                is_exact &= exact
                if found is not None:
                    positions = found.positions & positions
                    if not positions:
                        return SKIP
                found = Rows(positions, is_exact)
    return UNKNOWN if found is None else Rows(found.positions, is_exact)


def _any(results: Iterable[IndexResult]) -> IndexResult:
    """Return the rows that match any condition; ``Unknown`` if any result is unknown."""
    known: list[Rows] = []
    for result in results:
        match result:
            case Unknown():
                return UNKNOWN
            case Rows():
                known.append(result)
    return (
        rows(BitMap.union(*(each.positions for each in known)), is_exact=all(each.is_exact for each in known))
        if known
        else SKIP
    )


def narrowed(results: Iterable[IndexResult]) -> IndexResult:
    """Combine the results of several indexes of one column for the same condition. The first exact result is enough.

    >>> narrowed([UNKNOWN, rows(BitMap([1, 2]), is_exact=False), rows(BitMap([1]))])
    Rows(positions=BitMap([1]), is_exact=True)
    """
    found: IndexResult = UNKNOWN
    for result in results:
        match result:
            case Skip():
                return SKIP
            case Rows(is_exact=True):
                return result
            case Rows(positions) if isinstance(found, Rows):
                found = rows(found.positions & positions, is_exact=False)
                if found == SKIP:
                    return SKIP
            case Rows():
                found = result
    return found

"""Finds the conditions of a query that every row it needs from a table meets.

These are the parts of a WHERE that compare a column of a table in the same FROM with literals. Either the table is the
only one there, or all joins are inner joins and the column is qualified with the name of the table. The engine tests
the conditions again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, TypeAlias, TypeGuard

from sqlglot import exp

from table_format.sql.pipes import has_pipes
from table_format.sql.references import tree_of

LiteralValue: TypeAlias = int | str | date


@dataclass(frozen=True, slots=True)
class Condition:
    """``column operator value``. IN has several values, IS NOT NULL has none."""

    column: str
    operator: str
    values: tuple[LiteralValue, ...] = ()


_OPERATORS: Final[Mapping[type[exp.Expr], str]] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_INNER: Final = ("", "INNER", "CROSS")


def conditions_of(text: str, parameters: Mapping[str, object] | None = None) -> Mapping[int, tuple[Condition, ...]]:
    """Return the conditions on each table, by the offset of its name in the text.

    >>> conditions_of("SELECT * FROM t WHERE a > 1 AND f(b) = 2")
    {14: (Condition(column='a', operator='>', values=(1,)),)}

    Raises:
        InvalidSql: the query cannot be parsed.
    """
    if has_pipes(text):
        return {}
    found: dict[int, tuple[Condition, ...]] = {}
    for select in tree_of(text).find_all(exp.Select):
        where = select.args.get("where")
        if isinstance(where, exp.Where):
            found.update(_of_select(select, where, parameters or {}))
    return found


def _of_select(
    select: exp.Select, where: exp.Where, parameters: Mapping[str, object]
) -> Iterator[tuple[int, tuple[Condition, ...]]]:
    joins: Sequence[exp.Join] = select.args.get("joins") or ()
    if not all(_is_inner(join) for join in joins):
        return
    source = select.args.get("from_")
    places = [source.this] if isinstance(source, exp.From) else []
    places += [join.this for join in joins]
    alone = len(places) == 1 and not select.args.get("laterals")
    parts = list(_parts(where.this))
    for table in places:
        if not is_plain(table):
            continue
        name = table.alias_or_name.lower()
        wanted = [c for part in parts for c in _read(part, name if not alone else None, name, parameters)]
        if wanted:
            yield start_of(table), tuple(wanted)


def conditions_of_parts(where: exp.Expr, name: str, parameters: Mapping[str, object]) -> tuple[Condition, ...] | None:
    """The conditions that a WHERE on the only table of a query consists of; ``None`` if there are others in it."""
    found: list[Condition] = []
    for part in _parts(where):
        read = list(_read(part, None, name, parameters))
        if len(read) != (2 if isinstance(part, exp.Between) else 1):
            return None
        found += read
    return tuple(found)


def start_of(table: exp.Table) -> int:
    """Return the offset of the name of a plain table in the text."""
    return min(int(part.meta["start"]) for part in table.parts)


def _is_inner(join: exp.Join) -> bool:
    kind = str(join.args.get("kind") or "").upper()
    return kind in _INNER and not join.args.get("side") and not join.args.get("method")


def is_plain(table: exp.Expr) -> TypeGuard[exp.Table]:
    """Whether this is a table by its name, all of its rows, with the names of its own columns."""
    if not isinstance(table, exp.Table) or table.args.get("sample") or table.args.get("pivots"):
        return False
    alias = table.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.columns:
        return False
    return all(isinstance(part, exp.Identifier) and "start" in part.meta for part in table.parts)


def _parts(condition: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(condition, exp.And):
        yield from _parts(condition.left)
        yield from _parts(condition.right)
    elif isinstance(condition, exp.Paren):
        yield from _parts(condition.this)
    else:
        yield condition


def _read(part: exp.Expr, required: str | None, name: str, parameters: Mapping[str, object]) -> Iterator[Condition]:
    match part:
        case exp.Not(this=exp.Is(this=exp.Column() as column, expression=exp.Null())):
            operator, literals = "IS NOT NULL", []
        case exp.In(this=exp.Column() as column) if part.expressions and not part.args.get("query"):
            operator, literals = "IN", part.expressions
        case exp.Between(this=exp.Column() as column):
            for bound, limit in ((">=", part.args["low"]), ("<=", part.args["high"])):
                yield from _condition(column, bound, [limit], required, name, parameters)
            return
        case exp.Binary(this=exp.Column() as column) if type(part) in _OPERATORS:
            operator, literals = _OPERATORS[type(part)], [part.expression]
        case exp.Binary(expression=exp.Column() as column) if type(part) in _OPERATORS:
            written = _OPERATORS[type(part)]
            operator, literals = _MIRRORED.get(written, written), [part.this]
        case _:
            return
    yield from _condition(column, operator, literals, required, name, parameters)


def _condition(
    column: exp.Column,
    operator: str,
    literals: Sequence[exp.Expr],
    required: str | None,
    name: str,
    parameters: Mapping[str, object],
) -> Iterator[Condition]:
    qualifier = column.table.lower()
    if column.args.get("db") or qualifier not in ((required,) if required is not None else ("", name)):
        return
    values = [_value(literal, parameters) for literal in literals]
    known = tuple(value for value in values if value is not None)
    if len(known) == len(values):
        yield Condition(column.name, operator, known)


def _value(literal: exp.Expr, parameters: Mapping[str, object]) -> LiteralValue | None:
    match literal:
        case exp.Literal(is_string=True):
            return str(literal.this)
        case exp.Literal() if str(literal.this).isdigit():
            return int(literal.this)
        case exp.Neg(this=exp.Literal(is_string=False) as number) if str(number.this).isdigit():
            return -int(number.this)
        case exp.Placeholder():
            value = parameters.get(literal.name)
            return value if isinstance(value, int | str) and not isinstance(value, bool) else None
        case exp.Cast(this=exp.Literal(is_string=True) as text) if literal.is_type(exp.DataType.Type.DATE):
            try:
                return date.fromisoformat(str(text.this))
            except ValueError:
                return None
        case exp.Cast(this=exp.Literal(is_string=False) as number) if literal.is_type(exp.DataType.Type.BIGINT):
            return int(number.this) if str(number.this).isdigit() else None
    return None

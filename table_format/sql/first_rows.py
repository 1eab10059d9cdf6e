"""Converts the LIMIT of a query to the first rows that it needs from its only table, if the text makes that certain.

The query selects columns of one table, with conditions that compare columns with literals, and orders the rows by
columns. Nothing joins, groups, samples or adds rows before the limit. The engine sorts and limits once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from table_format.model.row_order import OrderedColumn, RowLimit
from table_format.sql.conditions import Condition, conditions_of_parts, is_plain, start_of
from table_format.sql.pipes import has_pipes
from table_format.sql.references import tree_of

_HARMLESS: Final = {"expressions", "from_", "where", "order", "limit", "offset", "hint"}
"""The parts of a SELECT that neither add nor remove rows, except through the limit and the conditions read here."""


@dataclass(frozen=True, slots=True)
class FirstRows:
    """The first rows that meet all conditions, of the table whose name has the offset ``start`` in the text."""

    start: int
    limit: RowLimit
    conditions: tuple[Condition, ...] = ()


def first_rows_of(text: str, parameters: Mapping[str, object] | None = None) -> FirstRows | None:
    """Return the first rows that a query needs; ``None`` if it may need other rows.

    >>> first_rows_of("SELECT * FROM t WHERE a > 1 ORDER BY b DESC LIMIT 10 OFFSET 5").limit
    RowLimit(count=15, order=(OrderedColumn(column='b', descending=True, nulls_first=False),))
    >>> first_rows_of("SELECT count(*) FROM t LIMIT 10")

    Raises:
        InvalidSql: the query cannot be parsed.
    """
    if has_pipes(text):
        return None
    select = tree_of(text)
    if not isinstance(select, exp.Select) or {name for name, part in select.args.items() if part} - _HARMLESS:
        return None
    source = select.args.get("from_")
    table = source.this if isinstance(source, exp.From) else None
    if table is None or not is_plain(table):
        return None
    known = parameters or {}
    name = table.alias_or_name.lower()
    count, offset = _count(select.args.get("limit"), known), _count(select.args.get("offset"), known)
    order = _order(select, name)
    if count is None or order is None or (offset is None and select.args.get("offset")):
        return None
    where = select.args.get("where")
    conditions = conditions_of_parts(where.this, name, known) if isinstance(where, exp.Where) else ()
    return (
        None if conditions is None else FirstRows(start_of(table), RowLimit(count + (offset or 0), order), conditions)
    )


def _count(clause: exp.Expr | None, parameters: Mapping[str, object]) -> int | None:
    number = clause.expression if isinstance(clause, exp.Limit | exp.Offset) else None
    if isinstance(number, exp.Literal) and str(number.this).isdigit():
        return int(number.this)
    value = parameters.get(number.name) if isinstance(number, exp.Placeholder) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _order(select: exp.Select, name: str) -> tuple[OrderedColumn, ...] | None:
    """Return the order by columns of the table; ``None`` for another order, or if an expression is selected."""
    selected = list(_selected(select.expressions, name))
    if None in selected:
        return None
    order = select.args.get("order")
    found = []
    for item in order.expressions if isinstance(order, exp.Order) else ():
        column = _column(item.this, name) if isinstance(item, exp.Ordered) and not item.args.get("with_fill") else None
        if column is not None and not item.this.table:
            column = _meant(column, [pair for pair in selected if pair is not None])
        if column is None:
            return None
        found.append(OrderedColumn(column, bool(item.args.get("desc")), bool(item.args.get("nulls_first"))))
    return tuple(found)


def _meant(name: str, selected: Sequence[tuple[str, str]]) -> str | None:
    """Return the column that a name in the ORDER BY means: a column with this alias, or else the column itself.

    Return ``None`` if the meaning is uncertain: several columns have the alias, or it depends on upper and lower case.
    """
    same = {pair for pair in selected if pair[0].lower() == name.lower()}
    if all(column.lower() == name.lower() for _, column in same):
        return name
    (shown, column), *more = same
    return column if shown == name and not more else None


def _selected(items: Sequence[exp.Expr], name: str) -> Iterator[tuple[str, str] | None]:
    """Yield the alias and column of each selected column; ``None`` for an expression. A star has no aliases."""
    for item in items:
        if isinstance(item, exp.Star) and not any(item.args.values()):
            continue
        if isinstance(item, exp.Column) and isinstance(item.this, exp.Star) and not any(item.this.args.values()):
            continue
        column = _column(item.unalias(), name)
        yield None if column is None else (item.alias_or_name, column)


def _column(item: exp.Expr, name: str) -> str | None:
    if not isinstance(item, exp.Column) or item.args.get("db") or item.table.lower() not in ("", name):
        return None
    return item.name

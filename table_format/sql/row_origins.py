"""Finds the columns of a query that say from which rows of a table each row of its result comes.

If every row of the result with the value v in a column comes only from rows of a table for which an expression is v,
then new rows of the table change only the rows of the result with the values of that expression. sqlglot resolves the
names of a query; what is not certain counts as no origin.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify

from table_format.errors import InvalidSql
from table_format.sql.pipes import has_pipes
from table_format.sql.references import tree_of

_DIALECT: Final = "spark"
_CLAUSES: Final = frozenset({"expressions", "from_", "joins", "where", "group", "having", "order", "distinct", "with_"})
"""The clauses of a SELECT that keep rows apart whose origins differ, under the conditions that are tested."""

_ORIGINS: Final = (
    *(
        exp.Column,
        exp.Literal,
        exp.Boolean,
        exp.Null,
        exp.Paren,
        exp.Neg,
        exp.Add,
        exp.Sub,
        exp.Mul,
        exp.Mod,
        exp.DPipe,
    ),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.And, exp.Or, exp.Not, exp.Is, exp.In, exp.Case, exp.If),
    *(exp.Cast, exp.TryCast, exp.Coalesce, exp.Concat, exp.Upper, exp.Lower, exp.Substring, exp.Abs, exp.Floor),
    *(
        exp.Year,
        exp.Month,
        exp.Day,
        exp.TsOrDsToDate,
        exp.TimeToStr,
        exp.TimeStrToTime,
        exp.TimestampTrunc,
        exp.DateTrunc,
    ),
)
"""Expressions that sqlglot writes as it has read them, so that their values stay the same."""

_WITHIN_ORIGINS: Final = (*_ORIGINS, exp.Identifier, exp.DataType, exp.DataTypeParam, exp.Var)


@dataclass(frozen=True, slots=True)
class Origin:
    """The expression of a column of a query, as SQL over ``columns`` of one table."""

    expression: str
    columns: frozenset[str]


def origins_in(
    query: str, table: str, columns: Mapping[str, Sequence[str]], wanted: Sequence[str]
) -> Mapping[str, Origin]:
    """Return the origin in a table of each wanted column of a query; a column without one is left out.

    ``columns`` are those of all tables ``database.table`` that the query reads, also through views.

    >>> origins_in("SELECT day AS d, sum(n) FROM `s`.`t` GROUP BY day", "s.t", {"s.t": ["day", "n"]}, ["d"])
    {'d': Origin(expression='`day`', columns=frozenset({'day'}))}
    """
    spellings = {column.lower(): column for column in columns[table]}
    if len(spellings) < len(columns[table]) or has_pipes(query):
        return {}
    tree = _qualified(query, columns)
    if tree is None or not _is_read_once(tree, table.lower()):
        return {}
    found = {name: _traced(tree, name.lower(), table.lower(), {}) for name in wanted}
    return {name: _origin(traced, spellings) for name, traced in found.items() if traced is not None}


def _qualified(query: str, columns: Mapping[str, Sequence[str]]) -> exp.Expr | None:
    schema: dict[str, dict[str, object]] = {}
    for name, known in columns.items():
        database, _, table = name.lower().partition(".")
        schema.setdefault(database, {})[table] = {column.lower(): "string" for column in known}
    if sum(map(len, schema.values())) < len(columns):
        return None  # names that differ only in case
    try:
        return qualify(tree_of(query).copy(), schema={**schema}, dialect=_DIALECT)
    except (SqlglotError, InvalidSql, RecursionError):
        return None


def _is_read_once(tree: exp.Expr, table: str) -> bool:
    """Return whether a query reads a table once, also if each query of a WITH clause is read where it is named."""
    uses = Counter(map(_name_of, tree.find_all(exp.Table)))
    named = Counter(each.alias.lower() for each in tree.find_all(exp.CTE))
    return uses[table] == 1 and all(count == 1 and uses[name] <= 1 for name, count in named.items())


def _name_of(table: exp.Table) -> str:
    """Return ``database.table``, or the name of a query of a WITH clause."""
    return f"{table.db}.{table.name}".lower() if table.db else table.name.lower()


def _traced(query: exp.Expr | None, name: str, table: str, named: Mapping[str, exp.Expr]) -> exp.Expr | None:
    """Return a column of a query as an expression over the columns of the table; ``None`` if that is not certain.

    ``named`` are the queries of WITH clauses around this one.
    """
    if isinstance(query, exp.Subquery):
        is_plain = not {key for key, value in query.args.items() if value} - {"this", "alias"}
        return _traced(query.this, name, table, named) if is_plain else None
    if not isinstance(query, exp.Select) or {key for key, value in query.args.items() if value} - _CLAUSES:
        return None
    computed = [each.unalias() for each in query.selects if each.alias_or_name.lower() == name]
    if len(computed) != 1 or not _keeps_apart(query, computed[0]):
        return None
    used = list(computed[0].find_all(exp.Column))
    names = {column.table.lower() for column in used if len(column.parts) == 2}
    if len(names) != 1 or any(len(column.parts) != 2 for column in used):
        return None
    relation = _relation(query, names.pop())
    if relation is None:
        return None
    named = {**named, **{each.alias.lower(): each.this for each in query.ctes}}
    return _over_table(computed[0], relation, table, named)


def _keeps_apart(query: exp.Select, value: exp.Expr) -> bool:
    """Return whether no row of a SELECT comes from rows with different values of an expression."""
    if not all(type(node) in _WITHIN_ORIGINS for node in value.walk()):
        return False
    distinct = query.args.get("distinct")
    if distinct is not None and distinct.args.get("on") is not None:
        return False
    if not all(value in window.args.get("partition_by", ()) for window in _own(query, exp.Window)):
        return False
    group = query.args.get("group")
    if group is None:
        return all(node.find_ancestor(exp.Window) is not None for node in _own(query, exp.AggFunc))
    grouped = {key for key, given in group.args.items() if given}
    if grouped == {"expressions"}:
        return value in group.expressions or all(each in group.expressions for each in value.find_all(exp.Column))
    return grouped == {"all"}


def _own(query: exp.Select, kind: type[exp.Expr]) -> Iterator[exp.Expr]:
    """Yield the nodes of a kind that belong to a SELECT, and not to a query within it."""
    return (node for node in query.find_all(kind) if node.find_ancestor(exp.Select) is query)


def _relation(query: exp.Select, name: str) -> exp.Expr | None:
    """Return the relation of a name in FROM, unless a join may add rows for which it has no row."""
    joins = query.args.get("joins") or []
    if any(join.side in ("RIGHT", "FULL") or join.method for join in joins):
        return None
    inner = [join.this for join in joins if not join.side and join.kind in ("", "INNER", "CROSS")]
    begin = query.args["from_"].this if query.args.get("from_") is not None else None
    return next((each for each in (begin, *inner) if each is not None and each.alias_or_name.lower() == name), None)


def _over_table(value: exp.Expr, relation: exp.Expr, table: str, named: Mapping[str, exp.Expr]) -> exp.Expr | None:
    """Return an expression over a relation as one over the table."""
    if isinstance(relation, exp.Table):
        if {key for key, given in relation.args.items() if given} - {"this", "db", "alias"}:
            return None  # such as TABLESAMPLE or PIVOT
        if relation.alias_column_names:
            return None
        if _name_of(relation) == table:
            return value
        inner = named.get(relation.name.lower()) if not relation.db else None
        within = {name: each for name, each in named.items() if name != relation.name.lower()}
    else:
        inner, within = relation, dict(named)
    if inner is None:
        return None
    result = value.copy()
    for column in list(result.find_all(exp.Column)):
        traced = _traced(inner, column.name.lower(), table, within)
        if traced is None:
            return None
        replacement = exp.paren(traced.copy()) if isinstance(traced, exp.Binary) else traced.copy()
        if column is result:
            return traced
        column.replace(replacement)
    return result


def _origin(value: exp.Expr, spellings: Mapping[str, str]) -> Origin:
    used = frozenset(spellings[column.name.lower()] for column in value.find_all(exp.Column))

    def spelled(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column):
            return node
        return exp.column(exp.to_identifier(spellings[node.name.lower()], quoted=True))

    return Origin(value.copy().transform(spelled).sql(_DIALECT), used)

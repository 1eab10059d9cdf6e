"""Resolves the qualifiers of columns, such as ``db.t`` in ``db.t.column``.

The engine knows a table only by its alias. Without an alias in the query, this is the name of the table. Two tables of
different databases may have the same name: they get different aliases, and columns that are qualified with the name
alone get the alias of the nearest of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from table_format.sql.splices import Edit, quoted
from table_format.sql.words import fail_at


@dataclass(frozen=True, slots=True)
class Relation:
    """A table without an alias in the query: its full name ``catalog.database.table``, in lower case, and its alias.

    A table that is not in a database has a name of one part. ``start`` is the offset of its name in the query;
    ``None`` for a table outside of it, such as that of an UPDATE.
    """

    name: tuple[str, ...]
    alias: str
    start: int | None = None

    @property
    def qualifiers(self) -> tuple[tuple[str, ...], ...]:
        """The names with a database that a column can have before it."""
        return tuple(self.name[-length:] for length in (2, 3) if len(self.name) >= length)


def with_own_aliases(relations: Sequence[Relation], tree: exp.Expr) -> tuple[Relation, ...]:
    """Give tables of a query an alias with their database if another relation has the same name."""
    names: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for relation in relations:
        names[relation.alias.lower()].add(relation.name)
    for source in tree.find_all(exp.Table, exp.Subquery):
        if source.alias:
            names[source.alias.lower()].add(())
    return tuple(
        Relation(relation.name, ".".join(relation.name[-2:]), relation.start)
        if relation.start is not None and len(names[relation.alias.lower()]) > 1
        else relation
        for relation in relations
    )


def qualifier_edits(
    text: str, tree: exp.Expr, relations: Sequence[Relation], *, quote: Callable[[str], str] = quoted
) -> Iterator[Edit]:
    """Return the edits that qualify columns with the aliases of the tables, within the quotes of the engine.

    Raises:
        InvalidSql: a name is that of two tables.
    """
    aliases = {qualifier: relation.alias for relation in relations for qualifier in relation.qualifiers}
    renamed = {
        relation.start: relation.alias
        for relation in relations
        if relation.start is not None and relation.alias.lower() != relation.name[-1]
    }
    for column in tree.find_all(exp.Column):
        parts = [part for part in column.parts if isinstance(part, exp.Identifier)]
        if not parts or any("start" not in part.meta for part in parts):
            continue
        # The star of ``db.t.*`` is not an identifier.
        qualifying = len(parts) if isinstance(column.this, exp.Star) else len(parts) - 1
        found = _of_column(text, column, parts[:qualifying], aliases, renamed)
        if found is not None:
            replaced, alias = found
            yield Edit(replaced[0].meta["start"], replaced[-1].meta["end"] + 1, quote(alias))


def _of_column(
    text: str,
    column: exp.Column,
    parts: Sequence[exp.Identifier],
    aliases: Mapping[tuple[str, ...], str],
    renamed: Mapping[int, str],
) -> tuple[Sequence[exp.Identifier], str] | None:
    """Return the parts of a qualifier that an alias replaces, and the alias; ``None`` if the column stays."""
    names = tuple(part.name.lower() for part in parts)
    for length in (3, 2):
        if len(names) >= length and names[:length] in aliases:
            return parts[:length], aliases[names[:length]]
    alias = _nearest(text, column, parts[0], renamed) if parts and renamed else None
    return None if alias is None else (parts[:1], alias)


def _nearest(text: str, column: exp.Column, qualifier: exp.Identifier, renamed: Mapping[int, str]) -> str | None:
    """Return the new alias of the table that a qualifier means; ``None`` if it means another relation."""
    name = qualifier.name.lower()
    select = column.find_ancestor(exp.Select)
    while select is not None:
        found = [source for source in _sources(select) if source.alias_or_name.lower() == name]
        if found:
            aliases = [renamed.get(_start(source)) for source in found]
            if len(found) > 1 and all(aliases):
                message = f"'{qualifier.name}' is the name of two tables; write the database before it, or give aliases"
                fail_at(text, qualifier.meta["start"], message)
            return aliases[0]
        select = select.find_ancestor(exp.Select)
    return None


def _sources(select: exp.Select) -> list[exp.Expr]:
    source = select.args.get("from_")
    first = [source.this] if isinstance(source, exp.From) else []
    return [*first, *(join.this for join in select.args.get("joins") or ())]


def _start(source: exp.Expr) -> int:
    """Return the offset of the name of a table without an alias; -1 for other sources."""
    if not isinstance(source, exp.Table) or source.alias:
        return -1
    return min((int(part.meta["start"]) for part in source.parts if "start" in part.meta), default=-1)

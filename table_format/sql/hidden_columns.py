"""Removes hidden columns from the stars of queries that name hidden columns.

The engine has no hidden columns. The DataFrame of a table therefore has them as ordinary columns, and ``*`` must leave
them out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from sqlglot import exp

from table_format.errors import UnsupportedFeature
from table_format.sql.reader import Reader
from table_format.sql.references import tree_of
from table_format.sql.splices import Edit, quoted
from table_format.sql.words import WordKind

_UNNAMED: Final = frozenset({"PIVOT", "UNPIVOT", "NATURAL", "TABLE", "TRANSFORM"})
"""The first words of clauses that read columns without naming them."""


def hidden_names(text: str, hidden: Sequence[str]) -> tuple[str, ...]:
    """Return the hidden columns that a query names.

    >>> hidden_names("SELECT __ROW, * FROM t", ["__row", "__file"])
    ('__row',)
    """
    named = {word.text.lower() for word in Reader.of(text).words if word.is_name}
    return tuple(name for name in hidden if name in named)


def star_edits(text: str, hidden: Mapping[int, Sequence[str]]) -> Iterator[Edit]:
    """Return the edits that remove hidden columns from the stars of a query. They are keyed by the position of the
    table name.

    >>> list(star_edits("SELECT * FROM t", {14: ["__row"]}))
    [Edit(start=8, end=8, text=' EXCEPT (`t`.`__row`)')]

    Raises:
        UnsupportedFeature: a clause reads all columns without a star.
    """
    for word in Reader.of(text).words:
        if word.kind is WordKind.NAME and word.text.upper() in _UNNAMED:
            feature = f"{word.text.upper()} in a query that names metadata columns"
            raise UnsupportedFeature(feature, f"{feature} is not supported; name the columns in a subquery")
    for select in tree_of(text).find_all(exp.Select):
        tables = dict(_tables(select, hidden))
        for item in select.expressions:
            star = item.this if isinstance(item, exp.Column) else item
            if tables and isinstance(star, exp.Star):
                yield from _of_star(text, star, item.table.lower() if isinstance(item, exp.Column) else "", tables)


def _tables(select: exp.Select, hidden: Mapping[int, Sequence[str]]) -> Iterator[tuple[str, Sequence[str]]]:
    source = select.args.get("from_")
    places = [source.this] if isinstance(source, exp.From) else []
    places += [join.this for join in select.args.get("joins") or ()]
    for table in places:
        if isinstance(table, exp.Table):
            starts = [part.meta["start"] for part in table.parts if "start" in part.meta]
            if starts and min(starts) in hidden:
                yield table.alias_or_name, hidden[min(starts)]


def _of_star(text: str, star: exp.Star, qualifier: str, tables: Mapping[str, Sequence[str]]) -> Iterator[Edit]:
    names = [
        f"{quoted(alias)}.{quoted(name)}"
        for alias, hidden in tables.items()
        if qualifier in ("", alias.lower())
        for name in hidden
    ]
    if not names:
        return
    end = star.meta["end"] + 1
    if not star.args.get("except_"):
        yield Edit(end, end, f" EXCEPT ({', '.join(names)})")
        return
    reader = Reader.of(text)
    opening = next(word for word in reader.words if word.start >= end and word.says("("))
    yield Edit(opening.end, opening.end, f"{', '.join(names)}, ")

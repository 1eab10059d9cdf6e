"""ALTER VIEW: the query, the name and the properties of a view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from table_format.model.view import RemoveViewOption, SetViewComment, SetViewOption, ViewChange
from table_format.sql.grammar import Grammar, openings
from table_format.sql.reader import Reader, SqlName

_COMMENT: Final = "comment"


@dataclass(frozen=True, slots=True)
class AlterViewQuery:
    """``ALTER VIEW name AS query``; ``text`` is the whole statement."""

    name: SqlName
    query: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class RenameView:
    """``ALTER VIEW name RENAME TO name``; ``text`` is the whole statement."""

    name: SqlName
    new_name: SqlName
    text: str = ""


@dataclass(frozen=True, slots=True)
class AlterViewProperties:
    """``ALTER VIEW name SET TBLPROPERTIES (...)`` and ``UNSET TBLPROPERTIES [IF EXISTS] (...)``; ``text`` is the whole
    statement.
    """

    name: SqlName
    changes: tuple[ViewChange, ...]
    text: str = ""


AlterViewStatement: TypeAlias = AlterViewQuery | RenameView | AlterViewProperties


def read_alter_view_statement(reader: Reader) -> AlterViewStatement:
    """Read a statement that changes a view.

    Raises:
        InvalidSql: the statement cannot be parsed.
        UnsupportedFeature: it has a clause that is not supported.
    """
    reader.expect("ALTER", "VIEW")
    name = reader.qualified_name("the name of a view")
    if reader.take("AS"):
        return AlterViewQuery(name, reader.rest(), reader.text)
    if reader.sees("WITH", "SCHEMA"):
        reader.refuse("ALTER VIEW ... WITH SCHEMA", "leave it out: the columns are those of the query")
    if reader.take("RENAME"):
        reader.expect("TO")
        found: AlterViewStatement = RenameView(name, reader.qualified_name("the new name"), reader.text)
    else:
        found = AlterViewProperties(name, _property_changes(reader), reader.text)
    reader.end()
    return found


def _property_changes(reader: Reader) -> tuple[ViewChange, ...]:
    if reader.take("SET"):
        reader.expect("TBLPROPERTIES")
        return tuple(
            SetViewComment(value) if key == _COMMENT else SetViewOption(key, value)
            for key, value in reader.options().items()
        )
    if not reader.take("UNSET"):
        reader.expected("AS, RENAME, SET or UNSET")
    reader.expect("TBLPROPERTIES")
    reader.take("IF", "EXISTS")
    return tuple(
        SetViewComment(None) if key == _COMMENT else RemoveViewOption(key)
        for key in reader.in_parentheses(reader.option_key)
    )


GRAMMAR: Final = Grammar(openings("ALTER VIEW"), read_alter_view_statement)

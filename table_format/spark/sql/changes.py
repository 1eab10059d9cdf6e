"""Executes UPDATE, DELETE and MERGE with ``spark/dml``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from table_format.counted import counted
from table_format.errors import InvalidInputError
from table_format.model.schema import TableSchema
from table_format.options.write import MERGE_SCHEMA
from table_format.spark.names import quoted
from table_format.spark.sql.expressions import Expressions, expressions_of
from table_format.spark.sql.queries import frame_of_query
from table_format.spark.sql.results import nothing
from table_format.spark.sql.session import SqlSession
from table_format.spark.sql.tables import spelled
from table_format.sql.changes import (
    Assignments,
    ChangeStatement,
    DeleteStatement,
    MergeStatement,
    UpdateStatement,
    WhenClause,
    WhenMatched,
    WhenNotMatched,
    WhenNotMatchedBySource,
)
from table_format.sql.definitions import default_literal
from table_format.sql.qualifiers import Relation
from table_format.sql.reader import CATALOG_NAME, SqlName
from table_format.sql.references import full_name
from table_format.sql.values import NO_DEFAULT
from table_format.table.changes.merge_into import Delete, Insert, MatchedClause, Update

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SOURCE: Final = "source"
"""The name of the query of a MERGE without an alias."""

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_FULL: Final = 3
"""The number of parts of a full name."""

_ValuesOf: TypeAlias = Callable[[Expressions, Assignments], dict[str, str]]
"""Maps columns to the texts of their new values."""


def run_change_statement(session: SqlSession, statement: ChangeStatement) -> DataFrame:
    """Change rows in one commit. Errors are those of ``Lake.update``, ``Lake.delete`` and ``Lake.merge``."""
    name = session.table_name(statement.name)
    relations = _relations(session, statement)
    target = relations[0]
    values_of = partial(_values, session.data_table(name).schema, target)
    # A table with an alias is known only by it.
    known = [relation for relation in relations if len(relation.name) > 1]
    with expressions_of(session, known) as texts:
        match statement:
            case UpdateStatement(assignments=assignments, condition=condition):
                values = values_of(texts, assignments)
                session.tables.update(name, values, _optional(texts, condition), alias=target.alias)
            case DeleteStatement(condition=condition):
                session.tables.delete(name, _optional(texts, condition), alias=target.alias)
            case MergeStatement():
                _merge(session, texts, statement, name, relations, values_of)
    return nothing(session.spark)


def _relations(session: SqlSession, statement: ChangeStatement) -> tuple[Relation, ...]:
    """Return the table of a statement and the source of a MERGE."""
    found = [_relation(session, statement.name, statement.alias)]
    if isinstance(statement, MergeStatement):
        source, alias = statement.source, statement.source_alias
        if isinstance(source, SqlName):
            found.append(_relation(session, source, alias))
        else:
            found.append(Relation((alias or _SOURCE,), alias or _SOURCE))
        target, other = found
        if target.alias.lower() == other.alias.lower() and len(target.name) == len(other.name) == _FULL:
            # Tables of the same name in different databases.
            found = [Relation(each.name, ".".join(each.name[1:])) for each in found]
    return tuple(found)


def _relation(session: SqlSession, name: SqlName, alias: str | None) -> Relation:
    if alias is not None:
        return Relation((alias.lower(),), alias)
    return Relation(full_name(name, (CATALOG_NAME, session.state.database)), name.parts[-1])


def _merge(
    session: SqlSession,
    texts: Expressions,
    statement: MergeStatement,
    name: str,
    relations: Sequence[Relation],
    values_of: _ValuesOf,
) -> None:
    source = statement.source
    alias, source_alias = (relation.alias for relation in relations)
    if isinstance(source, SqlName):
        name_of_source = ".".join(map(quoted, source.parts))
        frame = frame_of_query(session, f"SELECT * FROM {name_of_source} {statement.travel}")  # noqa: S608 - within back-quotes
    else:
        frame = frame_of_query(session, source)
    if statement.source_columns:
        frame = _renamed(frame, statement.source_columns, source_alias)
    of_kind: dict[type[WhenClause], list[MatchedClause | Insert]] = {
        WhenMatched: [],
        WhenNotMatched: [],
        WhenNotMatchedBySource: [],
    }
    for clause in statement.clauses:
        of_kind[type(clause)].append(_clause(texts, clause, values_of))
    session.tables.merge(
        name,
        frame,
        texts.readable(statement.condition),
        when_matched=of_kind[WhenMatched],
        when_not_matched=of_kind[WhenNotMatched],
        when_not_matched_by_source=of_kind[WhenNotMatchedBySource],
        target_alias=alias,
        source_alias=source_alias,
        options={MERGE_SCHEMA.key: "true"} if statement.evolves else None,
    )


def _renamed(frame: DataFrame, columns: tuple[str, ...], alias: str) -> DataFrame:
    if len(columns) != len(frame.columns):
        found = counted(len(frame.columns), "column")
        message = f"the source '{alias}' has {found}, but {len(columns)} names are given for them"
        raise InvalidInputError(message)
    return frame.toDF(*columns)


def _clause(texts: Expressions, clause: WhenClause, values_of: _ValuesOf) -> MatchedClause | Insert:
    condition = _optional(texts, clause.condition)
    if isinstance(clause, WhenNotMatched):
        return Insert(None if clause.values is None else values_of(texts, clause.values), condition)
    if clause.deletes:
        return Delete(condition)
    return Update(None if clause.assignments is None else values_of(texts, clause.assignments), condition)


def _optional(texts: Expressions, text: str | None) -> str | None:
    return None if text is None else texts.readable(text)


def _values(schema: TableSchema, target: Relation, texts: Expressions, assignments: Assignments) -> dict[str, str]:
    """Return the texts of new values by column. A column may be qualified with the name of its table."""
    values: dict[str, str] = {}
    for path, text in assignments:
        column = _column(_unqualified(path, target))
        if column in values:
            message = f"column '{column}' is given two values; give it one"
            raise InvalidInputError(message)
        values[column] = _default(schema, column) if text.strip().upper() == "DEFAULT" else texts.readable(text)
    return values


def _unqualified(path: Sequence[str], target: Relation) -> Sequence[str]:
    """Return the path of a column without the name of its table."""
    lower = tuple(part.lower() for part in path)
    for qualifier in (*reversed(target.qualifiers), (target.name[-1],)):
        if len(path) > len(qualifier) and lower[: len(qualifier)] == qualifier:
            return path[len(qualifier) :]
    return path


def _column(path: Sequence[str]) -> str:
    """Return a path as text. Spark parses the names of fields, so all but plain ones are quoted."""
    name, *fields = path
    return ".".join([name, *(field if _PLAIN.fullmatch(field) else quoted(field) for field in fields)])


def _default(schema: TableSchema, column: str) -> str:
    name = spelled(column, schema.field_names)
    return default_literal(schema.field(name)) if name in schema.field_names else NO_DEFAULT

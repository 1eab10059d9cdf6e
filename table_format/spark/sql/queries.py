"""Runs queries: the text of the user, in which DataFrames replace the tables of the catalog."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from table_format.errors import InvalidInputError, InvalidSql, UnsupportedFeature
from table_format.format_table.table import FormatTable
from table_format.model.view import View
from table_format.spark.read.metadata_columns import METADATA_COLUMNS
from table_format.spark.read.queried_frames import queried
from table_format.spark.sql.error_places import places_before
from table_format.spark.sql.max_partition import max_partition
from table_format.spark.sql.pushed import filter_of, limit_arguments, limit_of
from table_format.spark.sql.session import SqlSession
from table_format.spark.sql.stored_views import frame_of_view
from table_format.spark.types import is_on_spark
from table_format.sql.conditions import Condition, conditions_of
from table_format.sql.first_rows import FirstRows, first_rows_of
from table_format.sql.hidden_columns import hidden_names, star_edits
from table_format.sql.needs import named_columns
from table_format.sql.qualifiers import Relation
from table_format.sql.queries import Explain, OfEngine, Query, QueryStatement
from table_format.sql.reader import CATALOG_NAME, Reader, SqlName
from table_format.sql.references import (
    INCREMENTAL_FUNCTIONS,
    MAX_PARTITION,
    FunctionUse,
    TableUse,
    Travel,
    calls_own_function,
    names_in,
    tables_of,
)
from table_format.sql.respelling import respellings
from table_format.sql.splices import Edit, edited, quoted, text_literal
from table_format.sql.views import CreateView
from table_format.sql.words import fail_at
from table_format.table.read.scan import shown_schema
from table_format.table.system.table import SystemTable
from table_format.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def run_query(session: SqlSession, statement: QueryStatement) -> DataFrame:
    """Execute a query, an EXPLAIN, or a statement that Spark implements."""
    match statement:
        case Query(text):
            return frame_of_query(session, text)
        case Explain(mode, query):
            return session.spark.sql(f"EXPLAIN {mode} TABLE {{explained}}", explained=frame_of_query(session, query))
        case OfEngine(text):
            return _of_engine(session, text)


def frame_of_query(session: SqlSession, text: str, within: tuple[str, ...] = ()) -> DataFrame:
    """Return the DataFrame of a query. ``within`` are the views of the catalog whose text it is, the outermost first.

    Raises:
        InvalidSql: the query names a table of the catalog and cannot be parsed.
        NotFoundError: a table, snapshot or tag does not exist.
    """
    splicing = _Splicing(session, _named(session, text), within=within)
    edits = splicing.edits_of(text, session.state.database)
    if edits is None:
        return session.spark.sql(text, dict(session.parameters) or None)
    with places_before(text, edits):
        return queried(
            session.spark,
            edited(text, edits),
            session.parameters,
            splicing.frames,
            lambda frame: _needed(frame.columns, splicing.named),
        )


def spliced(session: SqlSession, text: str, outer: Sequence[Relation] = ()) -> tuple[str, Mapping[str, DataFrame]]:
    """Return a query with ``{name}`` in place of each table and other braces doubled, and the DataFrames by name.

    ``outer`` are tables outside of the query whose columns it may name.

    Raises:
        InvalidSql: the query names a table of the catalog and cannot be parsed.
        NotFoundError: a table, snapshot or tag does not exist.
    """
    splicing = _Splicing(session, _named(session, text), outer)
    found = splicing.of_text(text, session.state.database)
    return (_escaped(text) if found is None else found), splicing.frames


def names_known_table(session: SqlSession, text: str) -> bool:
    """Return whether a text names a table of the catalog or a view of this library."""
    return any(_is_known(session, name) for name in names_in(text))


def _is_known(session: SqlSession, name: SqlName) -> bool:
    return session.find(name) is not None or str(name).lower() in session.state.views


def _named(session: SqlSession, text: str) -> frozenset[str] | None:
    """Return the names in a query and in its views, whose texts become parts of the query."""
    named = named_columns(text)
    views = session.state.views
    if not views or (named is not None and not named.intersection(views)):
        return named
    for view, _ in views.values():
        more = named_columns(view.query)
        named = None if named is None or more is None else named | more
    return named


def _of_engine(session: SqlSession, text: str) -> DataFrame:
    words = Reader.of(text)
    if (words.sees("SET") or words.sees("RESET")) and not (words.sees("SET", "VAR") or words.sees("SET", "VARIABLE")):
        if _sets_table_options(words):
            feature = "table options in the settings of a session"
            advice = "use a hint /*+ OPTIONS(...) */ after the table, or ALTER TABLE ... SET TBLPROPERTIES"
            raise UnsupportedFeature(feature, f"{feature} are not supported; {advice}")
        return session.spark.sql(text)
    known = [name for name in names_in(text) if _is_known(session, name)]
    if known:
        clause = " ".join(text.split()[:2]).upper()
        message = (
            f"{clause} is not supported for '{known[0]}', a table of the catalog; docs/sql.md lists the supported "
            "statements"
        )
        raise UnsupportedFeature(clause, message)
    return session.spark.sql(text, dict(session.parameters) or None)


def _sets_table_options(words: Reader) -> bool:
    """Return whether a SET names a key ``spark.paimon...``, within quotes or not."""
    if not words.take("SET"):
        return False
    return words.text[words.offset :].lstrip("`").lower().startswith("spark.paimon.")


@dataclass(frozen=True, slots=True)
class _Pushed:
    """The conditions and the limit that the text of a query puts on the rows of a table."""

    conditions: tuple[Condition, ...] = ()
    first: FirstRows | None = None


_NOTHING: Final = _Pushed()


@dataclass(slots=True)
class _Splicing:
    """Builds the text of a query for Spark, and the DataFrames for its placeholders.

    Each state of a table occurs once. ``named`` are the names in the query, ``outer`` are tables outside of it.
    """

    session: SqlSession
    named: frozenset[str] | None
    outer: Sequence[Relation] = ()
    within: tuple[str, ...] = ()
    frames: dict[str, DataFrame] = field(default_factory=dict)
    _places: dict[tuple[str, tuple[tuple[str, str], ...], tuple[str, ...]], str] = field(default_factory=dict)
    _views: list[str] = field(default_factory=list)

    def of_text(self, text: str, database: str) -> str | None:
        """Return the text with placeholders; ``None`` if it names no table of the catalog."""
        edits = self.edits_of(text, database)
        return None if edits is None else edited(text, edits)

    def edits_of(self, text: str, database: str) -> list[Edit] | None:
        """Return the edits that put placeholders into the text; ``None`` if it names no table of the catalog."""
        session = self.session.within(database)
        try:
            place = (CATALOG_NAME, database)
            found = tables_of(text, session.parameters, database=place, outer=self.outer)
        except InvalidSql:
            if names_known_table(session, text) or calls_own_function(text):
                raise
            return None
        edits = [*found.edits, *respellings(text)]
        pushed = self._pushed(session, text, found.tables)
        hidden = self._hidden(session, text, found.tables)
        if hidden:
            edits += star_edits(text, hidden)
        for use in found.tables:
            at = use.name.start
            edits += self._of_table(session, text, use, pushed.get(at, _NOTHING), hidden.get(at, ()))
        edits += [self._of_function(session, text, use) for use in found.functions]
        return _with_escapes(text, edits) if edits else None

    def _pushed(self, session: SqlSession, text: str, tables: Sequence[TableUse]) -> Mapping[int, _Pushed]:
        """Return what to push to each table on Connect, by the offset of its name.

        Only for tables that are named once, because each state is read once.
        """
        if not session.is_connect or self._views or any(_view_name(use) in session.state.views for use in tables):
            return {}
        names = Counter(session.find(use.name) for use in tables)
        if any(name is not None and session.view(name) is not None for name in names):
            return {}
        once = {use.name.start for use in tables if names[session.find(use.name)] == 1}
        conditions = conditions_of(text, session.parameters)
        first = first_rows_of(text, session.parameters) if len(tables) == 1 else None
        limits = {} if first is None else {first.start: first}
        return {start: _Pushed(conditions.get(start, ()), limits.get(start)) for start in once}

    def _hidden(self, session: SqlSession, text: str, tables: Sequence[TableUse]) -> Mapping[int, Sequence[str]]:
        """Return the metadata columns in the query for each table that has them, by the offset of the table name."""
        named = hidden_names(text, METADATA_COLUMNS)
        found: dict[int, Sequence[str]] = {}
        for use in tables if named else ():
            name = None if _view_name(use) in session.state.views else session.find(use.name)
            opened = None if name is None or session.view(name) is not None else session.catalog.load_any(name)
            if isinstance(opened, Table):
                own = opened.schema.field_names
                found[use.name.start] = [column for column in named if column not in own]
        return found

    def _of_table(
        self, session: SqlSession, text: str, use: TableUse, pushed: _Pushed, hidden: Sequence[str]
    ) -> list[Edit]:
        own = use.name.parts[-1]
        alias = [] if use.has_alias else [Edit(use.alias_at, use.alias_at, f" AS {quoted(use.alias or own)}")]
        if use.select_at is not None:
            alias.append(Edit(use.select_at, use.name.start, "SELECT * FROM "))
        view = session.state.views.get(_view_name(use))
        if view is not None:
            return [Edit(use.name.start, use.end, self._of_view(text, use, *view)), *alias]
        name = session.find(use.name)
        if name is None:
            if use.options:
                fail_at(
                    text, use.name.start, f"'{use.name}' is not a table of the catalog, so it accepts no OPTIONS hint"
                )
            return alias if use.alias not in (None, own) else []
        stored = session.view(name)
        if stored is not None:
            if use.travel is not None or use.options:
                fail_at(text, use.name.end, f"'{name}' is a view; write time travel and hints in its query")
            return [Edit(use.name.start, use.end, self._place_of_view(session, stored)), *alias]
        travel = _travel_options(session, use.travel)
        for key in use.options.keys() & travel.keys():
            fail_at(
                text, use.name.end, f"AS OF and the option '{key}' both name a state of '{use.name}'; use one of them"
            )
        options = {**use.options, **travel}
        return [Edit(use.name.start, use.end, self._place(name, options, pushed, hidden)), *alias]

    def _of_view(self, text: str, use: TableUse, view: CreateView, database: str) -> str:
        name = use.name.parts[0].lower()
        if name in self._views:
            fail_at(text, use.name.start, f"view '{name}' refers to itself")
        if use.travel is not None or use.options:
            fail_at(text, use.name.end, f"'{name}' is a view; write time travel and hints in its query")
        self._views.append(name)
        body = self.of_text(view.query, database)
        self._views.pop()
        inner = (_escaped(view.query) if body is None else body).strip()
        if view.columns:
            return f"(FROM ({inner}) AS {quoted(name)}({', '.join(map(quoted, view.columns))}) SELECT *)"
        return f"({inner})"

    def _place_of_view(self, session: SqlSession, view: View) -> str:
        key = (str(view.identifier), (), (session.state.database,))
        if key not in self._places:
            self._places[key] = place = f"t{len(self._places)}"
            self.frames[place] = frame_of_view(session, view, self.within, frame_of_query)
        return f"{{{self._places[key]}}}"

    def _of_function(self, session: SqlSession, text: str, use: FunctionUse) -> Edit:
        table = use.arguments[0] if use.arguments else None
        if not isinstance(table, str):
            fail_at(text, use.start, f"{use.function} takes the name of a table in quotes")
        name = session.table_name(SqlName(tuple(part.strip("`") for part in table.split("."))))
        if use.function == MAX_PARTITION:
            return Edit(use.start, use.end, _escaped(text_literal(max_partition(session.data_table(name)))))
        options = {INCREMENTAL_FUNCTIONS[use.function]: ",".join(map(str, use.arguments[1:]))}
        alias = "" if use.has_alias else f" AS {quoted(use.function)}"
        return Edit(use.start, use.end, self._place(name, options) + alias)

    def _place(
        self,
        name: str,
        options: Mapping[str, str],
        pushed: _Pushed = _NOTHING,
        hidden: Sequence[str] = (),
    ) -> str:
        key = (name, tuple(sorted(options.items())), tuple(hidden))
        if key not in self._places:
            self._places[key] = place = f"t{len(self._places)}"
            self.frames[place] = self._frame(name, options, pushed, hidden)
        return f"{{{self._places[key]}}}"

    def _frame(
        self,
        name: str,
        options: Mapping[str, str],
        pushed: _Pushed,
        hidden: Sequence[str],
    ) -> DataFrame:
        table = self.session.table
        if not self.session.is_connect:
            # The plan of the query shows what it needs when its rows are needed.
            try:
                return table(name, columns=self._columns(name, options, hidden), **options)
            except UnsupportedFeature:
                readable = self._readable(name, options)
                if readable is None:
                    raise
                return table(name, columns=[*readable, *hidden], **options)
        opened = self.session.catalog.load_any(name)
        if isinstance(opened, SystemTable):
            return table(name, **options)
        if isinstance(opened, FormatTable):
            wanted = _needed(opened.schema.field_names, self.named)
            return table(name, columns=wanted, filter=filter_of(opened.schema.fields, pushed.conditions), **options)
        fields = shown_schema(opened.copy(options).facts).fields
        wanted = _needed([*(field.name for field in fields), *hidden], self.named)
        if wanted is None and hidden:
            wanted = [*(field.name for field in fields), *hidden]
        # The positions of rows are not read with a limit.
        limit = None if pushed.first is None or hidden else limit_of(fields, pushed.first)
        condition = filter_of(fields, pushed.conditions)
        return table(name, columns=wanted, filter=condition, **limit_arguments(limit), **options)

    def _readable(self, name: str, options: Mapping[str, str]) -> list[str] | None:
        """Return the columns of types that Spark has; ``None`` if these are all, or if the query may need another."""
        opened = self.session.catalog.load_any(name)
        if self.named is None or not isinstance(opened, Table):
            return None
        fields = shown_schema(opened.copy(options).facts).fields
        others = {field.name for field in fields if not is_on_spark(field.type)}
        if not others or any(other.lower() in self.named for other in others):
            return None
        return [field.name for field in fields if field.name not in others]

    def _columns(self, name: str, options: Mapping[str, str], hidden: Sequence[str]) -> list[str] | None:
        """Return all columns including hidden ones; ``None`` if the query names no hidden column of the table."""
        if not hidden:
            return None
        shown = shown_schema(self.session.data_table(name).copy(options).facts)
        return [*shown.field_names, *hidden]


def _view_name(use: TableUse) -> str:
    return str(use.name).lower()


def _needed(columns: Sequence[str], named: frozenset[str] | None) -> list[str] | None:
    if named is None:
        return None
    found = [name for name in columns if name.lower() in named] or list(columns[:1])
    return None if len(found) == len(columns) else found


def _travel_options(session: SqlSession, travel: Travel | None) -> dict[str, str]:
    if travel is None:
        return {}
    if travel.is_version:
        return {"scan.version": str(travel.value)}
    # Spark evaluates functions, with its time zone and the current time. A subquery may read tables of the catalog.
    time = frame_of_query(session, f"SELECT unix_millis(CAST({travel.text} AS TIMESTAMP))")
    millis = time.collect()[0][0]
    if millis is None:
        message = f"TIMESTAMP AS OF {travel.text}: this is not a time"
        raise InvalidInputError(message)
    return {"scan.timestamp-millis": str(millis)}


def _with_escapes(text: str, edits: Sequence[Edit]) -> list[Edit]:
    """Return the edits, and additional edits that double the braces in the text of the user."""
    escapes = [
        Edit(i, i + 1, character * 2)
        for i, character in enumerate(text)
        if character in "{}" and not any(edit.start <= i < edit.end for edit in edits)
    ]
    return [*edits, *escapes]


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")

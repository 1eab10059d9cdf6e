"""The tables that the query of a materialized table reads, also through views, and their current states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from table_format.catalog.protocol import Catalog
from table_format.catalog.views import find_view, text_for
from table_format.errors import (
    InvalidInputError,
    InvalidSql,
    NotFoundError,
    TableNotFound,
    UnsupportedFeature,
)
from table_format.materialized.refreshes import Refresh
from table_format.model.consumed import Consumed
from table_format.model.same_rows import keeps_rows
from table_format.model.schema import TableSchema
from table_format.model.snapshot import CommitKind, Snapshot
from table_format.model.types import DataType
from table_format.model.view import SPARK_DIALECT
from table_format.options.bucket_mode import Postponed
from table_format.options.scan import FALLBACK_BRANCH, STATE_KEYS
from table_format.sql.nondeterministic import nondeterministic_function
from table_format.sql.reader import CATALOG_NAME
from table_format.sql.references import tables_of
from table_format.table.table import Table

_NO_SNAPSHOT: Final = 0
_NAME_STATES: Final = STATE_KEYS | frozenset(FALLBACK_BRANCH.keys)
"""Options of a table that say what a read of it shows."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The tables that a query reads, in the order of the text.

    ``nondeterministic`` is a function in the query or in a view whose value differs from one run to the next, such as
    ``current_date``; ``None`` if the query has the same rows while its tables stay the same.
    """

    tables: tuple[str, ...] = ()
    nondeterministic: str | None = None


@dataclass(frozen=True, slots=True)
class SourceState:
    """The state of a source: its latest snapshot and its schema.

    ``follows`` tells that the options of the source name what a read shows, such as a tag, so that its snapshot does
    not tell it. ``is_altered`` tells that its columns have changed since the snapshot, so that a query that names the
    snapshot would read other columns.
    """

    snapshot: Snapshot | None
    schema_id: int = 0
    follows: bool = False
    is_altered: bool = False

    @property
    def can_be_named(self) -> bool:
        """Whether a query that names the snapshot reads what a query of the table reads now."""
        return not (self.follows or self.is_altered)

    @property
    def consumed(self) -> Consumed:
        """What a refresh records of this state."""
        return Consumed(_NO_SNAPSHOT, "") if self.snapshot is None else Consumed.of(self.snapshot)


def sources_of(catalog: Catalog, query: str, database: str) -> Sources:
    """Return what a query reads. A name without a database is one of ``database``.

    Raises:
        InvalidSql: the query cannot be parsed.
        InvalidInputError: a name has another catalog, or a view refers to itself.
        UnsupportedFeature: it calls a function that names a table, or a view has texts in other dialects only.
    """
    walk = _Walk(catalog, database)
    walk.visit(query, ())
    return Sources(tuple(walk.tables), walk.nondeterministic)


@dataclass(slots=True)
class _Walk:
    catalog: Catalog
    database: str
    tables: dict[str, None] = field(default_factory=dict)
    nondeterministic: str | None = None

    def visit(self, text: str, within: tuple[str, ...]) -> None:
        found = tables_of(text, database=(CATALOG_NAME, self.database))
        for function in found.functions:
            feature = f"{function.function} in the query of a materialized table"
            message = f"{feature} is not supported: name the table in FROM, so that its snapshot is known"
            raise UnsupportedFeature(feature, message)
        self.nondeterministic = self.nondeterministic or nondeterministic_function(text)
        for use in found.tables:
            name = use.name.table_name(self.database)
            view = find_view(self.catalog, name)
            if view is None:
                self.tables[name] = None
            elif name in within:
                message = f"view '{name}' refers to itself"
                raise InvalidInputError(message)
            else:
                self.visit(text_for(view, SPARK_DIALECT), (*within, name))


def source_states(catalog: Catalog, names: Iterable[str]) -> Mapping[str, SourceState]:
    """Return the current states of sources.

    Raises:
        NotFoundError: a source does not exist.
        UnsupportedFeature: a source has no snapshots.
    """
    return {name: _state(catalog, name) for name in names}


def _state(catalog: Catalog, name: str) -> SourceState:
    return _state_of(_source(catalog, name))


def _source(catalog: Catalog, name: str) -> Table:
    opened = catalog.load_any(name)
    if isinstance(opened, Table):
        return opened
    feature = f"'{name}' as a source of a materialized table"
    message = f"{feature} is not supported: it has no snapshots of its own; copy its rows to a table, and read that"
    raise UnsupportedFeature(feature, message)


def _state_of(table: Table) -> SourceState:
    snapshot = table.latest_snapshot()
    return SourceState(
        snapshot,
        table.schema.id,
        follows=not _NAME_STATES.isdisjoint(table.schema.options),
        is_altered=snapshot is not None and not _has_columns_of(table, snapshot.schema_id),
    )


def _has_columns_of(table: Table, schema_id: int) -> bool:
    """Return whether the columns are those of another schema of the table."""
    if schema_id == table.schema.id:
        return True
    known = table.facts.schemas
    return schema_id in known and _columns(known[schema_id]) == _columns(table.schema)


def _columns(schema: TableSchema) -> list[tuple[int, str, DataType]]:
    return [(field.id, field.name, field.type) for field in schema.fields]


def changed_sources(catalog: Catalog, refresh: Refresh, names: Iterable[str]) -> tuple[str, ...]:
    """Return the sources whose rows or columns have changed since a refresh, or that cannot be read.

    >>> changed_sources(catalog, refresh, ["shop.orders"])  # doctest: +SKIP
    ('shop.orders',)
    """
    return tuple(name for name in names if not _is_unchanged(catalog, name, refresh))


def _is_unchanged(catalog: Catalog, name: str, refresh: Refresh) -> bool:
    read = refresh.consumed.get(name)
    if read is None:
        return False
    try:
        table = _source(catalog, name)
    except (NotFoundError, UnsupportedFeature):
        return False
    if not _NAME_STATES.isdisjoint(table.schema.options):
        return False
    return _has_columns_of(table, refresh.schemas.get(name, -1)) and _has_rows_of(table, read)


def _has_rows_of(table: Table, read: Consumed) -> bool:
    """Return whether a table has the rows of a snapshot that was read: later commits only moved them."""
    found = table.latest_snapshot()
    # Rows may be visible only after a compaction.
    hides_rows = table.options.skips_level_0 or isinstance(table.facts.bucket_mode, Postponed)
    while found is not None and found.id > read.id and keeps_rows(found):
        if hides_rows and found.commit_kind is not CommitKind.ANALYZE:
            break
        found = table.facts.snapshots.find(found.id - 1)
    return SourceState(found).consumed == read


def explained(name: str, error: InvalidInputError | NotFoundError) -> InvalidInputError | NotFoundError:
    """Return the error of a source as that of the materialized table ``name``, whose query reads it."""
    message = f"materialized table '{name}' cannot be refreshed: {error}"
    if isinstance(error, NotFoundError):
        return TableNotFound(message)
    if isinstance(error, UnsupportedFeature) and not isinstance(error, InvalidSql):
        return UnsupportedFeature(error.feature, message)
    return InvalidInputError(message)

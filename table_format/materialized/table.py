"""A materialized table as it is now, and the decision whether its rows are too old."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from table_format.catalog.protocol import Catalog
from table_format.errors import (
    CorruptionError,
    InvalidInputError,
    InvalidOption,
    NotFoundError,
    TableNotFound,
    UnsupportedFeature,
)
from table_format.materialized.refreshes import Refresh, Refreshes, digest_of, refreshes_of
from table_format.materialized.sources import Sources, changed_sources, sources_of
from table_format.model.snapshot import Snapshot
from table_format.options.declare import parse_group
from table_format.options.kind import is_materialized_table
from table_format.options.materialized import CONTINUOUS, SUSPENDED, MaterializedTableOptions
from table_format.table.facts import TableFacts
from table_format.table.table import Table

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaterializedTable:
    """A materialized table and its sources, as they were when it was loaded.

    ``refresh`` is the last refresh of the whole table; ``None`` if there was none, or if another program has changed
    rows since. ``changed_sources`` are those with another state than the refresh has read. ``nondeterministic`` is a
    function of the query whose value differs from one run to the next, such as ``current_date``. ``problem`` says why
    this library cannot refresh the table; ``None`` if it can.

    >>> table = materialized_table(catalog, "shop.totals")  # doctest: +SKIP
    >>> table.freshness, table.sources, table.is_stale(now_ms=1_767_225_600_000)  # doctest: +SKIP
    (datetime.timedelta(seconds=30), ('shop.orders',), True)
    """

    name: str
    query: str
    freshness: timedelta | None
    is_suspended: bool = False
    sources: tuple[str, ...] = ()
    refresh: Refresh | None = None
    changed_sources: tuple[str, ...] = ()
    nondeterministic: str | None = None
    problem: str | None = None

    @property
    def is_current(self) -> bool:
        """Whether the rows are those that the query would return now, whatever their age."""
        return (
            self.refresh is not None
            and self.refresh.query_digest == digest_of(self.query)
            and not self.changed_sources
            and self.nondeterministic is None
        )

    def age(self, now_ms: int) -> timedelta | None:
        """Return the time since the last refresh of the whole table; ``None`` without one. ``now_ms`` is epoch ms."""
        return None if self.refresh is None else timedelta(milliseconds=now_ms - self.refresh.time_ms)

    def is_stale(self, now_ms: int) -> bool:
        """Return whether a refresh is due: the rows may differ from those of the query, and they are older than the
        freshness. ``now_ms`` is in epoch milliseconds. A suspended table may be stale, too.
        """
        age = self.age(now_ms)
        if self.is_current:
            return False
        if age is None or self.refresh is None or self.refresh.query_digest != digest_of(self.query):
            return True
        return self.freshness is None or age > self.freshness


def materialized_table(catalog: Catalog, name: str) -> MaterializedTable:
    """Load a materialized table ``database.table`` from its metadata; nothing is run.

    Raises:
        TableNotFound: the table does not exist.
        InvalidInputError: it is not a materialized table.
    """
    opened = catalog.load_any(name)
    if not isinstance(opened, Table) or not is_materialized_table(opened.schema.options):
        message = f"'{name}' is not a materialized table; create one with CREATE MATERIALIZED TABLE ... AS SELECT ..."
        raise InvalidInputError(message)
    return _loaded(catalog, name, opened)


def materialized_tables(catalog: Catalog, database: str | None = None) -> tuple[MaterializedTable, ...]:
    """Return the materialized tables of a database, or of all databases, in alphabetical order.

    A table whose metadata is damaged, or whose options have values that this version does not know, is left out with a
    warning: it must not hide the others.

    >>> [table.name for table in materialized_tables(catalog)]  # doctest: +SKIP
    ['shop.totals']

    Raises:
        DatabaseNotFound: the database does not exist.
    """
    databases = catalog.list_databases() if database is None else (database,)
    names = (f"{found}.{table}" for found in databases for table in catalog.list_tables(found))
    return tuple(table for name in names if (table := _listed(catalog, name)) is not None)


def _listed(catalog: Catalog, name: str) -> MaterializedTable | None:
    try:
        opened = _opened(catalog, name)
        return None if opened is None else _loaded(catalog, name, opened)
    except (CorruptionError, InvalidOption) as error:
        _log.warning("%s is left out of the materialized tables: it cannot be read: %s", name, error)
        return None


def circle_through(catalog: Catalog, name: str, sources: Sequence[str]) -> tuple[str, ...]:
    """Return the tables through which a materialized table would read itself, ending with it; empty if it does not.

    Each refresh in a circle would make the next table of the circle stale.
    """
    paths: list[tuple[str, ...]] = [(source,) for source in sources]
    seen: set[str] = set()
    while paths:
        path = paths.pop()
        source = path[-1]
        if source == name:
            return path
        if source not in seen and (opened := _opened(catalog, source)) is not None:
            further, _ = _query_sources(catalog, source, _options_of(opened))
            paths.extend((*path, table) for table in further.tables)
        seen.add(source)
    return ()


def _opened(catalog: Catalog, name: str) -> Table | None:
    try:
        opened = catalog.load_any(name)
    except (TableNotFound, UnsupportedFeature):
        return None  # dropped in the meantime, or not a table that this version can open
    return opened if isinstance(opened, Table) and is_materialized_table(opened.schema.options) else None


def _loaded(catalog: Catalog, name: str, table: Table) -> MaterializedTable:
    options = _options_of(table)
    refreshes = current_refreshes(table.facts)
    sources, problem = _query_sources(catalog, name, options)
    changed: dict[str, None] = {}
    if problem is None:
        # Partitions that were refreshed later may hold rows of other states.
        for refresh in refreshes.all:
            changed.update(dict.fromkeys(changed_sources(catalog, refresh, sources.tables)))
    return MaterializedTable(
        name=name,
        query=options.query or "",
        freshness=None if options.freshness_ms is None else timedelta(milliseconds=options.freshness_ms),
        is_suspended=options.status == SUSPENDED,
        sources=sources.tables,
        refresh=refreshes.whole,
        changed_sources=tuple(changed),
        nondeterministic=sources.nondeterministic,
        problem=problem,
    )


def _options_of(table: Table) -> MaterializedTableOptions:
    return parse_group(MaterializedTableOptions, table.schema.options)


def _query_sources(catalog: Catalog, name: str, options: MaterializedTableOptions) -> tuple[Sources, str | None]:
    """Return what the query reads, and why this library cannot refresh the table; the query then reads nothing."""
    problem = _problem(name, options)
    if problem is not None:
        return Sources(), problem
    try:
        return sources_of(catalog, options.query or "", name.partition(".")[0]), None
    except (InvalidInputError, NotFoundError) as error:
        return Sources(), f"its query cannot be read here: {error}"


def _problem(name: str, options: MaterializedTableOptions) -> str | None:
    if options.query is None:
        return f"'{name}' has no query"
    if options.mode == CONTINUOUS:
        return "a streaming job of Flink refreshes it continuously ('materialized-table.refresh-mode' = continuous)"
    if options.handler_bytes is not None:
        return "a workflow of Flink refreshes it ('materialized-table.refresh-handler-bytes')"
    return None


def current_refreshes(facts: TableFacts) -> Refreshes:
    """Return the refreshes that the rows of a table come from now."""
    return refreshes_of(_newest_first(facts))


def _newest_first(facts: TableFacts) -> Iterator[Snapshot]:
    found = facts.snapshots.latest()
    while found is not None:
        yield found
        found = facts.snapshots.find(found.id - 1) if found.id > 1 else None
